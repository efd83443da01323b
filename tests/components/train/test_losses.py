"""The losses against their formulas, written out in float64 NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from towpath.components.train import losses


def naive_focal(logit: float, target: float, alpha: float = 0.25, gamma: float = 2.0) -> float:
    """Lin et al. 2017, equation 5, as it stands there."""
    p = 1 / (1 + np.exp(-np.float64(logit)))
    if target:
        return float(-alpha * (1 - p) ** gamma * np.log(p))
    return float(-(1 - alpha) * p**gamma * np.log(1 - p))


@settings(max_examples=50, deadline=None)
@given(st.floats(-15, 15), st.sampled_from([0.0, 1.0]))
def test_focal_loss_is_the_papers(logit: float, target: float) -> None:
    ours = float(losses.sigmoid_focal(np.float32([logit]), np.float32([target]))[0])
    assert ours == pytest.approx(naive_focal(logit, target), rel=2e-4, abs=1e-7)


@pytest.mark.parametrize("logit", [-1e4, -88.0, 88.0, 1e4])
@pytest.mark.parametrize("target", [0.0, 1.0])
def test_focal_loss_stays_finite_where_the_formula_overflows(logit: float, target: float) -> None:
    assert np.isfinite(float(losses.sigmoid_focal(np.float32([logit]), np.float32([target]))[0]))


def test_smooth_l1_is_a_square_then_a_line() -> None:
    difference = np.float32([0, 0.05, -0.05, 0.1, 1, -2])
    expected = [0, 0.0125, 0.0125, 0.05, 0.95, 1.95]
    assert np.allclose(losses.smooth_l1(difference, beta=0.1), expected, atol=1e-6)


def test_ignored_anchors_count_nowhere_and_background_only_as_class() -> None:
    loss = losses.RetinaNetLoss()
    logits, box_deltas = np.zeros((1, 3, 2), np.float32), np.ones((1, 3, 4), np.float32)
    targets = {"labels": np.array([[1, loss.BACKGROUND, loss.IGNORED]]), "box_deltas": np.zeros((1, 3, 4), np.float32)}
    class_loss, box_loss = loss(targets, {"logits": logits, "box_deltas": box_deltas})
    positive = naive_focal(0, 1) + naive_focal(0, 0)
    assert float(class_loss) == pytest.approx(positive + 2 * naive_focal(0, 0), rel=1e-5)
    assert float(box_loss) == pytest.approx(4 * 0.95, rel=1e-5)


def test_a_batch_without_objects_has_a_loss() -> None:
    loss = losses.RetinaNetLoss()
    targets = {"labels": np.full((1, 2), loss.BACKGROUND), "box_deltas": np.zeros((1, 2, 4), np.float32)}
    outputs = {"logits": np.zeros((1, 2, 3), np.float32), "box_deltas": np.ones((1, 2, 4), np.float32)}
    class_loss, box_loss = loss(targets, outputs)
    assert float(class_loss) > 0
    assert float(box_loss) == 0
