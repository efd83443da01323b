"""The input pipeline: shards to batches with TensorFlow's ops, in parallel, deterministic for a given seed.

What evaluation and serving do with NumPy (`core.data.images`) is done here with tf.image; a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from ..core.data import images
from ..core.data.boxes import BOX_VARIANCE, Boxes
from ..core.task import Task
from .losses import RetinaNetLoss

# IoU from which an anchor is positive, and below which it is background. Source: Lin et al. 2017, section 4.
POSITIVE_IOU = 0.5
NEGATIVE_IOU = 0.4
# A box of which scaling leaves a smaller share visible is dropped: the rest no longer shows what it is.
MIN_VISIBLE = 0.3
SHUFFLE_BUFFER = 4096
FEATURES = {
    "image/encoded": tf.io.FixedLenFeature([], tf.string),
    "image/height": tf.io.FixedLenFeature([], tf.int64),
    "image/width": tf.io.FixedLenFeature([], tf.int64),
    "image/class/label": tf.io.FixedLenFeature([], tf.int64, -1),
    "image/object/bbox/ymin": tf.io.VarLenFeature(tf.float32),
    "image/object/bbox/xmin": tf.io.VarLenFeature(tf.float32),
    "image/object/bbox/ymax": tf.io.VarLenFeature(tf.float32),
    "image/object/bbox/xmax": tf.io.VarLenFeature(tf.float32),
    "image/object/class/label": tf.io.VarLenFeature(tf.int64),
    "image/object/is_crowd": tf.io.VarLenFeature(tf.int64),
}


@dataclass(frozen=True)
class InputConfig:
    """Settings of the input pipeline.

    Attributes:
        task: detection or classification.
        size: side of the model's input in pixels.
        resize_mode: how images are fitted into it.
        batch_size: images in a global batch.
        seed: of shuffling and augmentation.
        horizontal_flip: flip at random.
        scale_jitter: see TrainConfig.
        anchors: [A, 4] relative, detection only.
    """

    task: Task
    size: int
    resize_mode: images.ResizeMode
    batch_size: int
    seed: int
    horizontal_flip: bool
    scale_jitter: float
    anchors: Boxes | None = None


def training(shards: list[Path], config: InputConfig, steps: int, first_epoch: int, epochs: int) -> Any:
    """Creates the training batches.

    Each epoch is reshuffled with its own seed, so that a resumed run sees the same batches as an uninterrupted one.

    Args:
        shards: TFRecord files.
        config: see InputConfig.
        steps: batches per epoch.
        first_epoch: the first epoch to produce.
        epochs: the epoch before which to stop: first_epoch … epochs - 1 are produced.

    Returns:
        A tf.data.Dataset of (images [B, side, side, 3] float32 0..255, targets), `steps` batches per epoch.
    """
    names = [str(shard) for shard in shards]

    def epoch_of(epoch: Any) -> Any:
        seed = config.seed * 100_003 + epoch
        data = tf.data.Dataset.from_tensor_slices(names).shuffle(len(names), seed=seed)
        data = data.interleave(tf.data.TFRecordDataset, cycle_length=8, num_parallel_calls=8, deterministic=True)
        data = data.shuffle(SHUFFLE_BUFFER, seed=seed).repeat().take(steps * config.batch_size)
        return data.enumerate(epoch * steps * config.batch_size)

    data = tf.data.Dataset.range(first_epoch, epochs).flat_map(epoch_of)
    data = data.map(lambda place, record: _learn(record, place, config), tf.data.AUTOTUNE, deterministic=True)
    data = data.batch(config.batch_size, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
    return data.apply(tf.data.experimental.assert_cardinality(steps * (epochs - first_epoch)))


def validation(shards: list[Path], config: InputConfig, examples: int) -> Any:
    """Creates the batches of a split with `examples` examples, in order, unaugmented; the last may be smaller."""
    data = tf.data.TFRecordDataset([str(shard) for shard in shards])
    data = data.map(lambda record: _learn(record, None, config), tf.data.AUTOTUNE, deterministic=True)
    data = data.batch(config.batch_size).prefetch(tf.data.AUTOTUNE)
    return data.apply(tf.data.experimental.assert_cardinality(-(-examples // config.batch_size)))


def fitted(encoded: Any, size: int, mode: images.ResizeMode) -> tuple[Any, Any, Any]:
    """Does the same as `images.decode` and `images.fit_to`, in TensorFlow.

    Args:
        encoded: scalar string, JPEG or PNG.
        size: side of the model's input in pixels.
        mode: see `images.fit_to`.

    Returns:
        [size, size, 3] float32 in 0..255, scale and offset ([2] float32, y then x): input = image * scale + offset.
    """
    pixels = _decoded(encoded, size, mode)
    shape = tf.shape(pixels)[:2]
    if mode == "crop":
        edge = tf.reduce_min(shape)
        corner = (shape - edge) // 2
        square = tf.image.resize(tf.image.crop_to_bounding_box(pixels, corner[0], corner[1], edge, edge), (size, size))
        return square, tf.cast(shape / edge, tf.float32), tf.cast(-corner / edge, tf.float32)
    longer = tf.reduce_max(shape)
    inner = tf.maximum(1, (2 * shape * size + longer) // (2 * longer))
    image = tf.image.resize(pixels, inner) - images.PAD
    image = tf.image.pad_to_bounding_box(image, 0, 0, size, size) + images.PAD
    return image, tf.cast(inner / size, tf.float32), tf.zeros(2)


def _decoded(encoded: Any, size: int, mode: images.ResizeMode) -> Any:
    ratios = (1, 2, 4, 8)

    def smaller(shape: Any, decoders: list[Any]) -> Any:
        guide = tf.reduce_max(shape) if mode == "letterbox" else tf.reduce_min(shape)
        return tf.switch_case(sum(tf.cast(guide >= ratio * size, tf.int32) for ratio in ratios[1:]), decoders)

    def as_jpeg() -> Any:
        shape = tf.image.extract_jpeg_shape(encoded)[:2]
        return smaller(shape, [lambda ratio=ratio: _jpeg(encoded, ratio) for ratio in ratios])

    def as_png() -> Any:
        pixels = tf.io.decode_png(encoded, channels=3)
        return smaller(tf.shape(pixels)[:2], [lambda ratio=ratio: _averaged(pixels, ratio) for ratio in ratios])

    return tf.ensure_shape(tf.cond(tf.image.is_jpeg(encoded), as_jpeg, as_png), (None, None, 3))


def _averaged(pixels: Any, ratio: int) -> Any:
    """Does the same as `images._averaged`."""
    shape = tf.shape(pixels)
    pixels = tf.pad(pixels, [[0, -shape[0] % ratio], [0, -shape[1] % ratio], [0, 0]], "SYMMETRIC")
    height, width = tf.shape(pixels)[0] // ratio, tf.shape(pixels)[1] // ratio
    squares = tf.reshape(tf.cast(pixels, tf.float32), (height, ratio, width, ratio, 3))
    return tf.cast(tf.round(tf.reduce_mean(squares, axis=(1, 3))), tf.uint8)


def _jpeg(encoded: Any, ratio: int) -> Any:
    # The accurate transform is what Pillow uses, so that training sees the pixels that serving does.
    return tf.io.decode_jpeg(encoded, channels=3, ratio=ratio, dct_method="INTEGER_ACCURATE")


def _learn(record: Any, place: Any, config: InputConfig) -> tuple[Any, Any]:
    """Converts a record to image and targets; augmented if `place`, the example's number in the run, is given."""
    example = tf.io.parse_single_example(record, FEATURES)
    image, scale, offset = fitted(example["image/encoded"], config.size, config.resize_mode)
    columns = [tf.sparse.to_dense(example[f"image/object/bbox/{name}"]) for name in ("ymin", "xmin", "ymax", "xmax")]
    boxes = tf.stack(columns, axis=-1) * tf.tile(scale, [2]) + tf.tile(offset, [2])
    shown = tf.ones(tf.shape(boxes)[:1], tf.bool)
    if place is not None:
        image, boxes, shown = _augment(image, boxes, tf.stack([tf.constant(config.seed, tf.int64), place]), config)
    if config.task == "classification":
        return image, example["image/class/label"]
    labels = tf.cast(tf.sparse.to_dense(example["image/object/class/label"]), tf.int32) - 1
    crowd = tf.sparse.to_dense(example["image/object/is_crowd"]) > 0
    shown &= tf.reduce_all(boxes[:, 2:] > boxes[:, :2], axis=-1)
    learned = shown & ~crowd
    return image, match(
        tf.boolean_mask(boxes, learned),
        tf.boolean_mask(labels, learned),
        tf.boolean_mask(boxes, ~learned),
        tf.constant(config.anchors),
    )


