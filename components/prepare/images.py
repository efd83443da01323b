"""Converts an image from a source for a shard: verified readable, upright, RGB or grey, JPEG or PNG."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass

from PIL import Image

from ..core.data.images import ImageError, decode, open_image

QUALITY = 95  # of re-encoded images: the loss is not visible
_ORIENTATION, _GPS = 0x0112, 0x8825  # EXIF tags


@dataclass(frozen=True)
class Stored:
    """An image for a shard.

    Attributes:
        image: JPEG or PNG, upright.
        height: in pixels, upright.
        width: in pixels, upright.
        orientation: the EXIF orientation that was undone, 1 to 8; 1 where the image was upright already.
    """

    image: bytes
    height: int
    width: int
    orientation: int = 1


def to_store(data: bytes) -> Stored:
    """Decodes an image once, and keeps its bytes unchanged where every later step can read them as they are.

    Unchanged: upright JPEGs in RGB or grey (also progressive ones: re-encoding would only lose detail) and 8-bit PNGs
    in RGB or grey without transparency. Everything else is re-encoded as JPEG, without its metadata; so is an image
    with a GPS position, since samples of the records are shown on the demo page.

    Raises:
        ImageError: it cannot be read.
    """
    image = open_image(data)
    orientation, located = _exif(image)
    ordinary = image.mode in ("RGB", "L") and "transparency" not in image.info and orientation == 1 and not located
    if ordinary and (image.format == "JPEG" or (image.format == "PNG" and not getattr(image, "is_animated", False))):
        decode(data, at_least=1)  # at 1/8 size: every byte is read, few pixels are computed
        return Stored(data, image.height, image.width)
    pixels, (height, width) = decode(data)
    encoded = io.BytesIO()
    Image.fromarray(pixels).save(encoded, "JPEG", quality=QUALITY)
    return Stored(encoded.getvalue(), height, width, orientation)


def _exif(image: Image.Image) -> tuple[int, bool]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about damaged EXIF data, which Pillow skips
            exif = image.getexif()
    except (OSError, ValueError, SyntaxError, TypeError, OverflowError) as error:
        raise ImageError(f"The image's EXIF data cannot be read: {error}") from error
    orientation = exif.get(_ORIENTATION, 1)
    return (orientation if orientation in range(1, 9) else 1), _GPS in exif
