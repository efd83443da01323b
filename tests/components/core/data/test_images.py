"""Images from strangers are read within limits, or refused with a reason."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from towpath.components.core.data.images import ImageError, decode, fit_to, fitted_size, open_image


def _png(pixels: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


@given(st.binary(max_size=200))
def test_bytes_that_are_no_image_are_refused(data: bytes) -> None:
    with pytest.raises(ImageError):
        decode(data)


@given(st.data())
def test_a_damaged_image_is_read_or_refused(data: st.DataObject) -> None:
    file = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)).save(file, "JPEG")
    damaged = bytearray(file.getvalue())
    for _ in range(data.draw(st.integers(1, 8))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        pixels, size = decode(bytes(damaged))
    except ImageError:
        return
    assert pixels.shape == (*size, 3)


def test_lossless_pixels_come_back() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    read, size = decode(_png(pixels))
    assert size == (5, 7)
    np.testing.assert_array_equal(read, pixels)


def test_too_many_pixels_are_refused_unread() -> None:
    with pytest.raises(ImageError, match="200×100 pixels: the limit is 1,000"):
        open_image(_png(np.zeros((100, 200, 3), np.uint8)), max_pixels=1000)


@given(st.integers(1, 300), st.integers(1, 300), st.integers(32, 128))
def test_boxes_find_their_way_back(height: int, width: int, side: int) -> None:
    inner = fitted_size(height, width, side)
    assert max(inner) == side
    _, place = fit_to(np.zeros((height, width, 3), np.uint8), (height, width), side, "letterbox")
    whole = np.array([[0, 0, inner[0] / side, inner[1] / side]], np.float32)
    np.testing.assert_allclose(place.to_image(whole), [[0, 0, 1, 1]], atol=1e-5)
