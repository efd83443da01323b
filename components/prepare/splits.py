"""Who trains, who validates, who tests: the source's own splits, or splits by content."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from ..core.errors import DataError
from ..core.task import SPLITS
from .source import Item

_WORDS = {
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "test": "test",
    "testing": "test",
}
_WORD = re.compile(rf"(?<![a-z])({'|'.join(_WORDS)})(?![a-z])")
# Of ten images, eight train, one validates, one tests.
TENTHS = ("train",) * 8 + ("val", "test")
BY_CONTENT = "by content: 80/10/10"


def named(text: str) -> set[str]:
    """The splits that a file's or folder's name speaks of: "instances_val2017.json" -> {"val"}."""
    return {_WORDS[word] for word in _WORD.findall(text.lower())}


def settled(found: dict[str, list[Item]], where: str) -> tuple[dict[str, list[Item]], str]:
    """The splits to write, and who made them.

    Args:
        found: split -> images; under "" those of no split. Either all have a split or none has.
        where: the source, for messages.

    Raises:
        DataError: there are no images, or none to train on.
    """
    found = {split: items for split, items in found.items() if items}
    if not found:
        raise DataError(f"{where}: there is no labelled image in it.")
    if set(found) in ({""}, {"train"}):
        (items,) = found.values()
        return by_content(items), BY_CONTENT
    if "train" not in found:
        raise DataError(f"{where}: it has the splits {', '.join(found)}, but no train split.")
    return {split: found[split] for split in SPLITS if split in found}, "the source's own splits"


def by_content(items: Sequence[Item]) -> dict[str, list[Item]]:
    """Splits images by the sha256 of their bytes.

    An image's split depends on nothing but its content: it stays where it is when others come or go, and two copies
    of one image never lie in two splits. In a set so small that val or test would stay empty, the last image
    of train, by digest, goes there.
    """
    splits: dict[str, list[tuple[str, Item]]] = {split: [] for split in SPLITS}
    for item in items:
        digest = _digest(item)
        splits[TENTHS[int(digest[:16], 16) % 10]].append((digest, item))
    for split in ("val", "test"):
        if not splits[split] and len(splits["train"]) > 1:
            last = max(splits["train"], key=lambda pair: (pair[0], pair[1].file))
            splits["train"].remove(last)
            splits[split].append(last)
    return {split: [item for _, item in pairs] for split, pairs in splits.items() if pairs}


def _digest(item: Item) -> str:
    try:
        return hashlib.sha256(item.load()).hexdigest()
    except OSError:  # said when the image is to be written
        return hashlib.sha256(item.file.encode()).hexdigest()
