"""What a model answers, and the parts of a data set: names that every step, and a server too, knows."""

from __future__ import annotations

from typing import Literal

Task = Literal["detection", "classification"]
SPLITS = ("train", "val", "test")
