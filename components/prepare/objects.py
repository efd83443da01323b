"""Converts annotated boxes in pixels to boxes relative to the stored image; unusable ones are treated as configured."""

from __future__ import annotations

import numpy as np

from ..core.data.records import Example
from .images import Stored
from .source import Item, Object, Problems

# Annotation tools round, and some count from 1: a box that exceeds the edge by no more than this is clipped silently.
SLIGHT_PX = 2.0
SLIGHT_SHARE = 0.05  # of the image's side

_Box = tuple[float, float, float, float]


def to_example(item: Item, stored: Stored, problems: Problems) -> Example | None:
    """Joins an image with its labels.

    Boxes are annotated on the image as the tool showed it. Current tools show an image upright, following its
    EXIF orientation; older ones show it as stored. The size in the annotation tells which: if it is that of the
    unrotated image, the boxes are rotated with the image.

    Returns:
        The example; None if the annotation belongs to another image, and such images are skipped.

    Raises:
        DataError: a box or image that cannot be used, if the config says "fail".
    """
    size = (stored.height, stored.width)
    turned = stored.orientation >= 5 and item.declared == size[::-1] and item.declared != size
    if item.declared not in (None, size) and not turned:
        problems.image(
            item.file,
            f"its annotation is for {item.declared[1]}×{item.declared[0]} pixels, "
            f"but the image has {stored.width}×{stored.height}.",
        )
        return None
    boxes, labels, crowd, areas = [], [], [], []
    for index, thing in enumerate(item.objects):
        box_px = _turned(thing.box_px, stored) if turned else thing.box_px
        box, reason = _inside(box_px, stored, clip=problems.config.on_bad_box == "clip")
        if box is None:
            problems.box(item.file, f"box {index} {_text(thing)} {reason}.")
            continue
        boxes.append(box)
        labels.append(thing.label)
        crowd.append(thing.crowd)
        box_area = (box[2] - box[0]) * stored.height * (box[3] - box[1]) * stored.width
        areas.append(box_area if thing.area is None else min(thing.area, box_area))
    with_area = any(thing.area is not None for thing in item.objects)
    return Example(
        image=stored.image,
        height=stored.height,
        width=stored.width,
        source=item.file,
        label=item.label,
        boxes=np.array(boxes, np.float32).reshape(-1, 4),
        labels=np.array(labels, np.int64),
        crowd=np.array(crowd, np.int64),
        area=np.array(areas if with_area else [], np.float32),
        source_id=item.source_id,
    )


def _inside(box_px: _Box, stored: Stored, clip: bool) -> tuple[_Box | None, str]:
    """Returns the box relative to its image and inside it, or None and the reason."""
    sides = np.array([stored.height, stored.width] * 2, np.float64)
    box = np.array(box_px, np.float64)
    if not np.isfinite(box).all():
        return None, "contains NaN or infinity"
    if (box[2:] <= box[:2]).any():
        return None, "has no area"
    over = np.maximum(-box, box - sides)
    if (over > np.maximum(SLIGHT_PX, SLIGHT_SHARE * sides)).any() and not clip:
        return None, f"extends beyond its image of {stored.width}×{stored.height} pixels"
    relative = np.clip(box / sides, 0, 1).astype(np.float32)
    if (relative[2:] <= relative[:2]).any():
        return None, f"lies outside its image of {stored.width}×{stored.height} pixels"
    y_min, x_min, y_max, x_max = relative.tolist()
    return (y_min, x_min, y_max, x_max), ""


def _turned(box_px: _Box, stored: Stored) -> _Box:
    """Maps a box on the image as stored in its file to the upright image; orientations 5 to 8 swap the axes."""
    y_min, x_min, y_max, x_max = box_px
    y_min, x_min, y_max, x_max = x_min, y_min, x_max, y_max
    if stored.orientation in (6, 7):  # left becomes right
        x_min, x_max = stored.width - x_max, stored.width - x_min
    if stored.orientation in (7, 8):  # top becomes bottom
        y_min, y_max = stored.height - y_max, stored.height - y_min
    return y_min, x_min, y_max, x_max


def _text(thing: Object) -> str:
    y_min, x_min, y_max, x_max = thing.box_px
    return f"(x {x_min:g} to {x_max:g}, y {y_min:g} to {y_max:g})"
