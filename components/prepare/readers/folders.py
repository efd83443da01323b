"""One folder per class: DIR/daisy/1.jpg, or DIR/train/daisy/1.jpg with the same classes in each split."""

from __future__ import annotations

from pathlib import Path

from ...core.errors import DataError
from .. import splits
from ..source import SUFFIXES, Item, Problems, Source, image_item, plain

LAYOUT = "one folder per class (CLASS/*.jpg or train/CLASS/*.jpg)"
_Classes = dict[str, list[Path]]


def recognized(root: Path) -> bool:
    """Returns whether there are images in at least two folders that may be classes."""
    return any(len(classes) > 1 for _, classes in _found(root).values())


def read(root: Path, problems: Problems) -> Source:
    """Reads the folders' names as classes, in alphabetical order.

    Raises:
        DataError: fewer than two classes, or splits whose classes differ.
    """
    found = _found(root)
    if not found:
        raise DataError(
            f"{root}: no folder in it contains images.", f"Put them into one folder per class: {root}/CLASS/"
        )
    first_folder, first_classes = next(iter(found.values()))
    for folder, classes in found.values():
        if differing := sorted(set(classes) ^ set(first_classes)):
            raise DataError(
                f"{first_folder} and {folder}: the classes differ: only one of them has images of "
                f"{', '.join(differing)}.",
                "Give every split the same class folders.",
            )
    if len(first_classes) < 2:
        raise DataError(f"{first_folder}: its images are of one class only, {', '.join(first_classes)}.")
    names = tuple(sorted(first_classes))
    items: dict[str, list[Item]] = {
        split: [image_item(path, root, names.index(name)) for name in names for path in classes[name]]
        for split, (_, classes) in found.items()
    }
    settled, split_by = splits.settled(items, str(root))
    return Source("one folder per class", "classification", tuple(map(plain, names)), settled, split_by)


def _found(root: Path) -> dict[str, tuple[Path, _Classes]]:
    """Maps each split ("" if there is none) to its folder and the images of its classes."""
    folders = _folders(root)
    by_split = {}
    for folder in folders:
        if classes := _classes(folder):
            by_split[folder] = classes
    if not by_split:
        classes = _classes(root)
        return {"": (root, classes)} if classes else {}
    found: dict[str, tuple[Path, _Classes]] = {}
    for folder, classes in by_split.items():
        split = splits.named(folder.name)
        if len(split) != 1 or split <= set(found):
            raise DataError(
                f"{folder}: its folders contain images, but its name does not name a split.",
                "Arrange images as DIR/CLASS/IMAGE, or as DIR/train/CLASS/IMAGE with val and test next to train.",
            )
        found[split.pop()] = (folder, classes)
    return found


def _classes(folder: Path) -> _Classes:
    classes = {}
    for inner in _folders(folder):
        images = sorted(path for path in inner.iterdir() if path.suffix.lower() in SUFFIXES and path.is_file())
        if images:
            classes[inner.name] = images
    return classes


def _folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith((".", "__")))
