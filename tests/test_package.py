"""What a wheel, a wheel made from the sdist, and an editable install hold: towpath.components and towpath.pipelines."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from hatchling import build

ROOT = Path(__file__).resolve().parents[1]
# What is not Python but has to travel with it, by its ending.
DATA = (".yaml", ".html", ".css", ".js", ".j2", ".svg")

pytestmark = pytest.mark.slow


def _source() -> set[str]:
    """Every file that the package is made of, by its place in a wheel; read from git, so that nothing else counts."""
    listed = subprocess.run(
        ["git", "ls-files", "towpath/__init__.py", "towpath/py.typed", "components", "pipelines"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return {name if name.startswith("towpath/") else f"towpath/{name}" for name in listed}


def _wheel(folder: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    out.mkdir()
    return out / build.build_wheel(str(out))


def _contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as file:
        return {name for name in file.namelist() if ".dist-info/" not in name}


def test_a_wheel_holds_the_package_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = _contents(_wheel(ROOT, tmp_path / "wheel", monkeypatch))
    needed = {name for name in _source() if name.endswith((".py", ".typed", *DATA))}
    assert needed - held == set()
    assert {name.split("/")[0] for name in held} == {"towpath"}
    assert {name.split("/")[1] for name in held} == {"__init__.py", "py.typed", "components", "pipelines"}


def test_a_wheel_from_the_sdist_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    direct = _contents(_wheel(ROOT, tmp_path / "direct", monkeypatch))
    (tmp_path / "sdist").mkdir()
    sdist = tmp_path / "sdist" / build.build_sdist(str(tmp_path / "sdist"))
    with tarfile.open(sdist) as file:
        file.extractall(tmp_path / "unpacked", filter="data")
    (folder,) = (tmp_path / "unpacked").iterdir()
    assert _contents(_wheel(folder, tmp_path / "wheel", monkeypatch)) == direct
    tops = {path.name for path in folder.iterdir()}
    assert tops == {"towpath", "README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", "PKG-INFO", ".gitignore"}


def test_an_installed_wheel_compiles_and_says_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "installed"
    with zipfile.ZipFile(_wheel(ROOT, tmp_path / "wheel", monkeypatch)) as file:
        file.extractall(place)
    program = (
        f"import sys; sys.path.insert(0, {str(place)!r})\n"
        "from towpath.pipelines.cli import app; import towpath\n"
        f"assert towpath.__file__.startswith({str(place)!r}), towpath.__file__\n"
        f"app(['compile', '--out', {str(tmp_path / 'compiled')!r}])"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "compiled" / "train-to-prod.yaml").is_file()


def test_an_editable_install_leads_to_the_source(tmp_path: Path) -> None:
    """Here, `towpath` is installed so: it is found from anywhere, and the folders' own names are not importable."""
    program = (
        "import importlib.util as u, towpath.components.core.files as c, towpath.pipelines.cli as p\n"
        "print(c.__file__); print(p.__file__)\n"
        "print([name for name in ('components', 'pipelines', 'core') if u.find_spec(name)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    assert Path(done[0]).resolve() == ROOT / "components" / "core" / "files.py"
    assert Path(done[1]).resolve() == ROOT / "pipelines" / "cli.py"
    assert done[2] == "[]"
