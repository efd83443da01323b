"""Untrusted images: decoded with limits, upright, and fitted to a model's input.

Training does the same with TensorFlow's ops (train/input_pipeline.py); a test compares the two. JPEGs are scaled down
while they are decoded (1/2, 1/4, 1/8) where the model's input is that much smaller, which is cheaper and also filters;
other formats are averaged down by the same factors. The remaining resize is bilinear with half-pixel centres, like
tf.image.resize.
"""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from ..errors import DataError

Pixels = npt.NDArray[np.uint8]
ResizeMode = Literal["letterbox", "crop"]

# Admits images of a 50-megapixel camera; rejects decompression bombs (a few kilobytes that expand to gigabytes).
MAX_PIXELS = 64_000_000
MAX_BYTES = 64 << 20
# MPO, a JPEG of several images, opens as JPEG: Pillow has no opener of that name.
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF")
# Mid-grey: about 0 after the usual normalisations, so padding carries no signal.
PAD = 127.5


class ImageError(DataError):
    """Bytes that are not a supported image."""


@dataclass(frozen=True)
class Placement:
    """Where an image lies in the model's square input.

    Attributes:
        height: of the original image, upright, in pixels.
        width: of the original image, upright, in pixels.
        scale_y: input units per image unit, both relative: y_input = y_image * scale_y + offset_y.
        scale_x: the same for x.
        offset_y: relative to the input.
        offset_x: relative to the input.
    """

    height: int
    width: int
    scale_y: float
    scale_x: float
    offset_y: float = 0.0
    offset_x: float = 0.0

    def to_image(self, boxes: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Maps boxes relative to the input [N, 4] to boxes relative to the image, clipped to it."""
        offset = np.array([self.offset_y, self.offset_x] * 2, np.float32)
        scale = np.array([self.scale_y, self.scale_x] * 2, np.float32)
        clipped: npt.NDArray[np.float32] = np.clip((boxes - offset) / scale, 0, 1)
        return clipped


def open_image(data: bytes, max_pixels: int = MAX_PIXELS) -> Image.Image:
    """Reads an image's header, with limits; no pixel is decoded yet.

    Raises:
        ImageError: empty, too large, or of an unsupported format.
    """
    if not data:
        raise ImageError("The image is empty (0 bytes).")
    if len(data) > MAX_BYTES:
        raise ImageError(f"The image has {len(data):,} bytes: the limit is {MAX_BYTES:,}.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns about what is rejected below
            image = Image.open(io.BytesIO(data), formats=FORMATS)
    except UnidentifiedImageError as error:
        raise ImageError(
            f"These {len(data):,} bytes are not a valid image (supported: {', '.join(FORMATS)})."
        ) from error
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ImageError(f"The image cannot be read: {error}") from error
    if image.width * image.height > max_pixels:
        raise ImageError(f"The image has {image.width}×{image.height} pixels: the limit is {max_pixels:,}.")
    return image


def decode(data: bytes, at_least: int | None = None, mode: ResizeMode = "letterbox") -> tuple[Pixels, tuple[int, int]]:
    """Decodes an image to upright RGB.

    Args:
        data: JPEG, PNG, WebP, BMP, GIF (first frame) or TIFF.
        at_least: side of the square that the image will be fitted to: it may be decoded smaller, but not below that.
        mode: how it will be fitted, see `fit_to`.

    Returns:
        Pixels [H, W, 3] uint8 and the image's full upright size (height, width).

    Raises:
        ImageError: empty, too large, damaged, or of an unsupported format.
    """
    image = open_image(data)
    height, width = image.height, image.width
    ratio = scaled_by(height, width, at_least, mode) if at_least else 1
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            turned = image.getexif().get(0x0112, 1) in (5, 6, 7, 8)
            if ratio > 1 and image.format in ("JPEG", "MPO"):
                image.draft("RGB", (width // ratio, height // ratio))
            image = ImageOps.exif_transpose(image)
            pixels = np.asarray(_rgb(image))
            if ratio > 1 and image.width * image.height == width * height:
                pixels = _averaged(pixels, ratio)
    except (
        OSError,
        ValueError,
        SyntaxError,
        MemoryError,
        TypeError,
        OverflowError,
        Image.DecompressionBombError,
    ) as error:
        raise ImageError(f"The image cannot be decoded: {error}") from error
    return pixels, ((width, height) if turned else (height, width))


def scaled_by(height: int, width: int, side: int, mode: ResizeMode) -> int:
    """Returns the largest of 8, 4, 2, 1 by which decoding may shrink an image that still covers the model's input."""
    guide = max(height, width) if mode == "letterbox" else min(height, width)
    return next(ratio for ratio in (8, 4, 2, 1) if guide >= ratio * side or ratio == 1)


def fit_to(
    pixels: Pixels, size: tuple[int, int], side: int, mode: ResizeMode
) -> tuple[npt.NDArray[np.float32], Placement]:
    """Fits an image to a model's square input.

    Args:
        pixels: [H, W, 3] uint8, upright, from `decode`.
        size: the image's full (height, width).
        side: of the model's input, in pixels.
        mode: "letterbox" keeps the whole image, its longer side filling the input, grey below or to the right;
            "crop" takes the largest centred square.

    Returns:
        [side, side, 3] float32 in 0..255, and where the image lies in it.
    """
    height, width = pixels.shape[:2]
    if mode == "crop":
        edge = min(height, width)
        top, left = (height - edge) // 2, (width - edge) // 2
        place = Placement(*size, height / edge, width / edge, -top / edge, -left / edge)
        return resize(pixels[top : top + edge, left : left + edge], side, side), place
    inner = fitted_size(height, width, side)
    canvas = np.full((side, side, 3), PAD, np.float32)
    canvas[: inner[0], : inner[1]] = resize(pixels, *inner)
    return canvas, Placement(*size, inner[0] / side, inner[1] / side)


def fitted_size(height: int, width: int, side: int) -> tuple[int, int]:
    """Returns the height and width, in pixels, of an image letterboxed into a square; half a pixel rounds up."""
    longer = max(height, width)
    return max(1, (2 * height * side + longer) // (2 * longer)), max(1, (2 * width * side + longer) // (2 * longer))


def resize(pixels: Pixels, height: int, width: int) -> npt.NDArray[np.float32]:
    """Resizes bilinearly, half-pixel centres, no filter: [H, W, 3] uint8 -> [height, width, 3] float32."""
    if pixels.shape[:2] == (height, width):
        return pixels.astype(np.float32)
    y0, y1, dy = _taps(pixels.shape[0], height)
    x0, x1, dx = _taps(pixels.shape[1], width)
    source = pixels.astype(np.float32)
    rows = source[y0]
    rows += (source[y1] - rows) * dy[:, None, None]
    left = rows[:, x0]
    left += (rows[:, x1] - left) * dx[None, :, None]
    return left


def _averaged(pixels: Pixels, ratio: int) -> Pixels:
    """Scales down by averaging squares of `ratio` pixels; incomplete squares at the edge are filled by mirroring."""
    height, width = pixels.shape[:2]
    padded = np.pad(pixels, ((0, -height % ratio), (0, -width % ratio), (0, 0)), mode="symmetric")
    squares = padded.reshape(padded.shape[0] // ratio, ratio, padded.shape[1] // ratio, ratio, 3)
    averaged: Pixels = np.rint(squares.mean(axis=(1, 3), dtype=np.float32)).astype(np.uint8)
    return averaged


def _taps(old: int, new: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.float32]]:
    place = (np.arange(new, dtype=np.float32) + np.float32(0.5)) * np.float32(old / new) - np.float32(0.5)
    low = np.floor(place)
    first = np.maximum(low, 0).astype(np.intp)
    second = np.clip(np.ceil(place), 0, old - 1).astype(np.intp)
    return first, second, (place - low).astype(np.float32)


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode == "RGB":
        return image
    if image.mode.startswith("I;16") or image.mode in ("I", "F"):
        # 16-bit grey: Pillow would clip it to white; keep the high byte.
        image = Image.fromarray((np.asarray(image, np.float32) / 257).clip(0, 255).astype(np.uint8))
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        canvas = Image.new("RGBA", image.size, (255, 255, 255, 255))
        image = Image.alpha_composite(canvas, image)
    return image.convert("RGB")
