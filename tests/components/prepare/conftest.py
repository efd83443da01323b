"""Small labelled sets of each format, made on the spot."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_sets import annotate, coco_file, image


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """Two classes of 20 images, without splits."""
    for seed in range(40):
        image(tmp_path / "pets" / ("cat" if seed % 2 else "dog") / f"{seed}.jpg", seed=seed)
    return tmp_path / "pets"


@pytest.fixture
def coco(tmp_path: Path) -> Path:
    """COCO with train and val: ids 3 and 7, one box an image, one image without."""
    root = tmp_path / "coco"
    for split in ("train", "val"):
        images, annotations = [], []
        for number in range(4):
            image(root / split / f"{number}.jpg", seed=number)
            images.append({"id": number, "file_name": f"{number}.jpg", "width": 40, "height": 30})
        for number in range(3):
            annotations.append(
                {"id": number, "image_id": number, "category_id": 7, "bbox": [4, 3, 20, 15], "area": 150, "iscrowd": 0}
            )
        categories = [{"id": 7, "name": "cat"}, {"id": 3, "name": "dog"}]
        coco_file(root / "annotations" / f"instances_{split}.json", images, annotations, categories)
    return root


@pytest.fixture
def voc(tmp_path: Path) -> Path:
    """VOC without split lists: 30 images, one box each."""
    root = tmp_path / "voc"
    for number in range(30):
        image(root / "JPEGImages" / f"{number:02d}.jpg", seed=number)
        annotate(root / "Annotations" / f"{number:02d}.xml")
    return root
