"""The predictor on models written by hand, whose right answer the images show."""

from __future__ import annotations

import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

from towpath.components.core.data.images import PAD, ImageError
from towpath.components.core.errors import BundleError
from towpath.components.core.models import bundle
from towpath.components.core.models.predictor import Predictor


def png(height: int, width: int, *squares: tuple[tuple[int, int, int, int], int]) -> bytes:
    """A grey PNG with boxes (top, left, bottom, right), pixels, each of one brightness."""
    pixels = np.full((height, width, 3), 128, np.uint8)
    for (top, left, bottom, right), value in squares:
        pixels[top:bottom, left:right] = value
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


@pytest.fixture(scope="session")
def detector(tmp_path_factory: pytest.TempPathFactory, tiny_models: ModuleType) -> Predictor:
    """8×8 cells on a 64×64 letterboxed input; answers "bright" and "dark" cells."""
    return Predictor(bundle.read(tiny_models.detector(tmp_path_factory.mktemp("model") / "squares")), copies=2)


@pytest.fixture(scope="session")
def classifier(tmp_path_factory: pytest.TempPathFactory, tiny_models: ModuleType) -> Predictor:
    return Predictor(bundle.read(tiny_models.classifier(tmp_path_factory.mktemp("model") / "colours")))


@pytest.mark.parametrize(
    ("height", "width", "box"),
    [
        (64, 64, (16, 24, 24, 32)),
        (128, 128, (32, 48, 48, 64)),
        (32, 64, (8, 40, 16, 48)),  # wide: the input is grey below it
        (64, 32, (40, 8, 48, 16)),  # high: grey to the right of it
        (64, 128, (0, 112, 16, 128)),
        (512, 256, (448, 192, 512, 256)),  # scaled down in decoding, too
        (32, 32, (12, 8, 16, 12)),  # scaled up
    ],
)
def test_boxes_come_back_in_the_images_own_coordinates(
    detector: Predictor, height: int, width: int, box: tuple[int, int, int, int]
) -> None:
    (answer,) = detector([png(height, width, (box, 255))])
    assert (answer.height, answer.width) == (height, width)
    assert answer.scores is None
    assert answer.detections is not None
    best = answer.detections.scores > 0.5
    assert answer.detections.labels[best].tolist() == [0]
    found = answer.detections.boxes[best] * [height, width, height, width]
    assert np.allclose(found, [box], atol=1e-3)


def test_both_classes_are_told_apart_and_the_best_comes_first(detector: Predictor) -> None:
    (answer,) = detector([png(64, 64, ((0, 0, 8, 8), 0), ((56, 48, 64, 56), 255), ((24, 24, 32, 32), 212))])
    assert answer.detections is not None
    found = answer.detections
    assert found.labels[found.scores > 0.5].tolist() == [1, 0, 0]
    assert (np.diff(found.scores) <= 0).all()


def test_the_padding_of_a_letterboxed_image_is_mid_grey(detector: Predictor) -> None:
    prepared = detector.prepare(png(32, 64, ((0, 0, 32, 64), 255)))
    assert prepared.image.shape == (64, 64, 3)
    assert (prepared.image[:32] == 255).all()
    assert (prepared.image[32:] == PAD).all()


def test_a_batch_answers_as_its_images_do_one_by_one(detector: Predictor) -> None:
    images = [png(64, 64 + 8 * i, ((8 * i, 16, 8 * i + 8, 24), 255)) for i in range(4)]
    for one, alone in zip(detector(images), [detector([image])[0] for image in images], strict=True):
        assert (one.height, one.width) == (alone.height, alone.width)
        assert one.detections is not None
        assert alone.detections is not None
        np.testing.assert_array_equal(one.detections.boxes, alone.detections.boxes)
        np.testing.assert_array_equal(one.detections.scores, alone.detections.scores)


def test_threads_get_their_own_answers(detector: Predictor) -> None:
    """More threads than the engine has copies."""
    images = [png(64, 64, ((8 * i, 8 * i, 8 * i + 8, 8 * i + 8), 255)) for i in range(8)]
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda image: detector([image])[0], images * 3))
    for index, answer in enumerate(answers):
        assert answer.detections is not None
        assert np.allclose(answer.detections.boxes[0, :2], index % 8 / 8, atol=1e-6)


@pytest.mark.parametrize(("colour", "label"), [((255, 0, 0), 0), ((0, 255, 0), 1), ((0, 0, 255), 2)])
def test_a_classifier_gives_a_probability_a_class(
    classifier: Predictor, colour: tuple[int, int, int], label: int
) -> None:
    file = io.BytesIO()
    Image.new("RGB", (50, 40), colour).save(file, "PNG")
    (answer,) = classifier([file.getvalue()])
    assert answer.detections is None
    assert answer.scores is not None
    assert answer.scores.shape == (3,)
    assert answer.scores.sum() == pytest.approx(1, abs=1e-5)
    assert answer.scores.argmax() == label
    assert (answer.height, answer.width) == (40, 50)


def test_no_images_have_no_answers(detector: Predictor) -> None:
    assert detector([]) == []
    assert detector.run([]) == []


def test_an_image_that_cannot_be_read_is_refused(detector: Predictor) -> None:
    with pytest.raises(ImageError):
        detector([png(64, 64), b"no image"])


@pytest.mark.parametrize("missing", ["anchors", "post"])
def test_a_detector_must_have_anchors_and_post_processing(
    tmp_path: Path, tiny_models: ModuleType, missing: str
) -> None:
    make: Callable[..., Path] = tiny_models.detector
    found = bundle.read(make(tmp_path / "squares"))
    card = replace(found.card, vision=replace(found.card.vision, **{missing: None}))
    bundle.write(card, found.folder)
    with pytest.raises(BundleError, match="squares"):
        Predictor(bundle.read(found.folder))
