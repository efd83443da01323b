"""Moments as records hold them."""

from __future__ import annotations

import datetime

from towpath.components.core import clock


def test_now_is_this_second_in_utc() -> None:
    before = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
    found = datetime.datetime.fromisoformat(clock.now())
    assert before <= found <= datetime.datetime.now(datetime.timezone.utc)
    assert found.utcoffset() == datetime.timedelta(0)
    assert found.microsecond == 0


def test_moments_sort_as_text() -> None:
    moments = [clock.now() for _ in range(3)]
    assert moments == sorted(moments)
    assert {len(moment) for moment in moments} == {len("2026-01-02T03:04:05+00:00")}
