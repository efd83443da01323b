"""Settings of the train step."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.config import at_least, one_of
from .families import FAMILIES


@dataclass(frozen=True)
class TrainConfig:
    """Settings of the train step.

    Attributes:
        backbone: "small" trains from scratch on two CPU cores in minutes; the others are from keras.applications.
        width_multiplier: channels of MobileNets relative to the paper's (alpha).
        weights: file of pretrained backbone weights (no top) for keras.applications; None trains from scratch
            (random initialization).
        input_size: side of the model's input in pixels; None takes the images' median longer side, at most 320,
            which a CPU can still train.
        epochs: passes over the training split; 12 bring digit-scenes to an mAP@0.5 above 0.9 in minutes on two cores.
        batch_size: images per step and device.
        learning_rate: peak, for a global batch of 16; it scales with the global batch (Goyal et al. 2017).
        warmup_fraction: fraction of all steps in which the rate rises to its peak; then it decays as a cosine.
        weight_decay: of AdamW.
        pyramid_channels: width of a detector's pyramid and heads; Lin et al. use 256, 48 suits the small backbone.
        head_depth: convolutions in each head before its last; Lin et al. use 4, 1 suits the small backbone.
        horizontal_flip: flip images at random; None takes the records' setting (digits must not be flipped).
        scale_jitter: images are scaled by a random factor in 1 ± scale_jitter; 0 turns it off.
        name: of the model; None takes the records' name.
        samples: number of labelled images kept in the bundle, for checks and the demo page.
        seed: of weights, shuffling and augmentation.
    """

    backbone: str = "small"
    width_multiplier: float = 1.0
    weights: str | None = None
    input_size: int | None = None
    epochs: int = 12
    batch_size: int = 16
    learning_rate: float = 2e-3
    warmup_fraction: float = 0.05
    weight_decay: float = 1e-4
    pyramid_channels: int = 48
    head_depth: int = 1
    horizontal_flip: bool | None = None
    scale_jitter: float = 0.2
    name: str | None = None
    samples: int = 16
    seed: int = 1

    def __post_init__(self) -> None:
        one_of("backbone", self.backbone, FAMILIES)
        at_least("epochs", self.epochs, 1)
        at_least("batch_size", self.batch_size, 1)
        at_least("samples", self.samples, 1)
        at_least("head_depth", self.head_depth, 0)
        at_least("pyramid_channels", self.pyramid_channels, 8)
        if self.input_size is not None:
            at_least("input_size", self.input_size, 32)
        if not 0 < self.learning_rate < 10:
            raise ValueError(f"'learning_rate' is {self.learning_rate}: it must be between 0 and 10.")
        if not 0 <= self.scale_jitter < 1:
            raise ValueError(f"'scale_jitter' is {self.scale_jitter}: it must be at least 0 and less than 1.")
        if not 0 <= self.warmup_fraction < 1:
            raise ValueError(f"'warmup_fraction' is {self.warmup_fraction}: it must be at least 0 and less than 1.")
