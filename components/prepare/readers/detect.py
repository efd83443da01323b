"""Detects the format of a folder of labelled images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from ...core import files
from ...core.errors import DataError
from ..source import Problems, Source
from . import coco, folders, voc

READERS: dict[str, Callable[[Path, Problems], Source]] = {
    "coco": coco.read,
    "voc": voc.read,
    "folders": folders.read,
}
_LAYOUTS = (
    "Known formats: COCO (annotations/instances_train.json with its images in train/), Pascal VOC (Annotations/*.xml "
    "with JPEGImages/*.jpg) and one folder per class (CLASS/*.jpg or train/CLASS/*.jpg)."
)


def read(root: Path, problems: Problems) -> Source:
    """Reads a folder in the configured or detected format.

    Raises:
        DataError: the folder is empty, or of unknown format, or of two; or the format's reader raises it.
    """
    with files.translate_os_errors(root):
        name = problems.config.format
        return READERS[_detected(root) if name == "auto" else name](root, problems)


def _detected(root: Path) -> str:
    is_coco, is_voc = coco.recognised(root), voc.recognised(root)
    if is_coco and is_voc:
        raise DataError(
            f"{root}: it contains both COCO JSON and Pascal VOC XML ({_found(root)}).",
            "Select one: --set prepare.format=coco or --set prepare.format=voc.",
        )
    if is_coco or is_voc:
        return "coco" if is_coco else "voc"
    # Last, because COCO's and VOC's folders of images look like classes.
    if folders.recognised(root):
        return "folders"
    raise DataError(f"{root}: unknown format of labelled images. Found: {_found(root)}.", _LAYOUTS)


def _found(root: Path) -> str:
    entries = sorted(root.iterdir())
    inner = [path.name + "/" for path in entries if path.is_dir()]
    kinds = Counter(path.suffix.lower() or path.name for path in entries if path.is_file())
    found = (
        inner[:8] + (["…"] if len(inner) > 8 else []) + [f"{count} × {kind}" for kind, count in kinds.most_common(8)]
    )
    return ", ".join(found) or "nothing, the folder is empty"
