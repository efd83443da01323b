"""Bad input through the command line: one message that says what, where and what to do; an exit code; no traceback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

TOWPATH = [sys.executable, "-m", "towpath.pipelines.cli"]
VOC = (
    "<annotation><filename>{name}.jpg</filename><size><width>64</width><height>48</height><depth>3</depth></size>"
    "<object><name>cell</name><bndbox><xmin>4</xmin><ymin>4</ymin><xmax>30</xmax><ymax>30</ymax></bndbox></object>"
    "</annotation>"
)


def voc(folder: Path, names: str = "abcdefghij") -> Path:
    """A small set of Pascal VOC."""
    for part in ("Annotations", "JPEGImages"):
        (folder / part).mkdir(parents=True)
    for name in names:
        Image.new("RGB", (64, 48), (10 * ord(name) % 255, 90, 90)).save(folder / "JPEGImages" / f"{name}.jpg")
        (folder / "Annotations" / f"{name}.xml").write_text(VOC.format(name=name))
    return folder


def missing(folder: Path) -> None:
    """No folder at all."""


def empty(folder: Path) -> None:
    folder.mkdir()


def without_its_image(folder: Path) -> None:
    (voc(folder) / "JPEGImages" / "c.jpg").unlink()


def unreadable(folder: Path) -> None:
    path = voc(folder) / "JPEGImages" / "d.jpg"
    path.write_bytes(path.read_bytes()[:200])


def other_classes(folder: Path) -> None:
    for split, names in (("train", "ab"), ("val", "ac")):
        for name in names:
            (folder / split / name).mkdir(parents=True)
            Image.new("RGB", (32, 32)).save(folder / split / name / "one.jpg")


@pytest.mark.parametrize(
    ("make", "what", "where"),
    [
        (missing, "does not exist", "images"),
        (empty, "empty|nothing|no ", "images"),
        (without_its_image, "no image", "c.xml"),
        (unreadable, "cannot be decoded|cannot be read|not a valid image", "d.jpg"),
        (other_classes, "class", "val"),
    ],
)
def test_one_message_says_what_and_where(make: Callable[[Path], None], what: str, where: str, tmp_path: Path) -> None:
    make(tmp_path / "images")
    result = subprocess.run(
        [*TOWPATH, "run", "train", "--data", "images"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.returncode == 3, result.stderr
    errors = result.stderr[result.stderr.index("Error:") :]
    assert where in errors
    assert any(words in errors for words in what.split("|")), errors
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_a_disk_that_fills_up_says_so_and_the_run_goes_on_when_there_is_room(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounting a small disk needs root")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=150k", "tmpfs", small], check=False)
    if mounted.returncode:
        pytest.skip("this machine does not let a test mount a small disk")
    try:
        command = [
            *TOWPATH,
            "run",
            "prepare",
            "--data",
            "digit-scenes",
            "--set",
            "prepare.scenes=200",
            "--out",
            str(small),
        ]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.returncode == 75, result.stderr
        assert "the disk is full" in result.stderr
        assert "Traceback" not in result.stderr
        subprocess.run(["mount", "-o", "remount,size=60m", small], check=True)
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
    finally:
        subprocess.run(["umount", "--lazy", small], check=True)
