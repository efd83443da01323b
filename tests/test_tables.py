"""Each family of things is named in one table: documentation names every member, and no other file spells the list."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from towpath.components.check.kinds import KINDS
from towpath.components.core.backends.base import BACKENDS
from towpath.components.core.config import load
from towpath.components.core.errors import ConfigError
from towpath.components.core.models.engines import ENGINES
from towpath.components.core.release import environments
from towpath.components.prepare.config import PrepareConfig
from towpath.components.prepare.readers import READERS, detect
from towpath.components.train.config import TrainConfig
from towpath.components.train.families import FAMILIES

ROOT = Path(__file__).resolve().parents[1]
# Family -> its members, where the table is, the page that names each member in backquotes or in a title.
TABLES: dict[str, tuple[Iterable[str], str, str]] = {
    "readers": (READERS, "components/prepare/readers/__init__.py", "components/prepare/README.md"),
    "backbones": (FAMILIES, "components/train/families.py", "components/train/README.md"),
    "checks": (KINDS, "components/check/kinds/__init__.py", "components/check/README.md"),
    "engines": (ENGINES, "components/core/models/engines/__init__.py", "components/serve/README.md"),
    "backends": (BACKENDS, "components/core/backends/base.py", "components/deploy/README.md"),
    "environments": (environments.read(), "components/core/release/environments.yaml", "docs/design.md"),
}
SOURCES = [
    ROOT / name
    for name in subprocess.run(
        ["git", "ls-files", "components/*.py", "pipelines/*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
]


@pytest.mark.parametrize("family", TABLES)
def test_the_page_names_every_member(family: str) -> None:
    members, _, page = TABLES[family]
    text = (ROOT / page).read_text()
    missing = [name for name in members if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]
    assert missing == []


@pytest.mark.parametrize("family", TABLES)
def test_no_other_file_spells_the_list(family: str) -> None:
    """Three members in one line of code or of a docstring are a list that would have to follow the table."""
    members, table, _ = TABLES[family]
    several = {name for name in members if len(name) > 3}
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in SOURCES
        if path != ROOT / table and len(several) > 2
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len({name for name in several if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", line)}) > 2
    ]
    assert found == []


def test_choices_and_messages_follow_the_tables() -> None:
    with pytest.raises(ConfigError, match=rf"must be one of auto, {', '.join(READERS)}"):
        load(PrepareConfig, {"format": "yolo5"}, "prepare")
    with pytest.raises(ConfigError, match=rf"must be one of {', '.join(FAMILIES)}"):
        load(TrainConfig, {"backbone": "resnet"}, "train")
    assert all(detect.reader(name).LAYOUT for name in READERS)
