"""Digests by which the cache identifies content."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ... import __version__
from ...components.core.files import file_digest


@dataclass(frozen=True)
class Mark:
    """One file: size and time, to detect quickly that it has not changed, and the digest of its content."""

    size: int
    mtime_ns: int
    sha256: str


Tree = dict[str, Mark]
"""The files below an artifact's path, by relative path; a single file is "", a missing path gives no entry."""


def scan(path: Path, known: Mapping[str, Mark] | None = None) -> Tree:
    """Scans everything at or below `path`; a file whose size and time are as in `known` is not read again.

    Folders count, so that an empty one differs from none. A link to a folder counts as the link, since following it
    could be circular.
    """
    if path.is_file():
        return {"": _mark("", path, known)}
    tree: Tree = {}
    for folder, folders, names in os.walk(path):
        inside = Path(folder).relative_to(path).as_posix()
        tree[f"{inside}/"] = Mark(0, 0, "folder")
        for name in folders + names:
            item = Path(folder, name)
            relative = item.relative_to(path).as_posix()
            if item.is_file():
                tree[relative] = _mark(relative, item, known)
            elif item.is_symlink():
                tree[relative] = Mark(0, 0, of_uri(str(item.readlink())))
    return tree


def _mark(name: str, file: Path, known: Mapping[str, Mark] | None) -> Mark:
    status = file.stat()
    before = (known or {}).get(name)
    if before is not None and (before.size, before.mtime_ns) == (status.st_size, status.st_mtime_ns):
        return before
    return Mark(status.st_size, status.st_mtime_ns, file_digest(file))


def of_tree(tree: Mapping[str, Mark]) -> str:
    """Returns the digest of an artifact's content: each file's relative path and digest, in order."""
    return of_json([[name, tree[name].sha256] for name in sorted(tree)])


def of_uri(uri: str) -> str:
    """Returns the digest of what is not on local disk: only its location is known."""
    return of_json({"uri": uri})


def of_json(value: Any) -> str:
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def of_package() -> str:
    """Returns the digest of the steps' own files: what components import, code and data files.

    Computed once per process, not at every run: a module that is imported does not change when its file does.
    """
    root = Path(__file__).parents[2] / "components"
    files = sorted((file.relative_to(root).as_posix(), file) for file in _package_files(root))
    return of_json([__version__, [[name, file_digest(file)] for name, file in files]])


def _package_files(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root, followlinks=True):
        folders[:] = [name for name in folders if name != "__pycache__" and not name.startswith(".")]
        yield from (Path(folder, name) for name in names if not name.endswith((".pyc", ".md")))
