"""Writers of small images and annotations."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from PIL import Image


def image(path: Path, width: int = 40, height: int = 30, seed: int = 0, orientation: int = 1) -> Path:
    """Writes an image of noise; `seed` makes its content its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(pixels).save(path, exif=exif)
    return path


def coco_file(path: Path, images: list[object], annotations: list[object], categories: list[object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"images": images, "annotations": annotations, "categories": categories}))


def annotate(path: Path, box: tuple[object, ...] = (4, 3, 24, 18), size: tuple[int, int] = (40, 30)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    sides = "".join(
        f"<{side}>{value}</{side}>" for side, value in zip(("xmin", "ymin", "xmax", "ymax"), box, strict=True)
    )
    path.write_text(
        f"<annotation><filename>{path.stem}.jpg</filename><size><width>{size[0]}</width><height>{size[1]}</height>"
        f"</size><object><name>cat</name><bndbox>{sides}</bndbox></object></annotation>"
    )
