"""Pascal VOC: one XML file per image, splits in ImageSets/Main/*.txt.

Coordinates are taken as written, like torchvision and the TF Object Detection API do. VOC's own devkit counts pixels
from 1, but most of what is called VOC today (LabelImg, CVAT, Roboflow) counts from 0 without saying so: subtracting 1
would move those boxes, and not doing so moves VOC's own by no more than a pixel.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from ...core.errors import DataError
from ...core.task import SPLITS
from .. import splits
from ..source import SUFFIXES, Item, Object, Problems, Source, image_item

LAYOUT = "Pascal VOC XML (Annotations/*.xml with JPEGImages/*.jpg)"
LISTS = Path("ImageSets/Main")
_CORNERS = ("ymin", "xmin", "ymax", "xmax")


def recognized(root: Path) -> bool:
    """Returns whether there are XML files where VOC has them."""
    return bool(_annotations(root))


def read(root: Path, problems: Problems) -> Source:
    """Reads all annotations; the classes are the names found in them, in alphabetical order.

    Raises:
        DataError: an annotation that cannot be used, if the config says "fail"; an image in two splits; or a class
            that the source's own train split lacks.
    """
    images = _images(root)
    found: dict[str, list[tuple[Path, Element, Path]]] = {}
    for split, paths in _splits(root).items():
        found[split] = []
        for path in paths:
            if read_one := _read(path, root, images, problems):
                found[split].append((path, *read_one))
    names = {
        split: {name for _, xml, _ in files for thing in xml.iter("object") if (name := _text(thing, "name"))}
        for split, files in found.items()
    }
    for split, found_names in names.items():
        if "train" in names and (unknown := sorted(found_names - names["train"])):
            example = next(path for path, xml, _ in found[split] if unknown[0] in {*_names(xml)})
            raise DataError(
                f"{example}: the class '{unknown[0]}' is in the split {split}, but never in train "
                f"(which has {', '.join(sorted(names['train']))}).",
                "Correct its spelling, or put images of it into train.",
            )
    classes = tuple(sorted(set().union(*names.values())))
    if not classes:
        raise DataError(f"{root}: none of its annotations contains an object with a name.")
    items = {
        split: [_item(xml, image, root, classes, problems) for _, xml, image in files] for split, files in found.items()
    }
    settled, split_by = splits.settled(items, str(root))
    return Source("Pascal VOC", "detection", classes, settled, split_by)


def _annotations(root: Path) -> list[Path]:
    """Looks in Annotations/, then next to the images, then next to the images in one folder per split."""
    by_split = [path for path in root.iterdir() if path.is_dir() and splits.named(path.name)]
    for folders in ([root / "Annotations"], [root], sorted(by_split)):
        if paths := [path for folder in folders for path in sorted(folder.glob("*.xml"))]:
            return paths
    return []


def _images(root: Path) -> dict[str, Path]:
    """Maps names with and without suffix, also with the folder's name before them, to images."""
    found: dict[str, Path] = {}
    inner = sorted(path for path in root.iterdir() if path.is_dir() and splits.named(path.name))
    for folder in (root / "JPEGImages", root / "images", root / "Annotations", root, *inner):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path.suffix.lower() in SUFFIXES:
                for name in (path.name, path.stem):
                    found.setdefault(name, path)
                    found.setdefault(f"{folder.name}/{name}", path)
    return found


def _splits(root: Path) -> dict[str, list[Path]]:
    """Maps each split ("" if there is none) to its annotations: by the split lists, or by folder."""
    lists = {split: root / LISTS / f"{split}.txt" for split in SPLITS}
    if not lists["train"].is_file():
        lists["train"] = root / LISTS / "trainval.txt"
    listed = {split: path for split, path in lists.items() if path.is_file()}
    if listed:
        return _listed(listed, root / "Annotations")
    found: dict[str, list[Path]] = {}
    for path in _annotations(root):
        named = splits.named(path.parent.name) if path.parent not in (root, root / "Annotations") else set()
        found.setdefault(min(named, default=""), []).append(path)
    return found


def _listed(lists: dict[str, Path], annotations: Path) -> dict[str, list[Path]]:
    seen: dict[str, Path] = {}
    found: dict[str, list[Path]] = {}
    for split, path in lists.items():
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        names = [line.strip() for line in lines if line.strip()]
        for name in names:
            if Path(name).name != name or name == "..":
                raise DataError(
                    f"{path}: '{name}' is not a plain name of an annotation.", "It must not contain a path."
                )
            if name in seen:
                raise DataError(
                    f"{seen[name]} and {path}: '{name}' is listed twice.", "List an image in one split only."
                )
            seen[name] = path
        found[split] = [annotations / f"{name}.xml" for name in names]
    return found


def _read(path: Path, root: Path, images: dict[str, Path], problems: Problems) -> tuple[Element, Path] | None:
    """Returns an annotation and its image; None if one cannot be used and such are skipped."""
    file = path.relative_to(root).as_posix()
    try:
        # Some tools write a blank line before the XML declaration, which XML forbids.
        xml: Element = fromstring(path.read_bytes().lstrip())
    except FileNotFoundError:
        problems.image(file, "the split lists name this annotation, but it does not exist.")
        return None
    except DefusedXmlException as error:
        problems.image(file, f"it declares XML entities, which are rejected because they can be attacks ({error}).")
        return None
    except OSError as error:
        problems.image(file, f"the annotation cannot be read ({error.strerror}).")
        return None
    except (ParseError, ValueError, LookupError) as error:
        problems.image(file, f"not valid XML ({error}).")
        return None
    # In VOC, split lists and annotations refer to the file's stem; the name inside is often outdated.
    candidates = (f"{path.parent.name}/{path.stem}", path.stem, (xml.findtext("filename") or "").strip())
    image = next((images[name] for name in candidates if name in images), None)
    if image is None:
        problems.image(file, f"there is no image '{path.stem}' ({', '.join(SUFFIXES)}) for this annotation.")
        return None
    return xml, image


def _item(xml: Element, image: Path, root: Path, classes: tuple[str, ...], problems: Problems) -> Item:
    file = image.relative_to(root).as_posix()
    objects = []
    for index, thing in enumerate(xml.iter("object")):
        name, written = _text(thing, "name"), [_text(thing, f"bndbox/{corner}") for corner in _CORNERS]
        try:
            y_min, x_min, y_max, x_max = map(float, written)
        except ValueError:
            text = ", ".join(f"{corner} '{value}'" for corner, value in zip(_CORNERS, written, strict=True))
            problems.box(file, f"object {index} '{name}' has a box that is not numeric ({text}).")
            continue
        if not name:
            problems.box(file, f"object {index} has no name.")
            continue
        objects.append(Object(classes.index(name), (y_min, x_min, y_max, x_max)))
    return image_item(image, root, objects=tuple(objects), declared=_size(xml))


def _size(xml: Element) -> tuple[int, int] | None:
    """Returns (height, width) as written; None if there is none: some tools omit it or write 0."""
    try:
        height, width = int(_text(xml, "size/height")), int(_text(xml, "size/width"))
    except ValueError:
        return None
    return (height, width) if height > 0 and width > 0 else None


def _names(xml: Element) -> list[str]:
    return [_text(thing, "name") for thing in xml.iter("object")]


def _text(xml: Element, path: str) -> str:
    return (xml.findtext(path) or "").strip()
