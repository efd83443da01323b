"""Every command of the README, run in its order as a newcomer would."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import typer.main
from sklearn.datasets import load_digits

from towpath.pipelines.cli import app
from towpath.pipelines.commands import targets

PROJECT = Path(__file__).parents[2]
READMES = [PROJECT / "README.md", *sorted(PROJECT.glob("*/README.md")), *sorted(PROJECT.glob("*/*/README.md"))]
STEPS = ("prepare", "train", "evaluate", "quantize", "benchmark")
# `make demo` has a test of its own (test_demo.py), `make test` runs this one; the environment is active here already;
# `submit` needs the API of a cluster and is tested in tests/pipelines/test_cli_submit.py.
ELSEWHERE = ("make demo", "make test", "source .venv/bin/activate", "towpath submit")


def commands(readme: Path) -> list[str]:
    """The indented lines of a README that start with a program."""
    return re.findall(
        r"^    ((?:towpath|make|curl|source|python|docker|kubectl) .*)$", readme.read_text(), re.MULTILINE
    )


def test_there_are_commands() -> None:
    found = commands(PROJECT / "README.md")
    assert len(found) >= 10
    assert all(any(line.startswith(start) for line in found) for start in ELSEWHERE)


@pytest.mark.parametrize("line", sorted({line for readme in READMES for line in commands(readme)}))
def test_a_command_of_a_readme_is_one_that_there_is(line: str) -> None:
    """What takes minutes to run is at least parsed: the command, its options, the pipeline or component it names."""
    program, *words = shlex.split(line.partition(" #")[0])
    if program == "make":
        assert re.search(rf"^{words[0]}:", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    if program != "towpath":
        return
    command: Any = typer.main.get_command(app)
    context = click.Context(command)
    while isinstance(command, click.Group) and words:
        _, command, words = command.resolve_command(context, words)
    parsed = command.make_context(line, words, parent=context).params
    if target := parsed.get("target") or parsed.get("pipeline"):
        assert targets.find(target)


@pytest.fixture
def newcomer(tmp_path: Path, own_home: Path) -> Iterator[Any]:
    """A shell in a folder with images in one folder a class, and one image to try."""
    from PIL import Image

    digits = load_digits()
    for number, (pixels, label) in enumerate(zip(digits.images[:400], digits.target[:400], strict=True)):
        if label < 3:
            folder = tmp_path / "images" / ("zero", "one", "two")[label]
            folder.mkdir(parents=True, exist_ok=True)
            Image.fromarray((pixels * 15).astype("uint8")).resize((32, 32)).save(folder / f"{number}.png")
    Image.fromarray((digits.images[0] * 15).astype("uint8")).resize((32, 32)).save(tmp_path / "image.jpg")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def run(line: str) -> str:
        done = subprocess.run(
            line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr[-3000:]}"
        return done.stdout

    yield run
    run("towpath services stop --all")


@pytest.mark.slow
def test_every_command_of_the_readme_works(newcomer: Any) -> None:
    for line in commands(PROJECT / "README.md"):
        if line.startswith(ELSEWHERE):
            continue
        if "URL" in line:
            url = re.search(r"http://127\.0\.0\.1:\d+", newcomer("towpath services"))
            assert url is not None
            assert '"label":"zero"' in newcomer(line.replace("URL", url[0]).replace("NAME", "images")).replace(" ", "")
        elif line.startswith("towpath rollback"):
            # There must be a version before: the same images, trained a little longer.
            newcomer("towpath run train_to_prod --data images --set train.epochs=21 --approve legal,fit,cost,live")
            assert "version" in newcomer(line)
        elif "train_to_prod" in line:
            result = newcomer(line)
            assert result.count("promoted") == 4, result
        else:
            newcomer(line)


@pytest.mark.slow
def test_every_step_alone_as_its_readme_says(newcomer: Any) -> None:
    newcomer("towpath run prepare --data images --out prepared")
    ran = 0
    for step in STEPS[1:]:
        for line in commands(PROJECT / "components" / step / "README.md"):
            newcomer(line)
            ran += 1
    assert ran >= 4
