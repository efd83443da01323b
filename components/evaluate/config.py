"""Settings of the evaluate step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..core.config import at_least


@dataclass(frozen=True)
class EvaluateConfig:
    """Settings of the evaluate step.

    Attributes:
        split: which split to score on; None takes test, or val if there is no test.
        variant: which of the bundle's variants to score; None takes the SavedModel, the model as trained.
        images: number of images shown in the report, the largest errors first.
        show_score: objects below this score are not drawn in the report; they still count in the metrics.
    """

    split: Literal["train", "val", "test"] | None = None
    variant: str | None = None
    images: int = 24
    show_score: float = 0.4

    def __post_init__(self) -> None:
        at_least("images", self.images, 0)
        if not 0 <= self.show_score <= 1:
            raise ValueError(f"'show_score' is {self.show_score}: it must be between 0 and 1.")
