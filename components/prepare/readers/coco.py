"""COCO JSON: annotations/instances_train2017.json with its images in train2017/, and similar layouts.

The split is taken from the file's name (or its folder's). Segmentations are left out.
"""

from __future__ import annotations

import math
import mmap
from pathlib import Path, PurePosixPath
from typing import Any

from ...core import files
from ...core.errors import DataError
from .. import splits
from ..source import Item, Object, Problems, Source, image_item, plain

LAYOUT = "COCO JSON (annotations/instances_train.json with its images in train/)"
_KEYS = ("images", "annotations", "categories")
_Json = dict[str, Any]


def recognized(root: Path) -> bool:
    """Returns whether there is a JSON file with images, annotations and categories."""
    return bool(_files(root))


def read(root: Path, problems: Problems) -> Source:
    """Reads every annotation file; the classes are the categories in the order of their ids.

    Raises:
        DataError: a file that is not COCO JSON, two files for one split, categories that differ between files, or an
            annotation or image that cannot be used, if the config says "fail".
    """
    by_split = _by_split(_files(root), root)
    if not by_split:
        raise DataError(f"{root}: there is no COCO JSON file in it or in its annotations folder.")
    items: dict[str, list[Item]] = {}
    categories: dict[Any, str] = {}
    first: Path | None = None
    for split, path in by_split.items():
        value = files.read_json(path, "the annotation file")
        _check(value, path)
        here = _categories(value, path)
        if first is not None and here != categories:
            raise DataError(
                f"{first} and {path}: their categories differ: {_difference(categories, here)}.",
                "Every split needs the same categories with the same ids.",
            )
        first, categories = first or path, here
        items[split] = _items(value, path, root, split, here, problems)
    settled, split_by = splits.settled(items, str(root))
    return Source("COCO JSON", "detection", tuple(categories.values()), settled, split_by)


def _files(root: Path) -> list[Path]:
    """Prefers COCO's own name: next to instances_*.json there are captions and keypoints of the same images."""
    inner = sorted(path for path in root.iterdir() if path.is_dir() and splits.named(path.name))
    folders = [root / "annotations", root, *inner]
    found = [path for folder in folders for path in sorted(folder.glob("*.json")) if _contains(path, _KEYS)]
    return [path for path in found if path.name.startswith("instances")] or found


def _contains(path: Path, keys: tuple[str, ...]) -> bool:
    """Returns whether the file contains the keys, without parsing half a gigabyte."""
    if not path.is_file() or path.stat().st_size == 0:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return all(content.find(f'"{key}"'.encode()) >= 0 for key in keys)


