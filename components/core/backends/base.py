"""Where a version runs: what every backend does for deploy, check and promote, and which backends there are."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, cast

from .. import config
from ..errors import ConfigError

Role = Literal["live", "candidate"]
ROLES: tuple[Role, ...] = ("live", "candidate")
READY_SECONDS = 180.0  # TensorFlow alone takes ten on a busy small machine
# Name, as environments.yaml gives it -> the module with the functions of `Backend`; imported when asked for.
BACKENDS = {"local": "local.backend"}


@dataclass(frozen=True)
class ServedModel:
    """A version of a model as a server holds it; `bundle` is where it is read from."""

    name: str
    version: str
    bundle: str


@dataclass(frozen=True)
class Deployment:
    """A server of an environment.

    Attributes:
        environment: that it belongs to.
        role: "live" answers the environment's users, "candidate" waits beside it for a decision.
        url: where it answers; "" where it does not yet.
        models: that it holds.
        since: when it became ready, UTC, ISO 8601; "" where it is not.
    """

    environment: str
    role: Role
    url: str
    models: tuple[ServedModel, ...]
    since: str

    def holds(self, name: str, version: str) -> bool:
        """Whether it serves that version of a model."""
        return holds(self.models, name, version)


@dataclass(frozen=True)
class DesiredState:
    """What an environment is to serve, whether it runs at this moment or not.

    Attributes:
        running: False after `stop`: the models stay noted, for the next start.
        live: models of the live server; empty where nothing was ever promoted.
        candidate: models of the candidate; empty where there is to be none.
    """

    running: bool = False
    live: tuple[ServedModel, ...] = ()
    candidate: tuple[ServedModel, ...] = ()

    def models(self, role: Role) -> tuple[ServedModel, ...]:
        """What the server of that role is to hold."""
        return self.live if role == "live" else self.candidate


@dataclass(frozen=True)
class Status:
    """A deployment as an operator sees it.

    Attributes:
        deployment: the server.
        healthy: it says now that it is ready.
        detail: what else the backend knows, in words ("process 4711, restarted once").
    """

    deployment: Deployment
    healthy: bool
    detail: str


class Backend(Protocol):
    """Runs the servers of environments. Every call can be repeated without harm.

    Calls that bring something up wait until it is ready. They raise RetryError when it does not get ready in time, and
    DataError, ConfigError or MissingError when it ended, with the end of its log; what served before keeps serving.
    """

    def start_candidate(
        self, environment: str, models: Sequence[ServedModel], ready_seconds: float = READY_SECONDS
    ) -> Deployment:
        """Brings up a server beside the live one."""

    def promote_candidate(self, environment: str, name: str, version: str, port: int | None = None) -> Deployment:
        """Puts the candidate's version of one model into the live server; its other models stay as they are."""

    def stop_candidate(self, environment: str) -> None:
        """Takes the candidate away; what is live is not touched."""

    def start(self, environment: str) -> Deployment:
        """Brings the live server back with what it held last."""

    def stop(self, environment: str | None = None) -> list[str]:
        """Stops the servers of one environment, or of all; names those that were running."""

    def live(self, environment: str) -> Deployment | None:
        """The server that answers for the environment now."""

    def candidate(self, environment: str) -> Deployment | None:
        """The candidate that waits for a decision."""

    def desired(self, environment: str) -> DesiredState:
        """What the environment is to serve."""

    def healthy(self, deployment: Deployment) -> bool:
        """Whether a server says that it is ready."""

    def status(self) -> list[Status]:
        """Every server that there is or ought to be, by environment and role."""


def backend(name: str) -> Backend:
    """The backend of that name.

    Raises:
        ConfigError: there is none; names the nearest.
    """
    if name not in BACKENDS:
        raise ConfigError(f"There is no backend '{name}'.", config.nearest(name, BACKENDS))
    return cast(Backend, importlib.import_module(f".{BACKENDS[name]}", __package__))


def holds(models: Sequence[ServedModel], name: str, version: str) -> bool:
    """Whether that version of a model is among them."""
    return any(model.name == name and model.version == version for model in models)
