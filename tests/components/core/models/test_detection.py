"""Suppression and post-processing as properties; known cases lie in data/test_boxes.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from towpath.components.core.data import boxes
from towpath.components.core.models import anchors, detection
from towpath.components.core.models.anchors import AnchorSpec
from towpath.components.core.models.detection import Detections, PostProcess

# 16 cells with one anchor each; neighbours overlap by a third.
ANCHORS = anchors.make(AnchorSpec(levels=(3,), size=2.0, scales=(1.0,), ratios=(1.0,)), 32)
CLASSES = 2
_SCORES = arrays.arrays(np.float32, (len(ANCHORS), CLASSES), elements=st.floats(0, 1, width=32))
_DELTAS = arrays.arrays(np.float32, (len(ANCHORS), 4), elements=st.floats(-4, 4, width=32))
_POSTS = st.builds(
    PostProcess,
    score_threshold=st.floats(0, 1),
    iou_threshold=st.floats(0, 1),
    max_detections=st.integers(1, 40),
    candidates=st.integers(1, 40),
)


def still(scores: np.ndarray, post: PostProcess) -> Detections:
    """Scores at anchors that are not moved."""
    return detection.postprocess(scores.astype(np.float32), np.zeros((len(ANCHORS), 4), np.float32), ANCHORS, post)


@settings(deadline=None, max_examples=60)
@given(_SCORES, _DELTAS, _POSTS)
def test_objects_are_best_first_few_enough_and_apart(scores: np.ndarray, deltas: np.ndarray, post: PostProcess) -> None:
    found = detection.postprocess(scores, deltas, ANCHORS, post)
    assert len(found.boxes) == len(found.scores) == len(found.labels) <= min(post.max_detections, post.candidates)
    assert (np.diff(found.scores) <= 0).all()
    assert (found.scores >= post.score_threshold).all()
    assert (found.boxes.dtype, found.scores.dtype, found.labels.dtype) == (np.float32, np.float32, np.int64)
    for label in range(CLASSES):
        of_class = found.boxes[found.labels == label]
        overlap = boxes.pairwise_iou(of_class, of_class)
        np.fill_diagonal(overlap, 0)
        assert (overlap <= post.iou_threshold).all()


@settings(deadline=None, max_examples=60)
@given(_SCORES, _DELTAS, _POSTS)
def test_every_object_is_an_anchors_own_score_and_box(
    scores: np.ndarray, deltas: np.ndarray, post: PostProcess
) -> None:
    found = detection.postprocess(scores, deltas, ANCHORS, post)
    decoded = boxes.decode(deltas, ANCHORS)
    for box, score, label in zip(found.boxes, found.scores, found.labels, strict=True):
        assert ((decoded == box).all(axis=1) & (scores[:, label] == score)).any()


@settings(deadline=None, max_examples=60)
@given(_DELTAS, st.integers(1, 20), st.integers(1, 3), st.floats(0, 1))
def test_a_lower_limit_keeps_the_first_of_what_a_higher_keeps(
    deltas: np.ndarray, limit: int, classes: int, threshold: float
) -> None:
    found = boxes.decode(deltas, ANCHORS)
    labels = np.arange(len(found)) % classes
    every = detection.non_max_suppression(found, labels, threshold, len(found))
    assert (np.diff(every) > 0).all()
    few = detection.non_max_suppression(found, labels, threshold, limit)
    assert few.tolist() == every[:limit].tolist()


def test_nothing_in_gives_nothing_out() -> None:
    none = np.zeros((0, 4), np.float32)
    assert detection.non_max_suppression(none, np.zeros(0, np.int64), 0.5, 10).tolist() == []
    found = still(np.zeros((len(ANCHORS), CLASSES)), PostProcess())
    assert found.boxes.shape == (0, 4)
    assert found.scores.shape == found.labels.shape == (0,)


def test_one_place_may_hold_an_object_of_each_class() -> None:
    scores = np.zeros((len(ANCHORS), CLASSES))
    scores[5] = 0.8, 0.9
    found = still(scores, PostProcess())
    assert found.labels.tolist() == [1, 0]
    assert (found.boxes[0] == found.boxes[1]).all()


@pytest.mark.parametrize(("threshold", "kept"), [(0.5, 1), (0.50001, 0)])
def test_a_score_at_the_threshold_stays(threshold: float, kept: int) -> None:
    scores = np.zeros((len(ANCHORS), CLASSES))
    scores[3, 0] = 0.5
    assert len(still(scores, PostProcess(score_threshold=threshold)).scores) == kept


def test_an_overlap_at_the_threshold_stays() -> None:
    pair = np.array([[0, 0, 1, 1], [0, 0, 1, 0.5]], np.float32)
    same = np.zeros(2, np.int64)
    assert detection.non_max_suppression(pair, same, 0.5, 10).tolist() == [0, 1]
    assert detection.non_max_suppression(pair, same, 0.49, 10).tolist() == [0]


def test_equal_scores_keep_the_anchors_order() -> None:
    scores = np.zeros((len(ANCHORS), CLASSES))
    scores[:, 1] = 0.5
    found = still(scores, PostProcess(iou_threshold=1.0, candidates=6))
    assert np.allclose(found.boxes, ANCHORS[:6], atol=1e-6)


def test_candidates_beyond_the_best_are_not_looked_at() -> None:
    scores = np.zeros((len(ANCHORS), CLASSES))
    scores[0], scores[15] = (0.9, 0), (0.1, 0)
    assert len(still(scores, PostProcess(candidates=1)).scores) == 1
    assert len(still(scores, PostProcess(candidates=2)).scores) == 2
