"""Evaluation: scores a bundle on images that it was not trained on, and writes a report."""

from __future__ import annotations

import heapq
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..core import files
from ..core.data import boxes as box_math
from ..core.data import manifest
from ..core.data.records import Example
from ..core.errors import RecordsError
from ..core.models import bundle
from ..core.models.engines import SAVED_MODEL
from ..core.models.predictor import Prediction, Predictor
from ..core.scoring.metrics import Scores
from ..core.scoring.score import score
from . import report
from .config import EvaluateConfig

PREDICTIONS = "predictions.jsonl"
REPORT = "report.html"


@dataclass(frozen=True)
class Evaluation:
    """The result of an evaluation.

    Attributes:
        scores: metrics, per class, confusion.
        split: the split that was scored.
        classes: class names.
    """

    scores: Scores
    split: str
    classes: tuple[str, ...]


def evaluate(records: Path, model: Path, out: Path, config: EvaluateConfig) -> Evaluation:
    """Scores a bundle on a split of records.

    Args:
        records: folder of the records.
        model: folder of the bundle.
        out: a folder with report.html and predictions.jsonl (one line per image); it appears when all is done.
        config: see EvaluateConfig.

    Returns:
        The scores, and the split that they are for.

    Raises:
        RecordsError: records that are damaged, have no such split, or whose classes are not the model's.
        BundleError: a bundle that does not load.
    """
    data, loaded = manifest.read(records), bundle.read(model)
    card = loaded.card
    if data.manifest.classes != card.classes or data.manifest.task != card.task:
        raise RecordsError(
            f"The records' classes ({data.manifest.task}: {', '.join(data.manifest.classes)}) are not the model's "
            f"({card.task}: {', '.join(card.classes)}).",
            "Evaluate on records of the data set that the model was trained for.",
        )
    split = data.manifest.split(*([config.split] if config.split else ("test", "val")))
    predictor = Predictor(loaded, config.variant or SAVED_MODEL)
    work = files.partial(out)
    work.mkdir(parents=True, exist_ok=True)
    worst = _Worst(config.images, config.show_score)
    with files.translate_os_errors(work), (work / PREDICTIONS).open("w") as lines:

        def seen(example: Example, prediction: Prediction) -> None:
            lines.write(json.dumps(as_json(example, prediction, card.classes)) + "\n")
            worst.add(example, prediction)

        scores = score(predictor, data, split, "evaluating", seen)
    page = report.page(card, data.manifest, split, scores, worst.worst_first(), config.show_score)
    files.write_text(work / REPORT, page)
    files.publish(work, out)
    return Evaluation(scores, split, card.classes)


def as_json(example: Example, prediction: Prediction, classes: tuple[str, ...]) -> dict[str, Any]:
    """Returns a line of predictions.jsonl; boxes are (y_min, x_min, y_max, x_max), relative to the image."""
    line: dict[str, Any] = {"source": example.source, "height": prediction.height, "width": prediction.width}
    if prediction.detections is not None:
        found = prediction.detections
        line["boxes"] = found.boxes.tolist()
        line["scores"] = found.scores.tolist()
        line["labels"] = [classes[label] for label in found.labels]
    elif prediction.scores is not None:
        line["label"] = classes[example.label] if example.label is not None else None
        line["scores"] = prediction.scores.tolist()
    return line


class _Worst:
    """Keeps the predictions with the largest errors, in bounded memory."""

    def __init__(self, limit: int, show_score: float) -> None:
        self._limit, self._show_score = limit, show_score
        self._heap: list[tuple[float, int, Example, Prediction]] = []
        self._count = 0

    def add(self, example: Example, prediction: Prediction) -> None:
        self._count += 1
        item = (error_score(example, prediction, self._show_score), -self._count, example, prediction)
        if len(self._heap) < self._limit:
            heapq.heappush(self._heap, item)
        elif self._limit:
            heapq.heappushpop(self._heap, item)

    def worst_first(self) -> list[tuple[float, Example, Prediction]]:
        """Returns (error score, example, prediction), the largest errors first."""
        ordered = sorted(self._heap, key=lambda item: item[:2], reverse=True)
        return [(error, example, prediction) for error, _, example, prediction in ordered]


def error_score(example: Example, prediction: Prediction, show_score: float) -> float:
    """Measures how wrong a prediction is: missed objects plus false detections, or 1 - the score of the true class."""
    if prediction.detections is None:
        if prediction.scores is None or example.label is None:
            return 0.0
        return float(1 - prediction.scores[example.label])
    found = prediction.detections
    shown = found.scores >= show_score
    overlap = box_math.pairwise_iou(example.boxes, found.boxes[shown])
    agree = (overlap >= 0.5) & (example.labels[:, None] == found.labels[shown][None])
    real = example.crowd == 0
    missed = int(np.sum(~agree[real].any(axis=1))) if len(real) else 0
    return float(missed + np.sum(~agree.any(axis=0)))
