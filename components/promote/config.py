"""Settings of the promote step. What may enter an environment is in its rules."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PromoteConfig:
    """How a decision is carried out.

    Attributes:
        port: fixed port of the environment's live server; None keeps the one that the system chose the first time.
    """

    port: int | None = None

    def __post_init__(self) -> None:
        if self.port is not None and not 1 <= self.port <= 65535:
            raise ValueError(f"'port' is {self.port}: it must be 1 to 65535.")
