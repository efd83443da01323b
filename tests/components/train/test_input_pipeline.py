"""The input pipeline: the same pixels as serving, anchors matched as the paper says, the same for the same seed."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from towpath.components.core.data import boxes as box_math
from towpath.components.core.data import images, manifest
from towpath.components.core.models import anchors as anchor_math
from towpath.components.core.models.anchors import AnchorSpec
from towpath.components.prepare.config import PrepareConfig
from towpath.components.prepare.prepare import prepare
from towpath.components.train import input_pipeline
from towpath.components.train.input_pipeline import InputConfig
from towpath.components.train.losses import RetinaNetLoss


def encoded(height: int, width: int, kind: str, seed: int = 0) -> bytes:
    """An image with smooth and sharp parts."""
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (max(2, height // 9), max(2, width // 9), 3), np.uint8)
    file = io.BytesIO()
    options = {"quality": 90} if kind == "JPEG" else {}
    Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC).save(file, kind, **options)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
@pytest.mark.parametrize("mode", ["letterbox", "crop"])
@pytest.mark.parametrize(("height", "width"), [(160, 160), (97, 211), (480, 640), (31, 20), (301, 700)])
def test_training_sees_the_pixels_that_serving_does(
    kind: str, mode: images.ResizeMode, height: int, width: int
) -> None:
    data, side = encoded(height, width, kind), 96
    served, place = images.fit_to(*images.decode(data, side, mode), side, mode)
    trained, scale, offset = input_pipeline.fitted(data, side, mode)
    assert np.abs(np.asarray(trained) - served).max() / 255 < 1e-5
    assert np.allclose(np.asarray(scale), [place.scale_y, place.scale_x], atol=1e-6)
    assert np.allclose(np.asarray(offset), [place.offset_y, place.offset_x], atol=1e-6)


def test_real_images_too(shared_data: Path) -> None:
    paths = [*sorted((shared_data / "bccd/JPEGImages").glob("*.jpg"))[:3]]
    paths += sorted((shared_data / "coco256/val2017").glob("*.jpg"))[:12]
    for path in paths:
        data = path.read_bytes()
        served, _ = images.fit_to(*images.decode(data, 320), 320, "letterbox")
        assert np.abs(np.asarray(input_pipeline.fitted(data, 320, "letterbox")[0]) - served).max() / 255 < 1e-5, (
            path.name
        )


def test_anchors_learn_the_box_they_overlap_most() -> None:
    anchors = anchor_math.make(AnchorSpec(levels=(3, 4), size=2.5), 64)
    rng = np.random.default_rng(1)
    corner, side = rng.uniform(0, 0.6, (5, 2)), rng.uniform(0.15, 0.4, (5, 2))
    boxes = np.concatenate([corner, corner + side], axis=1).astype(np.float32)
    labels = np.arange(5, dtype=np.int32)
    found = input_pipeline.match(boxes, labels, np.zeros((0, 4), np.float32), anchors)
    learned, overlap = np.asarray(found["labels"]), box_math.pairwise_iou(anchors, boxes)
    forced = overlap.argmax(axis=0)
    others = np.setdiff1d(np.arange(len(anchors)), forced)
    best = overlap.max(axis=1)
    expected = np.where(best >= 0.5, overlap.argmax(axis=1), np.where(best >= 0.4, -2, -1))
    assert np.array_equal(learned[others], expected[others])
    assert set(labels) <= set(learned)
    positive = learned >= 0
    decoded = box_math.decode(np.asarray(found["box_deltas"])[positive], anchors[positive])
    assert np.allclose(decoded, boxes[learned[positive]], atol=1e-5)


def test_anchors_inside_a_crowd_are_left_out() -> None:
    anchors = anchor_math.make(AnchorSpec(levels=(3,), size=2.0), 64)
    crowd = np.array([[0, 0, 0.5, 1]], np.float32)
    none = np.zeros((0, 4), np.float32)
    learned = np.asarray(input_pipeline.match(none, np.zeros(0, np.int32), crowd, anchors)["labels"])
    inside = ((anchors >= 0) & (anchors <= 1)).all(axis=1)
    assert (learned[inside & (anchors[:, 2] <= 0.5)] == RetinaNetLoss.IGNORED).all()
    assert (learned[inside & (anchors[:, 0] >= 0.5)] == RetinaNetLoss.BACKGROUND).all()


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> manifest.Records:
    out = tmp_path_factory.mktemp("scenes") / "records"
    prepare("digit-scenes", out, PrepareConfig(scenes=80, min_shards=2))
    return manifest.read(out)


def options(**changes: object) -> InputConfig:
    anchors = anchor_math.make(AnchorSpec(levels=(3, 4), size=2.5), 160)
    values = {
        "task": "detection",
        "size": 160,
        "resize_mode": "letterbox",
        "batch_size": 8,
        "seed": 3,
        "horizontal_flip": True,
        "scale_jitter": 0.2,
    }
    return InputConfig(**{**values, "anchors": anchors, **changes})  # type: ignore[arg-type]


def test_the_same_seed_gives_the_same_batches_and_a_resumed_run_the_rest(scenes: manifest.Records) -> None:
    shards = scenes.shards("train")
    whole = [np.asarray(images) for images, _ in input_pipeline.training(shards, options(), 3, 0, 2)]
    again = [np.asarray(images) for images, _ in input_pipeline.training(shards, options(), 3, 0, 2)]
    resumed = [np.asarray(images) for images, _ in input_pipeline.training(shards, options(), 3, 1, 2)]
    assert len(whole) == 6
    assert all(np.array_equal(a, b) for a, b in zip(whole, again, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(whole[3:], resumed, strict=True))
    assert not np.array_equal(whole[0], whole[3])


def test_zooming_and_mirroring_move_boxes_with_their_pixels() -> None:
    image = np.full((160, 160, 3), 20, np.float32)
    image[40:80, 60:120] = 220
    boxes = np.array([[40, 60, 80, 120]], np.float32) / 160
    for number in range(20):
        moved, found, shown = input_pipeline._augment(image, boxes, np.array([3, number], np.int64), options())
        if not bool(shown[0]):
            continue
        rows, columns = np.nonzero(np.asarray(moved)[:, :, 0] > 170)
        drawn = np.array([rows.min(), columns.min(), rows.max() + 1, columns.max() + 1])
        assert np.abs(np.asarray(found)[0] * 160 - drawn).max() <= 2
