"""Predictions as JSON: in TensorFlow Serving's format and in a readable one."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

import numpy as np

from ..core.models.predictor import Prediction
from .errors import APIError

BEST_LABELS = 5


def images(body: bytes, limit: int) -> list[bytes]:
    """Parses a `:predict` request.

    Args:
        body: {"instances": [{"b64": "…"} or {"image_bytes": {"b64": "…"}}, …]}.
        limit: maximum number of instances.

    Returns:
        The encoded images.

    Raises:
        APIError: 400 with what is wrong, and in which instance.
    """
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise APIError(400, f"The body is not JSON: {error}.") from error
    instances = value.get("instances") if isinstance(value, dict) else None
    if not isinstance(instances, list) or not instances:
        raise APIError(400, 'The body must be {"instances": [{"b64": "…"}, …]} with at least one image.')
    if len(instances) > limit:
        raise APIError(400, f"There are {len(instances)} instances: the limit per request is {limit}.")
    return [_image(index, instance) for index, instance in enumerate(instances)]


def tensorflow_serving(prediction: Prediction, classes: tuple[str, ...]) -> dict[str, Any]:
    """Returns one of the "predictions" of `:predict`; detectors use the Object Detection API's keys, and ids from 1."""
    if prediction.detections is None:
        return {"scores": _scores(prediction), "classes": list(classes)}
    found = prediction.detections
    return {
        "detection_boxes": found.boxes.tolist(),
        "detection_scores": found.scores.tolist(),
        "detection_classes": (found.labels + 1).tolist(),
        "detection_class_names": [classes[label] for label in found.labels],
        "num_detections": len(found.labels),
    }


def readable(prediction: Prediction, classes: tuple[str, ...]) -> dict[str, Any]:
    """Returns the image's size and its objects in pixels, or its best labels."""
    size = {"width": prediction.width, "height": prediction.height}
    if prediction.detections is None:
        scores = _scores(prediction)
        best = np.argsort(-np.array(scores), kind="stable")[:BEST_LABELS]
        return {**size, "labels": [{"label": classes[index], "score": scores[index]} for index in best]}
    found = prediction.detections
    sides = np.array([prediction.height, prediction.width] * 2)
    objects = [
        {
            "label": classes[label],
            "score": float(score),
            "box": dict(zip(("y_min", "x_min", "y_max", "x_max"), box.tolist(), strict=True)),
        }
        for label, score, box in zip(found.labels, found.scores, found.boxes * sides, strict=True)
    ]
    return {**size, "objects": objects}


def _scores(prediction: Prediction) -> list[float]:
    if prediction.scores is None:
        raise TypeError("a classifier's prediction has scores")
    values: list[float] = prediction.scores.tolist()
    return values


def _image(index: int, instance: Any) -> bytes:
    if isinstance(instance, dict) and "image_bytes" in instance:
        instance = instance["image_bytes"]
    text = instance.get("b64") if isinstance(instance, dict) else None
    if not isinstance(text, str):
        raise APIError(
            400, f'Instance {index} is not an image: pass {{"b64": "…"}} or {{"image_bytes": {{"b64": "…"}}}}.'
        )
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise APIError(400, f"Instance {index}: its 'b64' is not base64 ({error}).") from error
