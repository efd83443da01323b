"""Moments as people and records read them."""

from __future__ import annotations

import datetime


def now() -> str:
    """This moment, UTC, to the second, ISO 8601."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