def _by_split(paths: list[Path], root: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in paths:
        named = splits.named(path.stem) or splits.named(path.parent.name if path.parent != root else "")
        split = min(named, default="")
        if len(named) > 1 or split in found or ("" in found) or (found and not split):
            raise DataError(
                f"{', '.join(str(path) for path in paths)}: it is not clear which splits these files are for.",
                "Put one of train, val, test into each name (instances_train.json), or keep only one.",
            )
        found[split] = path
    return found


def _check(value: Any, path: Path) -> None:
    for key in _KEYS:
        part = value.get(key) if isinstance(value, dict) else None
        if not isinstance(part, list) or not all(isinstance(entry, dict) for entry in part):
            raise DataError(f"{path}: not COCO JSON: '{key}' must be a list of objects.")


def _categories(value: _Json, path: Path) -> dict[Any, str]:
    try:
        pairs = sorted((int(entry["id"]), plain(str(entry["name"]))) for entry in value["categories"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{path}: a category has no id or no name ({error}).") from error
    categories = dict(pairs)
    if not categories or len(categories) < len(pairs) or len(set(categories.values())) < len(pairs):
        raise DataError(f"{path}: it has no categories, or two with the same id or name.")
    return categories


def _difference(a: dict[Any, str], b: dict[Any, str]) -> str:
    differing = [key for key in sorted({*a, *b}) if a.get(key) != b.get(key)]
    summary = ", ".join(f"id {key}: {a.get(key, 'none')} / {b.get(key, 'none')}" for key in differing[:5])
    return summary + (f" and {len(differing) - 5} more" if len(differing) > 5 else "")


def _items(
    value: _Json, path: Path, root: Path, split: str, categories: dict[Any, str], problems: Problems
) -> list[Item]:
    labels = {key: index for index, key in enumerate(categories)}
    file = path.relative_to(root).as_posix()
    images: dict[Any, _Json] = {}
    for image in value["images"]:
        key, name = image.get("id"), image.get("file_name")
        if not isinstance(key, (int, str)) or not isinstance(name, str) or not name:
            problems.image(file, f"an image has no usable id or file_name (id {key!r}, file_name {name!r}).")
        elif key in images:
            problems.image(file, f"the id {key} of '{name}' is also that of '{images[key]['file_name']}'.")
        else:
            images[key] = image
    objects: dict[Any, list[Object]] = {key: [] for key in images}
    seen: set[Any] = set()
    for entry in value["annotations"]:
        key, number = entry.get("image_id"), entry.get("id")
        if not isinstance(key, (int, str)) or key not in images:
            problems.image(file, f"annotation {number} is for image {key}, which the file does not list.")
            continue
        thing, reason = _object(entry, labels)
        if thing is not None and isinstance(number, (int, str)):
            if number in seen:
                thing, reason = None, "has a duplicate id"
            seen.add(number)
        if thing is None:
            problems.box(plain(images[key]["file_name"]), f"annotation {number} {reason}.")
            continue
        objects[key].append(thing)
    folders = _folders(path, root, split)
    items = []
    for key, image in images.items():
        found, reason = _image(image["file_name"], folders)
        if found is None:
            problems.image(plain(image["file_name"]), f"{file} lists this image, but {reason}.")
            continue
        items.append(image_item(found, root, None, tuple(objects[key]), _size(image), str(key)))
    return items


def _object(entry: _Json, labels: dict[Any, int]) -> tuple[Object | None, str]:
    """Returns an annotation as an object, or None and the reason."""
    category, box, area = entry.get("category_id"), entry.get("bbox"), entry.get("area")
    if not isinstance(category, int) or category not in labels:
        return None, f"has the category {category}, which the file does not list"
    if not isinstance(box, list) or len(box) != 4 or not all(isinstance(side, (int, float)) for side in box):
        return None, f"has no box of four numbers ({box})"
    try:
        x, y, width, height = map(float, box)
        pixels = float(area) if isinstance(area, (int, float)) else 0.0
    except OverflowError:
        return None, "has a number that is too large"
    usable = math.isfinite(pixels) and pixels > 0
    corners = (y, x, y + height, x + width)
    return Object(labels[category], corners, int(entry.get("iscrowd") == 1), pixels if usable else None), ""


def _folders(path: Path, root: Path, split: str) -> list[Path]:
    """Returns where the images of an annotation file may be, the likeliest first."""
    inner = [folder for folder in sorted(root.iterdir()) if folder.is_dir()]
    deeper = [folder for outer in inner for folder in sorted(outer.iterdir()) if folder.is_dir()]
    own = [folder for folder in (*inner, *deeper) if not split or splits.named(folder.name) == {split}]
    return list(dict.fromkeys([*own, path.parent, root, root / "images", root / "data"]))


def _image(name: str, folders: list[Path]) -> tuple[Path | None, str]:
    """Returns the image of that name, or None and the reason."""
    inner = PurePosixPath(name.replace("\\", "/"))
    if inner.is_absolute() or ".." in inner.parts or ":" in name:
        return None, "its path leads outside the folder"
    for folder in folders:
        try:
            if (folder / inner).is_file():
                return folder / inner, ""
        except (OSError, ValueError) as error:  # a name that is too long, or not a valid one
            return None, f"its name is not a valid file name ({error.__class__.__name__})"
    return None, f"it is in none of {', '.join(str(folder) for folder in folders[:6])}"


def _size(image: _Json) -> tuple[int, int] | None:
    height, width = image.get("height"), image.get("width")
    if isinstance(height, int) and isinstance(width, int) and height > 0 and width > 0:
        return height, width
    return None
