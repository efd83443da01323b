"""The report: one self-contained HTML page, since the Kubeflow UI shows it in a sandboxed frame."""

from __future__ import annotations

import base64
import io
from typing import Any

import jinja2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ..core.data import images
from ..core.data.manifest import Manifest
from ..core.data.records import Example
from ..core.models.bundle import ModelCard
from ..core.models.predictor import Prediction
from ..core.scoring.metrics import Scores, headline

# Longer side of the shown images, pixels: large enough to see a box, small enough for a page of some hundred KB.
SHOWN_SIDE = 320
TRUTH, RIGHT, WRONG = "#12b76a", "#2e90fa", "#f04438"

LABELS = {
    "map": "AP at IoU 0.50 to 0.95",
    "map50": "AP at IoU 0.50",
    "map75": "AP at IoU 0.75",
    "map_small": "AP, small objects",
    "map_medium": "AP, medium objects",
    "map_large": "AP, large objects",
    "mar1": "recall, 1 object per image",
    "mar10": "recall, 10 objects per image",
    "mar100": "recall, 100 objects per image",
    "mar_small": "recall, small objects",
    "mar_medium": "recall, medium objects",
    "mar_large": "recall, large objects",
    "accuracy": "accuracy (top 1)",
    "top5": "top-5 accuracy",
}


def page(
    card: ModelCard,
    data: Manifest,
    split: str,
    scores: Scores,
    worst: list[tuple[float, Example, Prediction]],
    show_score: float,
) -> str:
    """Renders the report.

    Args:
        card: of the model.
        data: manifest of the records.
        split: the split that was scored.
        scores: of that split.
        worst: the images to show, with their error scores, the largest errors first.
        show_score: objects below it are not drawn.

    Returns:
        The HTML page.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__, ""), autoescape=True, undefined=jinja2.StrictUndefined
    )
    main = headline(scores.metrics)
    bar_of = "ap50" if card.task == "detection" else "recall"
    rows = sorted(scores.per_class.items(), key=lambda item: item[1][bar_of])
    return environment.get_template("report.html.j2").render(
        card=card,
        data=data,
        split=split,
        examples=data.splits[split].examples,
        main=(LABELS[main], scores.metrics.get(main, 0.0)),
        metrics=[(name, LABELS[name], value) for name, value in scores.metrics.items()],
        columns=list(rows[0][1]) if rows else [],
        rows=rows,
        bar_of=bar_of,
        confusion=_confusion(scores),
        images=[_shown(card, *item, show_score) for item in worst],
        show_score=show_score,
        colours={"truth": TRUTH, "right": RIGHT, "wrong": WRONG},
    )


def _confusion(scores: Scores) -> list[list[dict[str, Any]]]:
    """Returns rows of cells with a count and its share of the row, 0..1."""
    if scores.confusion is None:
        return []
    shares = scores.confusion / np.maximum(scores.confusion.sum(axis=1, keepdims=True), 1)
    return [
        [{"count": int(count), "share": float(share)} for count, share in zip(row, share_row, strict=True)]
        for row, share_row in zip(scores.confusion, shares, strict=True)
    ]


def _shown(
    card: ModelCard, error: float, example: Example, prediction: Prediction, show_score: float
) -> dict[str, Any]:
    pixels, _ = images.decode(example.image, SHOWN_SIDE)
    image = Image.fromarray(pixels)
    scale = SHOWN_SIDE / max(image.size)
    image = image.resize((max(1, round(image.width * scale)), max(1, round(image.height * scale))))
    if prediction.detections is not None:
        caption = _draw(image, card, example, prediction, show_score)
        right = error == 0
    else:
        caption, right = _top_class(card, example, prediction)
    encoded = io.BytesIO()
    image.save(encoded, "JPEG", quality=85)
    data = base64.b64encode(encoded.getvalue()).decode()
    return {"source": example.source, "data": data, "caption": caption, "right": right}


def _draw(image: Image.Image, card: ModelCard, example: Example, prediction: Prediction, show_score: float) -> str:
    if prediction.detections is None:
        return ""
    pen = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=12)
    found = prediction.detections
    for box in example.boxes:
        pen.rectangle(_corners(box, image), outline=TRUTH, width=3)
    shown = found.scores >= show_score
    for box, label, score in zip(found.boxes[shown], found.labels[shown], found.scores[shown], strict=True):
        corners = _corners(box, image)
        pen.rectangle(corners, outline=RIGHT, width=2)
        text = f"{card.classes[label]} {score:.2f}"
        place = (corners[0], max(0.0, corners[1] - 13))
        pen.rectangle(pen.textbbox(place, text, font=font), fill=RIGHT)
        pen.text(place, text, fill="white", font=font)
    return f"{len(example.boxes)} labelled, {int(shown.sum())} found"


def _top_class(card: ModelCard, example: Example, prediction: Prediction) -> tuple[str, bool]:
    if prediction.scores is None or example.label is None:
        return "", False
    best = int(np.argmax(prediction.scores))
    caption = f"{card.classes[best]} {prediction.scores[best]:.2f}"
    if best == example.label:
        return caption, True
    return f"{caption}, true class: {card.classes[example.label]}", False


def _corners(box: Any, image: Image.Image) -> tuple[float, float, float, float]:
    y_min, x_min, y_max, x_max = (float(side) for side in box)
    return x_min * image.width, y_min * image.height, x_max * image.width, y_max * image.height
