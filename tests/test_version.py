"""The version is written once, in towpath/__init__.py; whatever names it elsewhere follows."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import towpath

ROOT = Path(__file__).resolve().parents[1]
# The tag of an image of ours, kustomize's, the Dockerfile's.
NAMED = re.compile(r"(?:towpath/[a-z-]+:|newTag: |ARG VERSION=)(\d+\.\d+[\w.]*)")


def test_every_image_tag_is_the_version() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    named = {}
    for name in listed:
        path = ROOT / name
        if (
            path.is_file()
            and not path.is_symlink()
            and path.suffix in (".md", ".yaml", ".py", "")
            and name[:6] != "tests/"
        ):
            for version in NAMED.findall(path.read_text(errors="replace")):
                named.setdefault(name, set()).add(version)
    assert {"docker/Dockerfile", "docker/compose.yaml", "manifests/base/kustomization.yaml"} <= set(named)
    assert {name: found for name, found in named.items() if found != {towpath.__version__}} == {}


def test_the_changelog_begins_with_the_version_or_what_is_not_released() -> None:
    heading = re.search(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heading is not None
    assert heading[1] in ("Unreleased", towpath.__version__)
