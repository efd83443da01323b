"""The manifest: the contents of a set of records. It is passed between steps; the shards may be elsewhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import files
from ..errors import RecordsError
from ..task import Task
from .records import Example, read_examples

FILE = "manifest.json"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class Shard:
    """One TFRecord file.

    Attributes:
        path: relative to the manifest's folder, or an absolute path or URI.
        examples: labelled images in it.
        bytes: size of the file.
        sha256: of the file.
    """

    path: str
    examples: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Split:
    """The shards of one split.

    Attributes:
        shards: its TFRecord files.
        examples: labelled images in them.
        objects: class -> number of objects (detection) or images (classification).
    """

    shards: tuple[Shard, ...]
    examples: int
    objects: dict[str, int]


@dataclass(frozen=True)
class Skipped:
    """An image, or a box of one, that was left out, and why."""

    file: str
    reason: str


@dataclass(frozen=True)
class Manifest:
    """The contents of a set of records.

    Attributes:
        name: of the data set; models trained on it take it as their name.
        task: what its labels are for.
        classes: names; a label is an index into them.
        splits: "train", "val", "test"; those that exist.
        skipped: images that could not be used.
        dropped_boxes: boxes that could not be used.
        source: format and path that the records came from.
        config: the config that prepared them.
        horizontal_flip: whether a mirrored image is still a valid example; False for digits or text.
        format_version: of the manifest file.
    """

    name: str
    task: Task
    classes: tuple[str, ...]
    splits: dict[str, Split]
    skipped: tuple[Skipped, ...] = ()
    dropped_boxes: tuple[Skipped, ...] = ()
    source: dict[str, str] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    horizontal_flip: bool = True
    format_version: int = FORMAT_VERSION

    def split(self, *names: str) -> str:
        """Returns the first of the named splits that has examples.

        Raises:
            RecordsError: none has; the message lists those that have.
        """
        for name in names:
            if name in self.splits and self.splits[name].examples:
                return name
        existing = ", ".join(name for name, split in self.splits.items() if split.examples) or "none"
        raise RecordsError(f"The records '{self.name}' have no split {' or '.join(names)} (with examples: {existing}).")


@dataclass(frozen=True)
class Records:
    """A manifest, and the folder from which it was read."""

    folder: Path
    manifest: Manifest

    @property
    def digest(self) -> str:
        """sha256 of the manifest, which holds the shards' own: it identifies the content of the whole set."""
        return files.file_digest(self.folder / FILE)

    def shards(self, split: str) -> list[Path]:
        """Returns the files of a split."""
        return [self.folder / shard.path for shard in self.manifest.splits[split].shards]

    def examples(self, split: str, limit: int | None = None) -> Iterator[Example]:
        """Yields the examples of a split in the shards' order, at most `limit`."""
        count = 0
        for shard in self.shards(split):
            for example in read_examples(shard):
                if count == limit:
                    return
                yield example
                count += 1


def write(manifest: Manifest, folder: Path) -> None:
    """Writes the manifest into the folder of its records."""
    files.write_json(folder / FILE, dataclasses.asdict(manifest))


def read(folder: str | Path) -> Records:
    """Reads the manifest of records, and checks that every shard exists with its size.

    Raises:
        RecordsError: no manifest, one of another format version, or a shard that is missing or of another size.
    """
    folder = Path(folder)
    hint = "Pass the folder that `towpath run prepare` wrote."
    manifest = files.read_versioned(folder / FILE, FORMAT_VERSION, _manifest, RecordsError, hint)
    for split in manifest.splits.values():
        for shard in split.shards:
            _check(folder / shard.path, shard)
    return Records(folder, manifest)


def _manifest(value: dict[str, Any]) -> Manifest:
    splits = {
        name: Split(tuple(Shard(**shard) for shard in split["shards"]), split["examples"], split["objects"])
        for name, split in value["splits"].items()
    }
    return Manifest(
        **{
            **value,
            "classes": tuple(value["classes"]),
            "splits": splits,
            "skipped": tuple(Skipped(**item) for item in value["skipped"]),
            "dropped_boxes": tuple(Skipped(**item) for item in value["dropped_boxes"]),
        }
    )


def _check(path: Path, shard: Shard) -> None:
    if not path.is_file():
        raise RecordsError(f"{path}: the shard does not exist.", "Prepare the records again.")
    size = path.stat().st_size
    if size != shard.bytes:
        raise RecordsError(
            f"{path}: the shard has {size} bytes, the manifest says {shard.bytes}.",
            "Prepare the records again.",
        )
