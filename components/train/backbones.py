"""Backbones: networks that turn an image into feature maps of stride 8, 16, 32."""

from __future__ import annotations

from typing import Any

import keras

from ..core.errors import ConfigError
from .config import TrainConfig
from .families import FAMILIES

LEVELS = (3, 4, 5)


def build(config: TrainConfig, input_size: int) -> tuple[Any, list[Any]]:
    """Builds a backbone.

    Args:
        config: which backbone, how wide, which weights.
        input_size: side of the input in pixels.

    Returns:
        The Keras input "image" (float32 [N, side, side, 3], 0..255) and the maps of stride 8, 16 and 32.

    Raises:
        ConfigError: weights that do not exist or do not fit.
    """
    image = keras.Input((input_size, input_size, 3), name="image")
    family = FAMILIES[config.backbone]
    scaled = _scale(image, family.scaling)
    if family.application is None:
        if config.weights is not None:
            raise ConfigError(
                f"'train.weights' is set, but the backbone '{config.backbone}' has no pretrained weights.",
                "Use another backbone.",
            )
        return image, _small(scaled)
    options = {"alpha": config.width_multiplier} if family.alpha else {}
    constructor = getattr(keras.applications, family.application)
    try:
        model = constructor(include_top=False, weights=config.weights, input_tensor=scaled, **options)
    except (ValueError, OSError) as error:
        raise ConfigError(
            f"Backbone '{config.backbone}': {error}", "Check train.weights and train.width_multiplier."
        ) from error
    return image, [_last_at(model, input_size, 2**level) for level in LEVELS]


def _scale(image: Any, scaling: str) -> Any:
    if scaling == "unit":
        return keras.layers.Rescaling(1 / 127.5, -1.0, name="scale")(image)
    if scaling == "torch":
        mean, deviation = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
        scale = [1 / (255 * d) for d in deviation]
        shift = [-m / d for m, d in zip(mean, deviation, strict=True)]
        return keras.layers.Rescaling(scale, shift, name="scale")(image)
    if scaling == "caffe":
        blue_first = image[..., ::-1]
        return keras.layers.Rescaling(1.0, [-103.939, -116.779, -123.68], name="scale")(blue_first)
    return image


def _last_at(model: Any, input_size: int, stride: int) -> Any:
    """Returns the last feature map of a stride: the deepest, as in the papers."""
    side = -(-input_size // stride)
    maps = [layer.output for layer in model.layers if len(getattr(layer.output, "shape", ())) == 4]
    found = [one for one in maps if one.shape[1] == side and one.shape[2] == side]
    if not found:
        raise ConfigError(
            f"'input_size' is {input_size}: this backbone has no feature map of stride {stride} at this size."
        )
    return found[-1]


def _small(x: Any) -> list[Any]:
    """Builds a residual network of 0.4 M parameters for CPUs.

    Plain 3x3 convolutions, which CPUs run faster than depthwise ones, after a stem that downsamples by 4 at once: maps
    of half the side would take a fifth of the training time.
    """
    x = _convolve(x, 32, side=6, stride=4)
    maps: list[Any] = []
    for channels, blocks in ((32, 1), (64, 2), (96, 2), (128, 1)):
        if maps:
            x = _convolve(x, channels, stride=2)
        for _ in range(blocks):
            x = keras.layers.Add()([x, _convolve(x, channels)])
        maps.append(x)
    return maps[1:]


def _convolve(x: Any, channels: int, side: int = 3, stride: int = 1) -> Any:
    x = keras.layers.Conv2D(channels, side, stride, padding="same", use_bias=False, kernel_initializer="he_normal")(x)
    x = keras.layers.BatchNormalization(momentum=0.97)(x)
    return keras.layers.ReLU()(x)
