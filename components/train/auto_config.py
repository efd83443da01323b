"""Settings derived from the records: the input size and the anchors."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from ..core.data.manifest import Records
from ..core.data.records import Example
from ..core.models.anchors import AnchorSpec

# Number of images sampled: enough for a median and a 10th percentile, and read in about a second.
SAMPLED = 2000
STEP = 32
LARGEST = 320
MIN_LEVEL = 3


def input_size(records: Records) -> int:
    """Returns the median longer side of the training images, as a multiple of 32 between 32 and 320 pixels."""
    longer = [max(example.height, example.width) for example in _sample(records)]
    return int(np.clip(round(float(np.median(longer)) / STEP) * STEP, STEP, LARGEST))


def anchors(records: Records, size: int) -> AnchorSpec:
    """Chooses anchors that cover the small to the large objects of the training split.

    Args:
        records: detection records.
        size: side of the model's input in pixels.

    Returns:
        Pyramid levels from 3 on, as many as the largest 5% of objects need and the input allows; a base side that fits
        the smallest 10% (Lin et al. 2017 use 4 cells, for COCO at 600 pixels).
    """
    sides = [side for example in _sample(records) for side in _sides(example, size)]
    small, large = np.percentile(sides, (10, 95)) if sides else (4.0 * 2**MIN_LEVEL, size / 2)
    base = float(np.round(np.clip(small / 2**MIN_LEVEL, 1.5, 4.0), 2))
    levels = [MIN_LEVEL]
    while levels[-1] < 7 and base * 2 ** levels[-1] * 1.6 < large and size % 2 ** (levels[-1] + 1) == 0:
        levels.append(levels[-1] + 1)
    return AnchorSpec(levels=tuple(levels), size=base)


def _sample(records: Records) -> Iterator[Example]:
    return islice(records.examples("train"), SAMPLED)


def _sides(example: Example, size: int) -> list[float]:
    scale = size / max(example.height, example.width)
    sides = (example.boxes[:, 2:] - example.boxes[:, :2]) * np.array([example.height, example.width]) * scale
    found: list[float] = np.sqrt(sides[:, 0] * sides[:, 1])[example.crowd == 0].tolist()
    return found
