"""Post-processing of a detector's raw output in NumPy, shared by evaluation and serving."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..data import boxes as box_math
from ..data.boxes import Boxes


@dataclass(frozen=True)
class PostProcess:
    """How a detector's raw output becomes objects.

    Attributes:
        score_threshold: objects below it are dropped before suppression.
        iou_threshold: of two boxes of one class that overlap more, the one with the lower score is dropped.
        max_detections: objects kept per image.
        candidates: number of best anchors per image that are considered.
    """

    score_threshold: float = 0.05
    iou_threshold: float = 0.5
    max_detections: int = 100
    candidates: int = 1000


@dataclass(frozen=True)
class Detections:
    """Objects found in one image, best first.

    Attributes:
        boxes: [N, 4] float32, (y_min, x_min, y_max, x_max), relative to the image (from `postprocess`: to the input).
        scores: [N] float32 in 0..1.
        labels: [N] int64, index into the classes.
    """

    boxes: Boxes
    scores: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]


def postprocess(
    scores: npt.NDArray[np.float32], box_deltas: npt.NDArray[np.float32], anchors: Boxes, post: PostProcess
) -> Detections:
    """Decodes the best anchors of one image and applies non-maximum suppression within each class.

    Args:
        scores: [A, C] float32, the probability of each class at each anchor.
        box_deltas: [A, 4] float32, see `boxes.encode`.
        anchors: [A, 4], relative to the input.
        post: thresholds.

    Returns:
        Objects with boxes relative to the model's input.

    Source: Lin et al. 2017, section 4, "Inference" (top 1,000, decode, NMS at 0.5).
    """
    anchor, label = np.nonzero(scores >= post.score_threshold)
    score = scores[anchor, label]
    # A stable sort: equal scores keep the anchors' order, so every engine and machine gives the same answer.
    order = np.argsort(-score, kind="stable")[: post.candidates]
    anchor, label, score = anchor[order], label[order], score[order]
    found = box_math.decode(box_deltas[anchor], anchors[anchor])
    keep = non_max_suppression(found, label, post.iou_threshold, post.max_detections)
    return Detections(found[keep].astype(np.float32), score[keep], label[keep].astype(np.int64))


def non_max_suppression(
    boxes: Boxes, labels: npt.NDArray[np.int64], iou_threshold: float, limit: int
) -> npt.NDArray[np.intp]:
    """Applies greedy non-maximum suppression within each class.

    Args:
        boxes: [N, 4], best first.
        labels: [N]; boxes of different labels never suppress each other.
        iou_threshold: a box is dropped when it overlaps a kept one of its class by more.
        limit: maximum number of kept boxes.

    Returns:
        Indices of the kept boxes, best first.
    """
    keep: list[int] = []
    alive = np.ones(len(boxes), bool)
    for index in range(len(boxes)):
        if not alive[index]:
            continue
        keep.append(index)
        if len(keep) == limit:
            break
        rest = np.flatnonzero(alive[index + 1 :] & (labels[index + 1 :] == labels[index])) + index + 1
        if len(rest):
            overlap = box_math.pairwise_iou(boxes[index : index + 1], boxes[rest])[0]
            alive[rest[overlap > iou_threshold]] = False
    return np.array(keep, np.intp)
