"""Settings of the deploy step. What runs an environment's servers is in its rules."""

from __future__ import annotations

from dataclasses import dataclass

from ..core import config
from ..core.backends.base import READY_SECONDS


@dataclass(frozen=True)
class DeployConfig:
    """How a candidate is started.

    Attributes:
        ready_seconds: that it may take to answer; TensorFlow alone takes ten on a small machine that is busy.
    """

    ready_seconds: float = READY_SECONDS

    def __post_init__(self) -> None:
        config.at_least("ready_seconds", self.ready_seconds, 1)
