"""Evaluation metrics: COCO's for detectors, accuracy and confusion for classifiers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.records import Example
from ..errors import MissingError
from ..models.detection import Detections

# COCO's 12 metrics in the order of pycocotools. Source: cocodataset.org, "Detection Evaluation".
COCO_METRICS = (
    "map",
    "map50",
    "map75",
    "map_small",
    "map_medium",
    "map_large",
    "mar1",
    "mar10",
    "mar100",
    "mar_small",
    "mar_medium",
    "mar_large",
)
AP50 = 0  # index of IoU 0.5 among COCO's ten thresholds
ALL_AREAS, MAX_100 = 0, 2


@dataclass(frozen=True)
class Scores:
    """The results of an evaluation.

    Attributes:
        metrics: the overall metrics, each in 0..1; an undefined one (no small objects) is left out.
        per_class: class -> its metrics.
        confusion: [C, C], rows are ground truth; None for detectors.
    """

    metrics: dict[str, float]
    per_class: dict[str, dict[str, float]]
    confusion: npt.NDArray[np.int64] | None = None


class DetectionScorer:
    """Collects detections and computes COCO's 12 metrics.

    Crowds and areas are treated as in COCO. No images are kept, only what the metrics need.

    Args:
        classes: class names.
    """

    def __init__(self, classes: tuple[str, ...]) -> None:
        self._classes = classes
        self._images: list[dict[str, Any]] = []
        self._truth: list[dict[str, Any]] = []
        self._found: list[dict[str, Any]] = []

    def add(self, example: Example, detections: Detections) -> None:
        """Adds one image: its ground truth and its detections, both relative to it."""
        image = len(self._images) + 1
        self._images.append({"id": image, "height": example.height, "width": example.width})
        truth = _coco_boxes(example.boxes, example)
        areas = example.area if len(example.area) else truth[:, 2] * truth[:, 3]
        for box, label, crowd, area in zip(truth, example.labels, example.crowd, areas, strict=True):
            self._truth.append(
                {
                    "id": len(self._truth) + 1,
                    "image_id": image,
                    "category_id": int(label) + 1,
                    "bbox": box.tolist(),
                    "area": float(area),
                    "iscrowd": int(crowd),
                }
            )
        for box, label, score in zip(
            _coco_boxes(detections.boxes, example), detections.labels, detections.scores, strict=True
        ):
            self._found.append(
                {"image_id": image, "category_id": int(label) + 1, "bbox": box.tolist(), "score": float(score)}
            )

    def scores(self) -> Scores:
        """Computes COCO's 12 metrics over all images, and the AP of each class (`ap`, `ap50`, `objects`).

        Raises:
            MissingError: faster-coco-eval is not installed.
        """
        try:
            from faster_coco_eval import COCO, COCOeval_faster
        except ImportError as error:
            raise MissingError("faster-coco-eval is not installed.", "Install towpath[train].") from error
        categories = [{"id": index + 1, "name": name} for index, name in enumerate(self._classes)]
        truth = COCO({"images": self._images, "annotations": self._truth, "categories": categories})
        evaluation = COCOeval_faster(truth, truth.loadRes(self._found), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
        numbers = zip(COCO_METRICS, evaluation.stats[: len(COCO_METRICS)], strict=True)
        return Scores({name: float(value) for name, value in numbers if value >= 0}, self._per_class(evaluation))

    def _per_class(self, evaluation: Any) -> dict[str, dict[str, float]]:
        precision = evaluation.eval["precision"][:, :, :, ALL_AREAS, MAX_100]
        counts = np.bincount([one["category_id"] - 1 for one in self._truth], minlength=len(self._classes))
        result = {}
        for index, name in enumerate(self._classes):
            of_class = precision[:, :, index]
            if counts[index] and (of_class > -1).any():
                ap, ap50 = float(of_class.mean()), float(of_class[AP50].mean())
                result[name] = {"ap": ap, "ap50": ap50, "objects": float(counts[index])}
        return result


class ClassificationScorer:
    """Collects class scores and computes accuracy and confusion.

    Args:
        classes: class names.
    """

    def __init__(self, classes: tuple[str, ...]) -> None:
        self._classes = classes
        self._confusion = np.zeros((len(classes), len(classes)), np.int64)
        self._top5 = 0

    def add(self, label: int, scores: npt.NDArray[np.float32]) -> None:
        """Adds one image: the index of its true class, and its scores [C]."""
        best = np.argsort(-scores, kind="stable")[:5]
        self._confusion[label, best[0]] += 1
        self._top5 += int(label in best)

    def scores(self) -> Scores:
        """Computes `accuracy` and, for more than five classes, `top5`; precision, recall and image count per class."""
        total = int(self._confusion.sum())
        correct = np.diag(self._confusion)
        metrics = {"accuracy": float(correct.sum() / max(total, 1))}
        if len(self._classes) > 5:
            metrics["top5"] = self._top5 / max(total, 1)
        per_class = {}
        for index, name in enumerate(self._classes):
            true, predicted = int(self._confusion[index].sum()), int(self._confusion[:, index].sum())
            per_class[name] = {
                "precision": float(correct[index] / max(predicted, 1)),
                "recall": float(correct[index] / max(true, 1)),
                "images": float(true),
            }
        return Scores(metrics, per_class, self._confusion)


def headline(metrics: Iterable[str]) -> str:
    """Returns the main metric: "map50" of a detector, "accuracy" of a classifier."""
    return "map50" if "map50" in metrics else "accuracy"


def _coco_boxes(boxes: npt.NDArray[np.float32], example: Example) -> npt.NDArray[np.float64]:
    """Converts relative (y_min, x_min, y_max, x_max) to COCO's pixels (x, y, width, height).

    Rounded to a hundredth of a pixel, like COCO: otherwise float32 rounding errors would decide where an overlap lies
    exactly on a threshold, which is common for boxes drawn by hand.
    """
    y_min, x_min, y_max, x_max = (boxes.astype(np.float64) * ([example.height, example.width] * 2)).T
    return np.round(np.stack([x_min, y_min, x_max - x_min, y_max - y_min], axis=-1), 2)
