"""Settings of the check step. What is checked, and the limits, are the environment's rules."""

from __future__ import annotations

from dataclasses import dataclass

from ..core import config


@dataclass(frozen=True)
class CheckConfig:
    """How checks are run.

    Attributes:
        timeout_seconds: for one answer; ten times what a large detector takes on a small machine.
    """

    timeout_seconds: float = 20.0

    def __post_init__(self) -> None:
        config.at_least("timeout_seconds", self.timeout_seconds, 0.1)
