"""What quantization can be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..core.config import at_least


@dataclass(frozen=True)
class QuantizeConfig:
    """How to quantize.

    Args:
        calibration: training images whose activations set the int8 ranges; 100 are usual for LiteRT.
        split: examples on which each variant is scored; None takes the test split, or val where there is no test.
    """

    calibration: int = 100
    split: Literal["train", "val", "test"] | None = None

    def __post_init__(self) -> None:
        at_least("calibration", self.calibration, 1)
