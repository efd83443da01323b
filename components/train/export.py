"""Exports a trained model as a bundle's SavedModel, in TensorFlow Serving's layout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from ..core.data.boxes import BOX_VARIANCE, MAX_SIZE_DELTA
from ..core.errors import BundleError
from ..core.models import anchors as anchor_math
from ..core.models.bundle import SAVED_MODEL, ModelCard
from ..core.models.engines import INPUT, RAW


def saved_model(model: Any, card: ModelCard, folder: Path) -> None:
    """Writes the SavedModel with two signatures.

    `raw` returns what Towpath's own engines post-process ("scores", and "box_deltas" of a detector). `serving_default`
    returns the final predictions, for TensorFlow Serving and others: "detection_boxes" (relative to the input),
    "detection_scores", "detection_classes" (from 1) and "num_detections", or the classes' "scores".

    Args:
        model: a detector or a classifier of `models`.
        card: of the bundle.
        folder: of the bundle.
    """
    side = card.vision.input_size
    spec = tf.TensorSpec([None, side, side, 3], tf.float32, name=INPUT)
    module = tf.Module()
    module.model = model
    raw = tf.function(lambda image: _raw(model, image), input_signature=[spec]).get_concrete_function()
    answer = raw
    if card.task == "detection":
        answer = tf.function(lambda image: _detect(model, image, card), input_signature=[spec]).get_concrete_function()
    signatures = {RAW: raw, "serving_default": answer}
    tf.saved_model.save(module, str(folder / SAVED_MODEL), signatures=signatures)


def _raw(model: Any, image: Any) -> dict[str, Any]:
    outputs = model(image, training=False)
    if isinstance(outputs, dict):
        return {"scores": tf.sigmoid(outputs["logits"]), "box_deltas": tf.identity(outputs["box_deltas"])}
    return {"scores": tf.nn.softmax(outputs)}


def _detect(model: Any, image: Any, card: ModelCard) -> dict[str, Any]:
    """Does the same as `core.models.detection`, in the graph."""
    if card.vision.anchors is None or card.vision.post is None:
        raise BundleError(f"The detector {card.name} has no anchors or no post-processing.")
    outputs = _raw(model, image)
    anchors = anchor_math.make(card.vision.anchors, card.vision.input_size)
    anchor_side = anchors[:, 2:] - anchors[:, :2]
    box_deltas = outputs["box_deltas"] * np.asarray(BOX_VARIANCE)
    centre = box_deltas[..., :2] * anchor_side + (anchors[:, :2] + anchor_side / 2)
    side = tf.exp(tf.minimum(box_deltas[..., 2:], MAX_SIZE_DELTA)) * anchor_side
    boxes = tf.concat([centre - side / 2, centre + side / 2], axis=-1)
    found = tf.image.combined_non_max_suppression(
        boxes[:, :, None],
        outputs["scores"],
        max_output_size_per_class=card.vision.post.max_detections,
        max_total_size=card.vision.post.max_detections,
        iou_threshold=card.vision.post.iou_threshold,
        score_threshold=card.vision.post.score_threshold,
        clip_boxes=True,
    )
    return {
        "detection_boxes": found.nmsed_boxes,
        "detection_scores": found.nmsed_scores,
        "detection_classes": found.nmsed_classes + 1,
        "num_detections": found.valid_detections,
    }
