"""Settings of the quantize step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..core.config import at_least


@dataclass(frozen=True)
class QuantizeConfig:
    """Settings of the quantize step.

    Attributes:
        calibration: number of training images whose activations set the int8 ranges; 100 is usual for LiteRT.
        split: the split on which each variant is scored; None takes test, or val if there is no test.
    """

    calibration: int = 100
    split: Literal["train", "val", "test"] | None = None

    def __post_init__(self) -> None:
        at_least("calibration", self.calibration, 1)
