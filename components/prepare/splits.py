"""Train, val and test splits: the source's own, or by content."""

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
# Of ten images, eight are for train, one for val, one for test.
TENTHS = ("train",) * 8 + ("val", "test")
BY_CONTENT = "by content: 80/10/10"


def named(text: str) -> set[str]:
    """Returns the splits that a file's or folder's name mentions: "instances_val2017.json" -> {"val"}."""
    return {_WORDS[word] for word in _WORD.findall(text.lower())}


def settled(found: dict[str, list[Item]], where: str) -> tuple[dict[str, list[Item]], str]:
    """Returns the splits to write, and where they come from.

    Args:
        found: split -> images; those without a split under "". Either all have a split or none has.
        where: the source, for messages.

    Returns:
        Split -> images, and a phrase for the summary ("by content: 80/10/10").

    Raises:
        DataError: there are no images, or none to train on.
    """
    found = {split: items for split, items in found.items() if items}
    if not found:
        raise DataError(f"{where}: it contains no labelled images.")
    if set(found) in ({""}, {"train"}):
        (items,) = found.values()
        return by_content(items), BY_CONTENT
    if "train" not in found:
        raise DataError(f"{where}: it has the splits {', '.join(found)}, but no train split.")
    return {split: found[split] for split in SPLITS if split in found}, "the source's own splits"


def by_content(items: Sequence[Item]) -> dict[str, list[Item]]:
    """Splits images by the sha256 of their bytes.

    An image's split depends only on its content: it does not change when other images are added or removed, and two
    copies of one image never end up in two splits. In a set so small that val or test would stay empty, the last
    image of train, by digest, is moved there.
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
    except OSError:  # reported when the image is written
        return hashlib.sha256(item.file.encode()).hexdigest()
