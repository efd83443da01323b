"""The networks: RetinaNet and an image classifier on a backbone."""

from __future__ import annotations

import math
from typing import Any

import keras

from ..core.models.anchors import AnchorSpec
from . import backbones
from .config import TrainConfig
from .losses import RetinaNetLoss

# The initial probability that an anchor holds an object. Source: Lin et al. 2017, section 4.1.
PRIOR = 0.01


class Detector(keras.Model):  # type: ignore[misc]  # keras has no types
    """A Keras model that trains with RetinaNet's losses: `fit` minimises their sum and reports both."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._class_loss = keras.metrics.Mean("class_loss")
        self._box_loss = keras.metrics.Mean("box_loss")
        self._loss = RetinaNetLoss()

    @property
    def metrics(self) -> list[Any]:
        """The metrics that Keras resets at the start of each epoch."""
        return [*super().metrics, self._class_loss, self._box_loss]

    def compute_loss(self, x: Any, y: Any, y_pred: Any, *_: Any, **__: Any) -> Any:
        """Returns the sum of both losses; Keras calls it for training and validation."""
        class_loss, box_loss = self._loss(y, y_pred)
        self._class_loss.update_state(class_loss)
        self._box_loss.update_state(box_loss)
        return class_loss + box_loss


def retinanet(config: TrainConfig, input_size: int, classes: int, anchors: AnchorSpec) -> Detector:
    """Builds RetinaNet: backbone, feature pyramid, and a class and a box subnet shared by all levels.

    Args:
        config: backbone, pyramid width, depth of the heads.
        input_size: side of the input in pixels.
        classes: number of classes.
        anchors: levels of the pyramid and anchors per cell.

    Returns:
        A model from "image" float32 [N, side, side, 3] in 0..255 to "logits" [N, A, classes] and "box_deltas"
        [N, A, 4], in the order of `anchors.make`.

    Source: Lin et al. 2017, section 4 and figure 3.
    """
    image, maps = backbones.build(config, input_size)
    pyramid = _pyramid(maps, anchors.levels, config.pyramid_channels)
    prior = keras.initializers.Constant(-math.log((1 - PRIOR) / PRIOR))
    class_head = _head("class", config, anchors.per_cell * classes, prior)
    box_head = _head("box", config, anchors.per_cell * 4, "zeros")
    logits = [keras.layers.Reshape((-1, classes))(class_head(level)) for level in pyramid]
    box_deltas = [keras.layers.Reshape((-1, 4))(box_head(level)) for level in pyramid]
    outputs = {"logits": _join(logits, "logits"), "box_deltas": _join(box_deltas, "box_deltas")}
    return Detector(image, outputs, name="retinanet")


def classifier(config: TrainConfig, input_size: int, classes: int) -> Any:
    """Builds an image classifier: backbone, global average pooling, dropout, one dense layer.

    Args:
        config: which backbone, how wide.
        input_size: side of the input in pixels.
        classes: number of classes.

    Returns:
        A model from "image" float32 [N, side, side, 3] in 0..255 to "logits" [N, classes].
    """
    image, maps = backbones.build(config, input_size)
    pooled = keras.layers.GlobalAveragePooling2D()(maps[-1])
    dropped = keras.layers.Dropout(0.2, seed=config.seed)(pooled)
    return keras.Model(image, keras.layers.Dense(classes, name="logits")(dropped), name="classifier")


def _pyramid(maps: list[Any], levels: tuple[int, ...], channels: int) -> list[Any]:
    """Builds the top-down pathway with lateral 1x1 convolutions; levels above the backbone use strided ones."""
    result: dict[int, Any] = {}
    above = None
    top = min(max(levels), backbones.LEVELS[-1])
    for level in range(top, min(levels) - 1, -1):
        lateral = keras.layers.Conv2D(channels, 1, name=f"lateral{level}")(maps[level - backbones.LEVELS[0]])
        above = lateral if above is None else lateral + keras.layers.UpSampling2D(name=f"up{level}")(above)
        result[level] = keras.layers.Conv2D(channels, 3, padding="same", name=f"pyramid{level}")(above)
    for level in range(top + 1, max(levels) + 1):
        below = maps[-1] if level == top + 1 else keras.layers.ReLU()(result[level - 1])
        result[level] = keras.layers.Conv2D(channels, 3, 2, padding="same", name=f"pyramid{level}")(below)
    return [result[level] for level in levels]


def _head(name: str, config: TrainConfig, outputs: int, bias: Any) -> Any:
    channels = config.pyramid_channels
    x = maps = keras.Input((None, None, channels))
    for depth in range(config.head_depth):
        # Each layer its own initializer: one shared instance would start all kernels out identical.
        x = keras.layers.Conv2D(
            channels, 3, padding="same", activation="relu", kernel_initializer="he_normal", name=f"{name}{depth}"
        )(x)
    start = keras.initializers.RandomNormal(stddev=0.01)
    last = keras.layers.Conv2D(
        outputs, 3, padding="same", kernel_initializer=start, bias_initializer=bias, name=f"{name}_out"
    )
    return keras.Model(maps, last(x), name=f"{name}_head")


def _join(parts: list[Any], name: str) -> Any:
    if len(parts) == 1:
        return keras.layers.Identity(name=name)(parts[0])
    return keras.layers.Concatenate(axis=1, name=name)(parts)


def schedule(config: TrainConfig, replicas: int, steps: int) -> Any:
    """Creates the learning rate schedule: linear warm-up to the peak for the global batch, then cosine decay to 0.

    Source: Goyal et al. 2017 (linear scaling, warm-up); Loshchilov and Hutter 2017 (cosine).
    """
    peak = config.learning_rate * config.batch_size * replicas / 16
    warmup = max(1, round(config.warmup_fraction * steps))
    return keras.optimizers.schedules.CosineDecay(
        initial_learning_rate=peak / warmup,
        decay_steps=max(1, steps - warmup),
        warmup_target=peak,
        warmup_steps=warmup,
    )


def compiled(model: Any, task: str, config: TrainConfig, replicas: int, steps: int) -> Any:
    """Compiles a model with its optimizer, and the loss of a classifier."""
    optimizer = keras.optimizers.AdamW(
        schedule(config, replicas, steps), weight_decay=config.weight_decay, clipnorm=10.0
    )
    optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    if task == "detection":
        model.compile(optimizer=optimizer, jit_compile=False)
    else:
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(optimizer=optimizer, loss=loss, metrics=["accuracy"], jit_compile=False)
    return model
