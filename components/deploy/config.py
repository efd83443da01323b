"""Settings of the deploy step."""

from __future__ import annotations

from dataclasses import dataclass

from ..core import config
from ..core.backends.base import BackendName
from ..core.backends.local.service_state import READY_SECONDS


@dataclass(frozen=True)
class DeployConfig:
    """How a candidate is started.

    Args:
        backend: what runs it: "local" is a supervised server process on this machine.
        ready_seconds: that it may take to answer; TensorFlow alone takes ten on a small machine that is busy.
    """

    backend: BackendName = "local"
    ready_seconds: float = READY_SECONDS

    def __post_init__(self) -> None:
        config.at_least("ready_seconds", self.ready_seconds, 1)
