"""The cache of task outputs: `<out>/cache/<key>/`, complete once its `done.json` exists.

A killed run leaves no `done.json`, so partial output is never taken for complete. One process at a time works on an
entry: it holds a lock on `<key>.lock`, a file that is never removed, since removing it would let two hold it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path

from . import digest
from .execute import Outputs, clear, digested, remove_partials
from .model import Component
from .values import Artifact, Json

_DONE = "done.json"
_FORMAT = 1


def key(
    component: Component,
    parameters: Mapping[str, Json],
    artifacts: Mapping[str, Artifact],
    custom: str | None = None,
) -> str:
    """Computes a task's cache key from its component, Towpath's own code, and its inputs by content.

    A custom key replaces inputs and source (api/v2alpha1/pipeline_spec.proto, CachingOptions.cache_key).
    """
    if custom is not None:
        return digest.of_json({"format": _FORMAT, "component": component.name, "custom": custom})
    return digest.of_json(
        {
            "format": _FORMAT,
            "component": component.digest,
            "towpath": digest.of_package(),
            "parameters": dict(parameters),
            "artifacts": {name: [a.digest, a.name, dict(a.schema), dict(a.metadata)] for name, a in artifacts.items()},
        }
    )


class Entry:
    """One cache entry, locked while it is open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.damage: str | None = None

    def load(self) -> Outputs | None:
        """Returns the outputs if the entry is complete and its files unchanged; else sets `damage` to the reason."""
        try:
            done = json.loads((self.folder / _DONE).read_text(encoding="utf-8"))
            outputs = _read(done, self.folder)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self.damage = f"{_DONE} cannot be read ({type(error).__name__})"
            return None
        for name, artifact in outputs.artifacts.items():
            if digested(artifact, outputs.trees.get(name))[0].digest != artifact.digest:
                self.damage = f"output {name!r} has changed"
                return None
        remove_partials(self.folder)
        return outputs

    def begin(self) -> None:
        """Removes incomplete output before an attempt, `done.json` first; a step's own `*.partial` is kept."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / _DONE).unlink(missing_ok=True)
        clear(self.folder)

    def finish(self, outputs: Outputs) -> None:
        """Marks the entry as complete."""
        write_whole(self.folder / _DONE, json.dumps(_written(outputs, self.folder)), sync=True)
        remove_partials(self.folder)


@contextlib.contextmanager
def opened(root: Path, key: str) -> Iterator[Entry]:
    """Opens and locks the entry of `key`; waits while another process holds it."""
    root.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(root / f"{key}.lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield Entry(root / key)
    finally:
        os.close(descriptor)


def write_whole(path: Path, content: str, *, sync: bool = False) -> None:
    """Writes a file atomically: readers find the old content or the new."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    with temporary.open("w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(content)
        if sync:
            file.flush()
            os.fsync(file.fileno())
    temporary.replace(path)


def _written(outputs: Outputs, folder: Path) -> dict[str, Json]:
    return {
        "format": _FORMAT,
        "parameters": dict(outputs.parameters),
        "artifacts": {
            name: {
                "name": artifact.name,
                "schema": dict(artifact.schema),
                "uri": _relative(artifact.uri, folder),
                "metadata": dict(artifact.metadata),
                "digest": artifact.digest,
                "files": {path: asdict(mark) for path, mark in outputs.trees.get(name, {}).items()},
            }
            for name, artifact in outputs.artifacts.items()
        },
    }


def _read(done: Json, folder: Path) -> Outputs:
    if done["format"] != _FORMAT:
        raise ValueError("entry of another format version")
    artifacts: dict[str, Artifact] = {}
    trees: dict[str, digest.Tree] = {}
    for name, entry in done["artifacts"].items():
        trees[name] = {path: digest.Mark(**mark) for path, mark in entry.pop("files").items()}
        artifact = Artifact(**entry)
        inside = artifact.uri.startswith("./")
        artifacts[name] = replace(artifact, uri=str(folder / artifact.uri)) if inside else artifact
    return Outputs(done["parameters"], artifacts, trees)


def _relative(uri: str, folder: Path) -> str:
    """Makes a path inside the entry relative, so that the folder of runs can be moved."""
    inside = uri.startswith(f"{folder}{os.sep}")
    return f"./{Path(uri).relative_to(folder).as_posix()}" if inside else uri
