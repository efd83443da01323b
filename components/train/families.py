"""Which backbones there are: the one table, light to import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Family:
    """A backbone.

    Attributes:
        application: its constructor's name in keras.applications; None for our own, see `backbones`.
        scaling: how it expects pixels: "unit" (-1..1), "caffe" (BGR minus the mean), "torch" (by mean and standard
            deviation) or "inside" (0..255; it scales by itself).
        alpha: whether its constructor takes a width multiplier.
    """

    application: str | None
    scaling: Literal["unit", "caffe", "torch", "inside"]
    alpha: bool = False


FAMILIES = {
    "small": Family(None, "unit"),
    "mobilenet": Family("MobileNet", "unit", alpha=True),
    "mobilenet_v2": Family("MobileNetV2", "unit", alpha=True),
    "mobilenet_v3_small": Family("MobileNetV3Small", "inside", alpha=True),
    "efficientnet_b0": Family("EfficientNetB0", "inside"),
    "resnet50": Family("ResNet50", "caffe"),
    "densenet121": Family("DenseNet121", "torch"),
}
