"""Which format a folder of labelled images has."""

from __future__ import annotations

import importlib
from collections import Counter
from pathlib import Path
from typing import Protocol, cast

from ...core import files
from ...core.errors import DataError
from ..source import Problems, Source
from . import READERS


class Reader(Protocol):
    """A module of `READERS`."""

    LAYOUT: str
    """How a folder of the format looks, for messages."""

    def recognized(self, root: Path) -> bool:
        """Returns whether the folder's content is of the format."""

    def read(self, root: Path, problems: Problems) -> Source:
        """Reads a folder's labelled images.

        Raises:
            DataError: it cannot be used.
        """


def reader(name: str) -> Reader:
    """The reader of that name."""
    return cast(Reader, importlib.import_module(f".{name}", __package__))


def read(root: Path, problems: Problems) -> Source:
    """Reads a folder in the format that the config names, or that its content shows.

    Raises:
        DataError: the folder is empty, of no known format, or of two; or what the format's reader raises.
    """
    with files.translate_os_errors(root):
        wanted = problems.config.format
        return reader(_detected(root) if wanted == "auto" else wanted).read(root, problems)


def _detected(root: Path) -> str:
    *specific, last = READERS
    found = [name for name in specific if reader(name).recognized(root)]
    if len(found) > 1:
        choices = " or ".join(f"--set prepare.format={name}" for name in found)
        formats = ", ".join(reader(name).LAYOUT for name in found)
        raise DataError(f"{root}: more than one format is in it: {formats} ({_seen(root)}).", f"Choose: {choices}.")
    if found:
        return found[0]
    if reader(last).recognized(root):
        return last
    known = "; ".join(reader(name).LAYOUT for name in READERS)
    raise DataError(f"{root}: no known format of labelled images. Found: {_seen(root)}.", f"Known formats: {known}.")


def _seen(root: Path) -> str:
    entries = sorted(root.iterdir())
    inner = [path.name + "/" for path in entries if path.is_dir()]
    kinds = Counter(path.suffix.lower() or path.name for path in entries if path.is_file())
    listed = inner[:8] + (["…"] if len(inner) > 8 else [])
    listed += [f"{count} × {kind}" for kind, count in kinds.most_common(8)]
    return ", ".join(listed) or "nothing, the folder is empty"