def _augment(image: Any, boxes: Any, seed: Any, config: InputConfig) -> tuple[Any, Any, Any]:
    if config.scale_jitter:
        seeds = tf.random.split(seed, 2)
        zoom = 1 + tf.random.stateless_uniform([], seeds[0], -config.scale_jitter, config.scale_jitter)
        place = tf.random.stateless_uniform([2], seeds[1])
        # The crop window, relative to the image; if it is larger than the image, the border is grey.
        window = 1 / zoom
        corner = place * (1 - window)
        region = tf.concat([corner, corner + window], axis=0)[None]
        sides = (config.size, config.size)
        image = tf.image.crop_and_resize(image[None], region, [0], sides, extrapolation_value=images.PAD)[0]
        before = _area(boxes)
        boxes = tf.clip_by_value((boxes - tf.tile(corner, [2])) / window, 0.0, 1.0)
        shown = _area(boxes) * window**2 >= MIN_VISIBLE * before
    else:
        shown = tf.ones(tf.shape(boxes)[:1], tf.bool)
    if config.horizontal_flip:
        flip = tf.random.stateless_uniform([], tf.random.fold_in(seed, 7)) < 0.5
        image = tf.cond(flip, lambda: image[:, ::-1], lambda: image)
        mirrored = tf.stack([boxes[:, 0], 1 - boxes[:, 3], boxes[:, 2], 1 - boxes[:, 1]], axis=-1)
        boxes = tf.where(flip, mirrored, boxes)
    return image, boxes, shown


