"""Anchors: how many, in which order, and for which inputs. That they are the paper's: see data/test_boxes.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from towpath.components.core.errors import ConfigError
from towpath.components.core.models import anchors
from towpath.components.core.models.anchors import AnchorSpec

_SPECS = st.builds(
    AnchorSpec,
    levels=st.lists(st.integers(3, 6), min_size=1, max_size=3, unique=True).map(sorted).map(tuple),
    size=st.floats(0.5, 8),
    scales=st.lists(st.floats(0.5, 2), min_size=1, max_size=3).map(tuple),
    ratios=st.lists(st.floats(0.25, 4), min_size=1, max_size=3).map(tuple),
)


@settings(deadline=None, max_examples=30)
@given(_SPECS, st.integers(1, 3))
def test_there_are_as_many_as_the_cells_hold(spec: AnchorSpec, times: int) -> None:
    side = times * 2 ** max(spec.levels)
    made = anchors.make(spec, side)
    assert spec.per_cell == len(spec.scales) * len(spec.ratios)
    assert made.shape == (sum((side // 2**level) ** 2 for level in spec.levels) * spec.per_cell, 4)
    assert made.dtype == np.float32
    assert (made[:, :2] < made[:, 2:]).all()


def test_they_run_by_level_row_column_scale_ratio() -> None:
    spec = AnchorSpec(levels=(3, 4), size=2.0, scales=(1.0, 2.0), ratios=(0.25, 4.0))
    made = anchors.make(spec, 32) * 32
    centres = (made[:, :2] + made[:, 2:]) / 2
    sides = made[:, 2:] - made[:, :2]
    fine = [(8 * row + 4, 8 * column + 4) for row in range(4) for column in range(4)]
    coarse = [(16 * row + 8, 16 * column + 8) for row in range(2) for column in range(2)]
    assert np.allclose(centres, np.repeat(fine + coarse, 4, axis=0), atol=1e-4)
    # (height, width): twice the stride on the side, height / width 1/4 then 4, at equal area.
    shapes = np.array([(0.5, 2), (2, 0.5), (1, 4), (4, 1)])
    assert np.allclose(sides[: 16 * 4], np.tile(shapes * 16, (16, 1)), atol=1e-4)
    assert np.allclose(sides[16 * 4 :], np.tile(shapes * 32, (4, 1)), atol=1e-4)


@pytest.mark.parametrize(("side", "advice"), [(300, "256 or 384"), (100, "128 or 256"), (129, "128 or 256")])
def test_an_input_that_the_coarsest_level_does_not_divide_is_refused(side: int, advice: str) -> None:
    with pytest.raises(ConfigError) as raised:
        anchors.make(AnchorSpec(), side)
    assert f"'input_size' is {side}" in raised.value.message
    assert advice in str(raised.value.hint)
