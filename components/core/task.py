"""The tasks of a model and the splits of a data set: names shared by every step and by the server."""

from __future__ import annotations

from typing import Literal

Task = Literal["detection", "classification"]
SPLITS = ("train", "val", "test")
