"""What becomes of an image on its way into a shard."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from towpath.components.core.data.images import ImageError, decode, open_image
from towpath.components.prepare.images import to_store


def _encoded(form: str, mode: str = "RGB", **options: object) -> bytes:
    pixels = np.random.default_rng(0).integers(0, 256, (24, 40, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(file, form, **options)
    return file.getvalue()


@pytest.mark.parametrize(
    "data", [_encoded("JPEG"), _encoded("JPEG", "L"), _encoded("JPEG", progressive=True), _encoded("PNG")]
)
def test_ordinary_images_are_left_alone(data: bytes) -> None:
    stored = to_store(data)
    assert (stored.image, stored.height, stored.width, stored.orientation) == (data, 24, 40, 1)


@pytest.mark.parametrize(
    "data", [_encoded("JPEG", "CMYK"), _encoded("PNG", "RGBA"), _encoded("PNG", "P"), _encoded("BMP"), _encoded("WEBP")]
)
def test_others_become_jpegs(data: bytes) -> None:
    stored = to_store(data)
    image = Image.open(io.BytesIO(stored.image))
    assert (image.format, image.mode, image.size) == ("JPEG", "RGB", (40, 24))
    assert to_store(stored.image).image == stored.image


def test_turned_images_come_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    stored = to_store(_encoded("JPEG", exif=exif))
    assert (stored.height, stored.width, stored.orientation) == (40, 24, 6)
    assert Image.open(io.BytesIO(stored.image)).getexif().get(0x0112) is None


def test_where_an_image_was_taken_is_not_kept() -> None:
    exif = Image.Exif()
    exif.get_ifd(0x8825)[1] = "N"
    stored = to_store(_encoded("JPEG", exif=exif))
    assert not Image.open(io.BytesIO(stored.image)).getexif()


def test_awkward_images_are_read_or_refused(shared_data: Path) -> None:
    read, refused = [], {}
    for path in sorted((shared_data / "messy_inputs/images").rglob("*")):
        if path.is_file():
            try:
                stored = to_store(path.read_bytes())
            except ImageError as error:
                refused[path.name] = error
                continue
            read.append(path.name)
            image = open_image(stored.image)
            assert image.format in ("JPEG", "PNG")
            assert image.mode in ("RGB", "L")
            assert image.size == (stored.width, stored.height)
            decode(stored.image)
    assert len(read) > 60
    assert all(error.exit_code == 3 for error in refused.values())


@pytest.mark.slow
def test_tensorflow_reads_what_is_stored(shared_data: Path) -> None:
    import tensorflow as tf

    for path in sorted((shared_data / "messy_inputs/images").rglob("*")):
        if path.is_file():
            try:
                stored = to_store(path.read_bytes())
            except ImageError:
                continue
            pixels = tf.io.decode_image(stored.image, channels=3, expand_animations=False)
            assert pixels.shape == (stored.height, stored.width, 3)
