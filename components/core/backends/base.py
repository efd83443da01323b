"""Where a model is deployed: what every backend does for the deploy, check and promote steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from .local import services
from .local.service_state import ServedModel, Server, Wanted

BackendName = Literal["local"]


class Backend(Protocol):
    """What runs an environment's servers. Every call can be repeated without harm."""

    def start_candidate(self, environment: str, models: Sequence[ServedModel], ready_seconds: float = ...) -> str:
        """Brings up a server beside the live one. Returns: its URL, once it is ready."""

    def promote_candidate(self, environment: str, name: str, version: str, port: int | None = None) -> str:
        """Puts the candidate's version of one model into the live server. Returns: its URL, once it is ready."""

    def stop_candidate(self, environment: str) -> None:
        """Takes the candidate away; what is live is not touched."""

    def start(self, environment: str) -> str:
        """Brings the live server back with what it held last. Returns: its URL, once it is ready."""

    def live(self, environment: str) -> Server | None:
        """The server that answers for the environment now."""

    def candidate(self, environment: str) -> Server | None:
        """The candidate that waits for a decision."""

    def wanted(self, environment: str) -> Wanted:
        """What the environment is to serve, whether it runs at this moment or not."""


def backend(name: BackendName) -> Backend:
    """The backend of that name; a step's config has refused any other."""
    return {"local": services}[name]
