"""What every environment holds, as recorded and as served."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.backends.base import backend
from ..core.backends.local import services
from ..core.release import decisions, environments, registry
from .config import PromoteConfig


@dataclass(frozen=True)
class Row:
    """One model in one environment.

    Args:
        version: that the registry says the environment holds; None where a promotion was killed before it was recorded.
        serving: that the live server holds; None where none runs.
        since: when it was promoted, UTC, ISO 8601; None where that is not recorded.
        url: of the live server.
        healthy: the server answers /readyz, and serves what is recorded.
    """

    environment: str
    name: str
    version: str | None
    serving: str | None
    since: str | None
    url: str | None
    healthy: bool


def status(config: PromoteConfig | None = None) -> list[Row]:
    """A row for every model in every environment, in the rules' order."""
    config = config or PromoteConfig()
    recorded = registry.environments()
    rows = []
    for environment in environments.read(config.environments):
        held = recorded.get(environment, {})
        live = backend(config.backend).live(environment)
        serving = {model.name: model.version for model in live.models} if live else {}
        healthy = live is not None and services.is_healthy(live.url)
        since = {event.name: event.when for event in decisions.history(environment) if event.action != "hold"}
        for name in sorted({*held, *serving}):
            right = healthy and held.get(name) == serving.get(name)
            url = live.url if live and name in serving else None
            rows.append(Row(environment, name, held.get(name), serving.get(name), since.get(name), url, right))
    return rows
