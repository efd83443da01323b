"""The metrics against published numbers and pycocotools."""

from __future__ import annotations

import contextlib
import io
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from towpath.components.core.data.records import Example
from towpath.components.core.models.detection import Detections
from towpath.components.core.scoring.metrics import COCO_METRICS, ClassificationScorer, DetectionScorer

THEIR_NAMES = (
    "AP",
    "AP50",
    "AP75",
    "APsmall",
    "APmedium",
    "APlarge",
    "AR1",
    "AR10",
    "AR100",
    "ARsmall",
    "ARmedium",
    "ARlarge",
)


def relative(boxes: list[list[float]], height: int, width: int) -> np.ndarray:
    """COCO's pixels (x, y, width, height) -> relative (y_min, x_min, y_max, x_max)."""
    x, y, w, h = np.array(boxes, np.float64).reshape(-1, 4).T
    return (np.stack([y, x, y + h, x + w], axis=-1) / [height, width, height, width]).astype(np.float32)


def scorer_of(truth: dict, found: list[dict]) -> DetectionScorer:  # type: ignore[type-arg]
    """What our scorer makes of COCO's own files."""
    labels = {category["id"]: index for index, category in enumerate(truth["categories"])}
    scorer = DetectionScorer(tuple(category["name"] for category in truth["categories"]))
    annotations, detections = defaultdict(list), defaultdict(list)
    for one in truth["annotations"]:
        annotations[one["image_id"]].append(one)
    for one in found:
        detections[one["image_id"]].append(one)
    # By id, as pycocotools goes through them: the order decides between equal scores.
    for image in sorted(truth["images"], key=lambda image: image["id"]):
        of_image, shape = annotations[image["id"]], (image["height"], image["width"])
        example = Example(
            b"",
            *shape,
            source=str(image["id"]),
            boxes=relative([one["bbox"] for one in of_image], *shape),
            labels=np.array([labels[one["category_id"]] for one in of_image], np.int64),
            crowd=np.array([one.get("iscrowd", 0) for one in of_image], np.int64),
            area=np.array([one["area"] for one in of_image], np.float32),
        )
        of_image = detections[image["id"]]
        objects = Detections(
            relative([one["bbox"] for one in of_image], *shape),
            np.array([one["score"] for one in of_image], np.float32),
            np.array([labels[one["category_id"]] for one in of_image], np.int64),
        )
        scorer.add(example, objects)
    return scorer


def test_cocos_12_numbers_are_the_published_ones(shared_data: Path) -> None:
    folder = shared_data / "metric_golden/coco_val2014_100"
    truth, found, expected = (
        json.loads((folder / name).read_text()) for name in ("gt.json", "detections.json", "expected.json")
    )
    metrics = scorer_of(truth, found).scores().metrics
    for ours, theirs in zip(COCO_METRICS, THEIR_NAMES, strict=True):
        assert metrics[ours] == pytest.approx(expected[theirs], abs=1e-6), ours


@pytest.mark.parametrize("seed", range(5))
def test_random_images_score_as_pycocotools_scores_them(seed: int) -> None:
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    rng = np.random.default_rng(seed)
    truth: dict = {"images": [], "annotations": [], "categories": [{"id": i, "name": f"c{i}"} for i in (1, 5, 9)]}  # type: ignore[type-arg]
    found = []
    for image in range(1, 9):
        truth["images"].append({"id": image, "height": 256, "width": 512})
        for _ in range(rng.integers(0, 6)):
            x, y, w, h = (*rng.integers(0, 128, 2), *rng.integers(8, 120, 2))
            box, category = [float(x), float(y), float(w), float(h)], int(rng.choice([1, 5, 9]))
            number = len(truth["annotations"]) + 1
            common = {"image_id": image, "category_id": category}
            crowd = int(rng.random() < 0.1)
            truth["annotations"].append({"id": number, "bbox": box, "area": w * h * 0.75, "iscrowd": crowd, **common})
            moved = [box[0] + float(rng.integers(-8, 8)), box[1], box[2], box[3] + float(rng.integers(0, 16))]
            found.append({"bbox": moved, "score": float(np.float32(rng.random())), **common})
    with contextlib.redirect_stdout(io.StringIO()):
        reference = COCO()
        reference.dataset = json.loads(json.dumps(truth, default=float))
        reference.createIndex()
        evaluation = COCOeval(reference, reference.loadRes(json.loads(json.dumps(found, default=float))), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    ours = scorer_of(truth, found).scores().metrics
    for name, value in zip(COCO_METRICS, evaluation.stats, strict=True):
        if value < 0:
            assert name not in ours
        else:
            assert ours[name] == pytest.approx(value, abs=1e-6), name


def test_a_detector_that_finds_nothing_scores_nothing() -> None:
    scorer = DetectionScorer(("a", "b"))
    box, one = np.array([[0.1, 0.1, 0.6, 0.6]], np.float32), np.zeros(1, np.int64)
    nothing = Detections(np.zeros((0, 4), np.float32), np.zeros(0, np.float32), np.zeros(0, np.int64))
    scorer.add(Example(b"", 100, 100, "x", boxes=box, labels=one, crowd=one), nothing)
    scores = scorer.scores()
    assert scores.metrics["map50"] == 0
    assert set(scores.per_class) == {"a"}


def test_accuracy_and_confusion_are_counted() -> None:
    scorer = ClassificationScorer(("a", "b", "c"))
    for label, scores in ((0, (0.6, 0.3, 0.1)), (0, (0.2, 0.7, 0.1)), (2, (0.1, 0.2, 0.7)), (1, (0.1, 0.8, 0.1))):
        scorer.add(label, np.array(scores, np.float32))
    found = scorer.scores()
    assert found.metrics == {"accuracy": 0.75}
    assert found.confusion is not None
    assert found.confusion.tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert found.per_class["b"] == {"precision": 0.5, "recall": 1.0, "images": 1.0}
