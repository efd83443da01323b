"""The README's example runs."""

import runpy
from pathlib import Path

import pytest

import towpath


def test_the_example_in_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme = Path(towpath.__file__).parent / "pipelines" / "runner" / "README.md"
    example = readme.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    file = tmp_path / "example.py"
    file.write_text(example, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(file))
    assert (tmp_path / "runs" / "latest" / "run.json").is_file()
