"""What is deployed to every environment, as recorded and as served."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.backends.base import backend
from ..core.release import decisions, registry
from ..core.release.environments import Rules


@dataclass(frozen=True)
class Row:
    """One model in one environment.

    Attributes:
        environment: its name.
        name: the model's.
        version: the deployed one, as the registry says; None where a promotion was killed before it was recorded.
        serving: that the live server holds; None where none runs.
        since: when it was promoted, UTC, ISO 8601; None where that is not recorded.
        url: of the live server.
        healthy: the server says that it is ready, and serves what is recorded.
    """

    environment: str
    name: str
    version: str | None
    serving: str | None
    since: str | None
    url: str | None
    healthy: bool


def status(rules: Rules) -> list[Row]:
    """A row for every model in every environment, in the rules' order."""
    recorded = registry.environments()
    rows = []
    for environment, entry in rules.items():
        servers = backend(entry.backend)
        deployed = recorded.get(environment, {})
        live = servers.live(environment)
        serving = {model.name: model.version for model in live.models} if live else {}
        healthy = live is not None and servers.healthy(live)
        since = {event.name: event.when for event in decisions.history(environment) if event.action != "reject"}
        for name in sorted({*deployed, *serving}):
            right = healthy and deployed.get(name) == serving.get(name)
            url = live.url if live and name in serving else None
            rows.append(Row(environment, name, deployed.get(name), serving.get(name), since.get(name), url, right))
    return rows
