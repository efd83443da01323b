"""Settings of the serve step."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from ..core.config import at_least


def _cores() -> int:
    # The cores that a container may use, where the system reports them.
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@dataclass(frozen=True)
class ServeConfig:
    """Settings of the serve step.

    Attributes:
        host: the address to listen on. Only this machine by default: there is no authentication yet.
        port: 0 takes any free port; the ready-file and the first line on stderr name it.
        reuse_port: share the port with another server process, so that a new one takes over without a gap.
        variant: of every bundle; None takes float32 on LiteRT if a bundle has it, else its SavedModel.
        threads: requests that are decoded and answered at the same time; one copy of each model per thread. One per
            core by default: each request keeps a core busy.
        max_waiting: requests that may wait for a thread; more are rejected with 429. 64 are about a second of work
            for a small model, longer than a client wants to wait.
        max_body_bytes: of one request. 32 MiB hold any phone's image, also as base64 (4/3 its size).
        max_instances: images in one `:predict`. A decoded image takes 12 bytes per pixel of the model's input:
            32 of 640×640 are 150 MiB.
    """

    host: str = "127.0.0.1"
    port: int = 8501
    reuse_port: bool = False
    variant: str | None = None
    threads: int = field(default_factory=_cores)
    max_waiting: int = 64
    max_body_bytes: int = 32 << 20
    max_instances: int = 32

    def __post_init__(self) -> None:
        at_least("port", self.port, 0)
        if self.port > 65535:
            raise ValueError(f"'port' is {self.port}: it must be at most 65535.")
        at_least("threads", self.threads, 1)
        at_least("max_waiting", self.max_waiting, 0)
        at_least("max_body_bytes", self.max_body_bytes, 1)
        at_least("max_instances", self.max_instances, 1)
