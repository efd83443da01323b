"""Anchors: the reference boxes of a RetinaNet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.boxes import Boxes
from ..errors import ConfigError


@dataclass(frozen=True)
class AnchorSpec:
    """Which anchors lie at every cell of every pyramid level.

    Attributes:
        levels: pyramid levels; level l has a cell every 2**l pixels.
        size: side of the base anchor, in cells. Lin et al. use 4: 32 pixels at level 3.
        scales: factors on the base side at each cell.
        ratios: height / width of the anchors at each cell, at equal area.

    Source: Lin et al. 2017, Focal Loss for Dense Object Detection, section 4, "Anchors".
    """

    levels: tuple[int, ...] = (3, 4, 5, 6, 7)
    size: float = 4.0
    scales: tuple[float, ...] = (1.0, 2 ** (1 / 3), 2 ** (2 / 3))
    ratios: tuple[float, ...] = (0.5, 1.0, 2.0)

    @property
    def per_cell(self) -> int:
        """Number of anchors per cell."""
        return len(self.scales) * len(self.ratios)


def make(spec: AnchorSpec, input_size: int) -> Boxes:
    """Generates all anchors of a square input.

    Args:
        spec: which anchors lie at a cell.
        input_size: side of the model's input in pixels, a multiple of the coarsest level's stride.

    Returns:
        [A, 4] float32, relative to the input square, ordered by level, row, column, scale, ratio.

    Raises:
        ConfigError: the input size is not a multiple of the coarsest stride.
    """
    coarsest = 2 ** max(spec.levels)
    if input_size % coarsest:
        below = max(coarsest, input_size // coarsest * coarsest)
        raise ConfigError(
            f"'input_size' is {input_size}: with pyramid level {max(spec.levels)} it must be a multiple of {coarsest}.",
            f"Use {below} or {below + coarsest}.",
        )
    shapes = np.array(
        [(scale * ratio**0.5, scale / ratio**0.5) for scale in spec.scales for ratio in spec.ratios],
        np.float64,
    )
    grids = []
    for level in spec.levels:
        stride = 2**level
        middle = (np.arange(input_size // stride) + 0.5) * stride
        centres = np.stack(np.meshgrid(middle, middle, indexing="ij"), axis=-1).reshape(-1, 1, 2)
        half = shapes[None] * spec.size * stride / 2
        grids.append(np.concatenate([centres - half, centres + half], axis=-1).reshape(-1, 4))
    return (np.concatenate(grids) / input_size).astype(np.float32)
