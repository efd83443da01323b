"""Back to the version that an environment held before."""

from __future__ import annotations

from typing import NamedTuple

from ..core import config as configs
from ..core.backends.base import Backend, backend
from ..core.backends.local import services
from ..core.backends.local.service_state import ServedModel
from ..core.errors import ConfigError, RetryError, TowpathError
from ..core.release import decisions, registry
from .config import PromoteConfig


class RolledBack(NamedTuple):
    """Which version was taken out, which serves again."""

    from_version: str
    to_version: str


def rollback(environment: str, name: str | None = None, config: PromoteConfig | None = None) -> RolledBack:
    """Brings back the version that served before the one that serves now; again: the one before that.

    No check is asked but health: a rollback is for an emergency, and the version has passed its gate before.

    Args:
        name: of the model; None where the environment holds one only.

    Raises:
        ConfigError: no such model there, several and no name, or no earlier version.
        RetryError: the old version's server does not come up; what serves goes on serving.
    """
    config = config or PromoteConfig()
    held = registry.environments().get(environment, {})
    name = name or _only(environment, held)
    if name not in held:
        raise ConfigError(
            f"'{environment}' holds no model '{name}'.", configs.nearest(name, held) if held else "It holds none."
        )
    turns = [turn for turn in decisions.deployment_history(decisions.history(environment, name)) if turn != held[name]]
    if not turns:
        raise ConfigError(f"'{environment}' has held no earlier version of '{name}' than {held[name]}.")
    servers = backend(config.backend)
    run = decisions.begin("rollback", name, turns[-1], environment, held[name], [f"rolled back from {held[name]}"])
    try:
        _swap(servers, environment, name, turns[-1], config)
    except TowpathError as error:
        decisions.fail(run, str(error))
        raise
    registry.set_deployed_version(name, turns[-1], environment)
    decisions.end(run, {}, {})
    return RolledBack(held[name], turns[-1])


def _only(environment: str, held: dict[str, str]) -> str:
    if len(held) != 1:
        what = f"holds {len(held)} models ({', '.join(sorted(held))})" if held else "holds no model"
        raise ConfigError(f"'{environment}' {what}.", "Name one of them." if held else None)
    return next(iter(held))


def _swap(servers: Backend, environment: str, name: str, version: str, config: PromoteConfig) -> None:
    found = registry.get(name, version)
    models = {model.name: model for model in servers.wanted(environment).live}
    if name not in models or models[name].version != version:
        models[name] = ServedModel(name, version, str(found.bundle))
        url = servers.start_candidate(environment, list(models.values()))
        if not services.is_healthy(url):
            servers.stop_candidate(environment)
            raise RetryError(f"'{environment}': version {version} of '{name}' came up and is not healthy.")
    servers.promote_candidate(environment, name, version, config.port)
