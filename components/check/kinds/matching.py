"""How much of one answer is in another: the figures of the prediction and regression checks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.data.boxes import Boxes, pairwise_iou
from ...core.models.bundle import Sample
from ..client import Answer

MIN_IOU = 0.5  # the overlap at which COCO and Pascal VOC call a box found


def matches(boxes: Boxes, names: Sequence[str], other: Boxes, other_names: Sequence[str]) -> int:
    """Boxes of one set that a box of the other, of the same class, overlaps by MIN_IOU or more; each is used once.

    Args:
        boxes: [N, 4]; other: [M, 4], the same unit.
        names, other_names: class of each box.
    """
    overlap = pairwise_iou(boxes, other)
    same = np.array([[a == b for b in other_names] for a in names], bool).reshape(overlap.shape)
    overlap = np.where(same, overlap, 0)
    count = 0
    # Greedy, closest first: with boxes that overlap by half, the best pairing hardly ever differs.
    while overlap.size and overlap.max() >= MIN_IOU:
        row, column = np.unravel_index(int(overlap.argmax()), overlap.shape)
        overlap[row, :] = 0
        overlap[:, column] = 0
        count += 1
    return count


def right_answers(answer: Answer, sample: Sample, classes: Sequence[str]) -> tuple[int, int]:
    """How many of an answer's objects or labels are right, and how many there are to give."""
    names = [classes[label] for label in sample.labels]
    if answer.detections is None:
        return int(answer.names[0] in names), 1
    return matches(sample.box_array, names, answer.detections.boxes, answer.names), len(names)
