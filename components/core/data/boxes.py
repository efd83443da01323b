"""Boxes as arrays: [N, 4], (y_min, x_min, y_max, x_max).

Relative boxes lie in [0, 1] of their image's height and width. A name ending in `_px` means pixels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import ShapeError

Boxes = npt.NDArray[np.float32]

# Box deltas are divided by this before the model learns them, so that all four have about unit variance.
# Source: Ren et al. 2015, Faster R-CNN, and its published code.
BOX_VARIANCE = np.array([0.1, 0.1, 0.2, 0.2], np.float32)
# A larger log size delta would give a box over 60 times its anchor: a diverged model, not a box.
MAX_SIZE_DELTA = float(np.log(1000.0 / 16))


def areas(boxes: Boxes) -> npt.NDArray[np.float32]:
    """Computes the area of each box.

    Args:
        boxes: [N, 4].

    Returns:
        [N] float32, 0 where a box has no area.
    """
    sides = np.maximum(boxes[:, 2:] - boxes[:, :2], 0)
    result: npt.NDArray[np.float32] = sides[:, 0] * sides[:, 1]
    return result


def pairwise_iou(a: Boxes, b: Boxes) -> npt.NDArray[np.float32]:
    """Computes the overlap (IoU) of every box in `a` with every box in `b`.

    Args:
        a: [N, 4] float32, (y_min, x_min, y_max, x_max), pixels or relative.
        b: [M, 4] float32, same convention.

    Returns:
        [N, M] float32 in [0, 1]; 0 where either box has no area.

    Raises:
        ShapeError: when the last axis is not 4.

    Source: Everingham et al. 2010, section 4.2.
    """
    for boxes in (a, b):
        if boxes.ndim != 2 or boxes.shape[1] != 4:
            raise ShapeError(f"Boxes have shape {boxes.shape}: it must be [N, 4].")
    top_left = np.maximum(a[:, None, :2], b[None, :, :2])
    bottom_right = np.minimum(a[:, None, 2:], b[None, :, 2:])
    sides = np.maximum(bottom_right - top_left, 0)
    shared = sides[..., 0] * sides[..., 1]
    union = areas(a)[:, None] + areas(b)[None, :] - shared
    result: npt.NDArray[np.float32] = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
    return result


def encode(boxes: Boxes, anchors: Boxes) -> npt.NDArray[np.float32]:
    """Computes the deltas that turn each anchor into its box.

    Args:
        boxes: [N, 4] in the anchors' unit, each with area.
        anchors: [N, 4].

    Returns:
        [N, 4] float32: centre deltas (y, x) in anchor sides, log size ratios (height, width), over BOX_VARIANCE.

    Source: Ren et al. 2015, section 3.1.2, equation 2.
    """
    centre, side = _centres(boxes)
    anchor_centre, anchor_side = _centres(anchors)
    box_deltas = np.concatenate([(centre - anchor_centre) / anchor_side, np.log(side / anchor_side)], axis=-1)
    result: npt.NDArray[np.float32] = (box_deltas / BOX_VARIANCE).astype(np.float32)
    return result


def decode(box_deltas: npt.NDArray[np.float32], anchors: Boxes) -> Boxes:
    """Inverts `encode`.

    Args:
        box_deltas: [..., N, 4] float32.
        anchors: [N, 4].

    Returns:
        Boxes [..., N, 4] in the anchors' unit.
    """
    box_deltas = box_deltas * BOX_VARIANCE
    anchor_centre, anchor_side = _centres(anchors)
    centre = box_deltas[..., :2] * anchor_side + anchor_centre
    side = np.exp(np.minimum(box_deltas[..., 2:], MAX_SIZE_DELTA)) * anchor_side
    result: Boxes = np.concatenate([centre - side / 2, centre + side / 2], axis=-1)
    return result


def _centres(boxes: Boxes) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    side = (boxes[..., 2:] - boxes[..., :2]).astype(np.float32, copy=False)
    return boxes[..., :2] + side * np.float32(0.5), side
