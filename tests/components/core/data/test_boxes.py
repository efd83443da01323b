"""Boxes, anchors and suppression: properties, and known values from the papers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from towpath.components.core.data import boxes
from towpath.components.core.errors import ConfigError, ShapeError
from towpath.components.core.models import anchors, detection
from towpath.components.core.models.anchors import AnchorSpec
from towpath.components.core.models.detection import PostProcess


def some_boxes(least: int = 0, most: int = 12) -> st.SearchStrategy[np.ndarray]:
    """[N, 4] relative boxes with area."""
    number = st.floats(0, 0.875, width=32)

    def with_area(corners: np.ndarray) -> np.ndarray:
        low = corners[:, :2]
        return np.concatenate([low, low + np.maximum(corners[:, 2:] * (1 - low), 0.01)], axis=1).astype(np.float32)

    shape = st.integers(least, most).map(lambda count: (count, 4))
    return arrays.arrays(np.float32, shape, elements=number).map(with_area)


@settings(deadline=None)
@given(some_boxes(), some_boxes())
def test_overlap_is_a_share_and_the_same_both_ways(a: np.ndarray, b: np.ndarray) -> None:
    overlap = boxes.pairwise_iou(a, b)
    assert overlap.shape == (len(a), len(b))
    assert ((overlap >= 0) & (overlap <= 1 + 1e-6)).all()
    assert np.allclose(overlap, boxes.pairwise_iou(b, a).T, atol=1e-6)
    assert np.allclose(np.diag(boxes.pairwise_iou(a, a)), 1, atol=1e-6)


def test_overlap_of_known_boxes() -> None:
    a = np.array([[0, 0, 2, 2], [0, 0, 1, 1]], np.float32)
    b = np.array([[1, 1, 3, 3], [5, 5, 6, 6], [1, 1, 1, 1]], np.float32)
    assert np.allclose(boxes.pairwise_iou(a, b), [[1 / 7, 0, 0], [0, 0, 0]])


def test_a_wrong_shape_is_named() -> None:
    with pytest.raises(ShapeError, match=r"\(2, 3\)"):
        boxes.pairwise_iou(np.zeros((2, 3), np.float32), np.zeros((1, 4), np.float32))


@settings(deadline=None)
@given(some_boxes(1), st.randoms(use_true_random=False))
def test_decode_undoes_encode(found: np.ndarray, random: object) -> None:
    around = np.clip(found + np.float32([-0.02, 0.01, 0.03, 0.04]), 0, 1.2).astype(np.float32)
    around[:, 2:] = np.maximum(around[:, 2:], around[:, :2] + 0.02)
    assert np.allclose(boxes.decode(boxes.encode(found, around), around), found, atol=1e-4)


def test_the_papers_anchors_have_the_papers_sides() -> None:
    """Lin et al. 2017, section 4: areas of 32² at P3 to 512² at P7, three ratios, three scales."""
    spec = AnchorSpec()
    made = anchors.make(spec, 640) * 640
    counts = [(640 // 2**level) ** 2 * 9 for level in spec.levels]
    assert len(made) == sum(counts)
    areas = boxes.areas(made)
    first = np.cumsum([0, *counts[:-1]])
    assert np.allclose(np.sqrt(areas[first]), [32, 64, 128, 256, 512], rtol=1e-4)
    ratios = (made[:3, 2] - made[:3, 0]) / (made[:3, 3] - made[:3, 1])
    assert np.allclose(ratios, [0.5, 1, 2], rtol=1e-4)


def test_an_input_that_the_pyramid_does_not_divide_names_those_that_fit() -> None:
    with pytest.raises(ConfigError, match="Use 256 or 384"):
        anchors.make(AnchorSpec(), 300)


@settings(deadline=None)
@given(some_boxes(0, 20), st.integers(1, 3), st.floats(0.1, 0.9))
def test_suppression_is_the_textbooks(found: np.ndarray, classes: int, threshold: float) -> None:
    labels = np.arange(len(found)) % classes
    keep: list[int] = []
    for index in range(len(found)):
        same = [kept for kept in keep if labels[kept] == labels[index]]
        if not same or boxes.pairwise_iou(found[same], found[index : index + 1]).max() <= threshold:
            keep.append(index)
    assert detection.non_max_suppression(found, labels, threshold, 100).tolist() == keep


def test_objects_come_best_first_and_below_the_threshold_not_at_all() -> None:
    spec = AnchorSpec(levels=(3,), size=2.0, scales=(1.0,), ratios=(1.0,))
    made = anchors.make(spec, 64)
    scores = np.zeros((len(made), 2), np.float32)
    scores[10], scores[40], scores[41] = (0.3, 0.9), (0.6, 0.0), (0.04, 0.0)
    found = detection.postprocess(scores, np.zeros((len(made), 4), np.float32), made, PostProcess())
    assert found.scores.tolist() == pytest.approx([0.9, 0.6, 0.3])
    assert found.labels.tolist() == [1, 0, 0]
    assert np.allclose(found.boxes[0], made[10])
