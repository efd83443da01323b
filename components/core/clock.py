"""Timestamps for people and for records."""

from __future__ import annotations

import datetime


def now() -> str:
    """Returns the current time: UTC, to the second, ISO 8601."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
