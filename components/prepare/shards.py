"""Writes the examples of a split into shards."""

from __future__ import annotations

import hashlib
import io
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..core import files
from ..core.data import records
from ..core.data.images import MAX_BYTES, ImageError
from ..core.data.manifest import Shard, Split
from ..core.progress import Bar
from .config import PrepareConfig
from .images import to_store
from .objects import to_example
from .source import Item, Problems

# A shard of fewer examples costs more to open than reading it in parallel gains.
MIN_EXAMPLES = 16


def shard_count(items: Sequence[Item], config: PrepareConfig) -> int:
    """Returns the number of shards of a split: by size, but at least `min_shards` if each gets enough examples."""
    by_size = math.ceil(sum(item.size for item in items) / (config.shard_mb * 1e6))
    return max(1, by_size, min(config.min_shards, len(items) // MIN_EXAMPLES))


def write_split(
    name: str, items: Sequence[Item], classes: tuple[str, ...], work: Path, problems: Problems, bar: Bar
) -> Split:
    """Writes one split, one image in memory at a time.

    Args:
        name: of the split.
        items: its images, in the order in which they are written.
        classes: class names.
        work: the folder to which the shards are written.
        problems: collects or raises what cannot be used.
        bar: advanced by one for each image.

    Returns:
        The split with its shards.

    Raises:
        DataError: an image or box that cannot be used, if the config says "fail".
        RetryError: the disk is full.
    """
    count = shard_count(items, problems.config)
    shards: list[Shard] = []
    objects: Counter[str] = Counter()
    for index in range(count):
        part = items[index * len(items) // count : (index + 1) * len(items) // count]
        path = work / f"{name}-{index:05d}-of-{count:05d}.tfrecord"
        shards.append(_write_shard(path, part, classes, problems, objects, bar))
    return Split(
        tuple(shards),
        sum(shard.examples for shard in shards),
        {label: objects[label] for label in classes},
    )


def _write_shard(
    path: Path, items: Iterable[Item], classes: tuple[str, ...], problems: Problems, objects: Counter[str], bar: Bar
) -> Shard:
    examples = 0
    with files.translate_os_errors(path), _Hashing(io.FileIO(path, "wb")) as file:
        for item in items:
            example = _read(item, problems)
            bar.advance()
            if example is None:
                continue
            records.write_record(file, records.to_bytes(example, classes))
            examples += 1
            labels = example.labels if example.label is None else [example.label]
            objects.update(classes[label] for label in labels)
    return Shard(path.name, examples, path.stat().st_size, file.digest.hexdigest())


def _read(item: Item, problems: Problems) -> records.Example | None:
    try:
        if item.size > MAX_BYTES:
            raise ImageError(f"The file has {item.size:,} bytes: the limit is {MAX_BYTES:,}.")
        stored = to_store(item.load())
    except ImageError as error:
        problems.image(item.file, error.message)
        return None
    except OSError as error:
        problems.image(item.file, f"The file cannot be read ({error.strerror}).")
        return None
    return to_example(item, stored, problems)


class _Hashing(io.BufferedWriter):
    """A file that computes the sha256 of what is written to it."""

    def __init__(self, raw: io.FileIO) -> None:
        super().__init__(raw, files.CHUNK)
        self.digest = hashlib.sha256()

    def write(self, data: bytes) -> int:  # type: ignore[override]  # records are bytes, never another buffer
        self.digest.update(data)
        return super().write(data)
