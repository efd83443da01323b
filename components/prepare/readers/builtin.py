"""Two real data sets that need no download: scikit-learn's handwritten digits, and scenes composed of them.

The digits are split first, so that no scene of one split shows a digit that another split shows.
"""

from __future__ import annotations

import functools
import hashlib
import io
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image

from ...core.data.boxes import areas
from ...core.errors import MissingError
from ...core.task import SPLITS
from ..config import PrepareConfig
from ..source import Item, Object, Source

NAMES = ("digits", "digit-scenes")
CLASSES = tuple("0123456789")
TRAIN_UNTIL, VAL_UNTIL = 0.70, 0.85  # the rest is test

DIGIT_SIDE = 32  # pixels of a single digit's image, from 8
CANVAS = 160  # pixels of a scene's side
SIDES = (18, 56)  # pixels of a digit in a scene
MAX_DIGITS = 6
MAX_OVERLAP = 0.1  # share of the smaller of two boxes: no digit is ever hidden
INK = 0.2  # the share of full ink from which a pixel counts as the digit's
SHARE = 12  # one scene in 12 is held out for val, one for test

_Floats = npt.NDArray[np.float32]
_Digits = list[tuple[int, _Floats]]  # class, ink [8, 8] in 0..1


@dataclass(frozen=True)
class _Placed:
    label: int
    ink: _Floats  # [side, side], 0..1
    top: int
    left: int

    @functools.cached_property
    def box_px(self) -> tuple[float, float, float, float]:
        rows, columns = np.nonzero(self.ink >= INK)
        return (
            float(self.top + rows.min()),
            float(self.left + columns.min()),
            float(self.top + rows.max() + 1),
            float(self.left + columns.max() + 1),
        )


def digits() -> Source:
    """Returns 1,797 real handwritten digits, one per image."""
    splits = {
        split: [
            Item(f"{split}/{label}-{index:04d}.png", functools.partial(_single, ink), 400, label)
            for index, (label, ink) in enumerate(split_digits)
        ]
        for split, split_digits in _digits().items()
    }
    return Source("built-in handwritten digits", "classification", CLASSES, splits, "by content", horizontal_flip=False)


def digit_scenes(config: PrepareConfig) -> Source:
    """Generates scenes: real digits at random places and sizes on noisy canvases of 160×160 pixels."""
    held_out = config.scenes // SHARE
    counts = {"train": config.scenes - 2 * held_out, "val": held_out, "test": held_out}
    real = _digits()
    splits = {}
    for number, split in enumerate(SPLITS):
        splits[split] = [_scene(split, real[split], (config.seed, number, i)) for i in range(counts[split])]
    return Source(
        "built-in scenes of handwritten digits", "detection", CLASSES, splits, "by content", horizontal_flip=False
    )


def _digits() -> dict[str, _Digits]:
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise MissingError(
            "The built-in digits come with scikit-learn, which is not installed.", "pip install 'towpath[prepare]'"
        ) from error
    loaded = load_digits()
    splits: dict[str, _Digits] = {split: [] for split in SPLITS}
    for label, image in zip(loaded.target, loaded.images, strict=True):
        grey = image.astype(np.uint8)  # 0..16
        place = int.from_bytes(hashlib.sha256(grey.tobytes()).digest()[:4], "big") / 2**32
        split = "train" if place < TRAIN_UNTIL else "val" if place < VAL_UNTIL else "test"
        splits[split].append((int(label), grey.astype(np.float32) / 16))
    return splits


def _single(ink: _Floats) -> bytes:
    return _encoded(_resized(ink, DIGIT_SIDE) * 255, "PNG")


def _scene(split: str, digits: _Digits, seed: tuple[int, int, int]) -> Item:
    placed = _layout(digits, np.random.default_rng((*seed, 0)))
    objects = tuple(Object(digit.label, digit.box_px) for digit in placed)
    return Item(f"{split}/{seed[-1]:05d}.jpg", functools.partial(_draw, tuple(placed), seed), 12_000, objects=objects)


def _layout(digits: _Digits, rng: np.random.Generator) -> list[_Placed]:
    placed: list[_Placed] = []
    count = int(rng.integers(1, MAX_DIGITS + 1))
    for _ in range(10 * count):  # a crowded canvas may take fewer
        label, ink = digits[int(rng.integers(len(digits)))]
        side = int(rng.integers(SIDES[0], SIDES[1] + 1))
        top, left = rng.integers(0, CANVAS - side + 1, 2)
        candidate = _Placed(label, _resized(ink, side), int(top), int(left))
        if all(_covered(candidate, other) <= MAX_OVERLAP for other in placed):
            placed.append(candidate)
        if len(placed) == count:
            break
    return placed


def _covered(a: _Placed, b: _Placed) -> float:
    """Returns the share of the smaller box that the other one covers."""
    shared = (*map(max, a.box_px[:2], b.box_px[:2]), *map(min, a.box_px[2:], b.box_px[2:]))
    area = areas(np.array([a.box_px, b.box_px, shared], np.float32))
    return float(area[2] / min(area[0], area[1]))


def _draw(placed: tuple[_Placed, ...], seed: tuple[int, int, int]) -> bytes:
    rng = np.random.default_rng((*seed, 1))
    across = np.linspace(-0.5, 0.5, CANVAS, dtype=np.float32)
    tilt = rng.uniform(-50, 50, 2).astype(np.float32)
    light = rng.uniform(40, 90) + tilt[0] * across[:, None] + tilt[1] * across[None, :]
    tint = rng.uniform(0.8, 1.2, 3).astype(np.float32)
    canvas = light[:, :, None].astype(np.float32) * tint
    for digit in placed:
        side = digit.ink.shape[0]
        where = canvas[digit.top : digit.top + side, digit.left : digit.left + side]
        colour = rng.uniform(170, 255) * rng.uniform(0.85, 1, 3).astype(np.float32)
        where += digit.ink[:, :, None] * (colour - where)
    canvas += np.float32(rng.uniform(2, 10)) * rng.standard_normal(canvas.shape, np.float32)
    return _encoded(canvas, "JPEG")


def _resized(ink: _Floats, side: int) -> _Floats:
    image = Image.fromarray(ink).resize((side, side), Image.Resampling.BICUBIC)
    return np.asarray(image).clip(0, 1)


def _encoded(pixels: _Floats, form: str) -> bytes:
    encoded = io.BytesIO()
    Image.fromarray(pixels.clip(0, 255).round().astype(np.uint8)).save(encoded, form, quality=95)
    return encoded.getvalue()