def _area(boxes: Any) -> Any:
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def match(boxes: Any, labels: Any, ignored: Any, anchors: Any) -> dict[str, Any]:
    """Assigns targets to anchors.

    An anchor is matched to the box that it overlaps most, from POSITIVE_IOU on; below NEGATIVE_IOU it is background; in
    between it is ignored. Each box is also matched to the anchor that overlaps it most, so that every box has one.
    Anchors that lie mostly in an ignored region (a crowd, a box that is hardly visible) are ignored.

    Args:
        boxes: [N, 4] float32, relative to the input.
        labels: [N] int32.
        ignored: [M, 4] float32, relative to the input.
        anchors: [A, 4] float32, relative to the input.

    Returns:
        "labels" [A] int32 and "box_deltas" [A, 4] float32, as RetinaNetLoss takes them.

    Source: Lin et al. 2017, section 4, "Anchors"; Ren et al. 2015, section 3.1.2 for the best anchor of each box.
    """
    count = anchors.shape[0]
    shared, anchor_area = _shared(anchors, ignored), _area(anchors)
    left_out = tf.reduce_any(shared >= 0.5 * anchor_area[:, None], axis=1)
    background = tf.where(left_out, RetinaNetLoss.IGNORED, RetinaNetLoss.BACKGROUND)
    if_empty = {"labels": background, "box_deltas": tf.zeros((count, 4))}

    def if_any() -> dict[str, Any]:
        shared = _shared(anchors, boxes)
        iou = shared / (anchor_area[:, None] + _area(boxes)[None] - shared)
        best, best_iou = tf.argmax(iou, axis=1, output_type=tf.int32), tf.reduce_max(iou, axis=1)
        owner = tf.argmax(iou, axis=0, output_type=tf.int32)
        number = tf.where(tf.reduce_max(iou, axis=0) > 0, tf.range(tf.shape(boxes)[0]), -1)
        forced = tf.tensor_scatter_nd_update(tf.fill([count], -1), owner[:, None], number)
        best = tf.where(forced >= 0, forced, best)
        positive = (best_iou >= POSITIVE_IOU) | (forced >= 0)
        between = tf.where(best_iou >= NEGATIVE_IOU, RetinaNetLoss.IGNORED, background)
        targets = tf.where(positive, tf.gather(labels, best), between)
        box_deltas = _encode(tf.gather(boxes, best), anchors)
        return {"labels": targets, "box_deltas": tf.where(positive[:, None], box_deltas, 0.0)}

    return tf.cond(tf.shape(boxes)[0] > 0, if_any, lambda: if_empty)  # type: ignore[no-any-return]


def _shared(a: Any, b: Any) -> Any:
    corner = tf.maximum(a[:, None, :2], b[None, :, :2])
    sides = tf.maximum(tf.minimum(a[:, None, 2:], b[None, :, 2:]) - corner, 0)
    return sides[..., 0] * sides[..., 1]


def _encode(boxes: Any, anchors: Any) -> Any:
    side, anchor_side = boxes[:, 2:] - boxes[:, :2], anchors[:, 2:] - anchors[:, :2]
    centre = (boxes[:, :2] + boxes[:, 2:] - anchors[:, :2] - anchors[:, 2:]) / 2
    box_deltas = tf.concat([centre / anchor_side, tf.math.log(tf.maximum(side / anchor_side, 1e-6))], axis=-1)
    return box_deltas / np.asarray(BOX_VARIANCE)
