"""Back to the version that an environment served before."""

from __future__ import annotations

from typing import NamedTuple

from ..core import config as configs
from ..core.backends.base import Backend, ServedModel, backend
from ..core.errors import ConfigError, RetryError, TowpathError
from ..core.release import decisions, environments, registry
from ..core.release.environments import Rules


class RolledBack(NamedTuple):
    """Which version was taken out, which serves again."""

    from_version: str
    to_version: str


def rollback(environment: str, rules: Rules, name: str | None = None) -> RolledBack:
    """Brings back the version that served before the one that serves now; again: the one before that.

    No check is made but health: a rollback is for an emergency, and the version has passed its gate before.

    Args:
        environment: that is rolled back.
        rules: of all environments; they say what runs this one's servers.
        name: of the model; None where one only is deployed there.

    Raises:
        ConfigError: no such environment or model there, several and no name, or no earlier version.
        RetryError: the old version's server does not come up; what serves keeps serving.
    """
    servers = backend(environments.find(rules, environment).backend)
    with decisions.transaction(environment):
        return _roll_back(environment, servers, name)


def _roll_back(environment: str, servers: Backend, name: str | None) -> RolledBack:
    deployed = registry.environments().get(environment, {})
    name = name or _only(environment, deployed)
    if name not in deployed:
        raise ConfigError(
            f"No model '{name}' is deployed to '{environment}'.",
            configs.nearest(name, deployed) if deployed else "None is.",
        )
    history = decisions.deployment_history(decisions.history(environment, name))
    earlier = [version for version in history if version != deployed[name]]
    if not earlier:
        raise ConfigError(f"'{environment}' has had no earlier version of '{name}' than {deployed[name]}.")
    reasons = [f"rolled back from {deployed[name]}"]
    run = decisions.begin("rollback", name, earlier[-1], environment, deployed[name], reasons)
    try:
        _swap(servers, environment, name, earlier[-1])
    except TowpathError as error:
        decisions.fail(run, str(error))
        raise
    registry.set_deployed_version(name, earlier[-1], environment)
    decisions.end(run, {}, {})
    return RolledBack(deployed[name], earlier[-1])


def _only(environment: str, deployed: dict[str, str]) -> str:
    if len(deployed) == 1:
        return next(iter(deployed))
    if not deployed:
        raise ConfigError(f"No model is deployed to '{environment}'.")
    models = ", ".join(sorted(deployed))
    raise ConfigError(f"{len(deployed)} models are deployed to '{environment}' ({models}).", "Name one of them.")


def _swap(servers: Backend, environment: str, name: str, version: str) -> None:
    found = registry.verified(name, version)
    models = {model.name: model for model in servers.desired(environment).live}
    if name not in models or models[name].version != version:
        models[name] = ServedModel(name, version, str(found.bundle))
        candidate = servers.start_candidate(environment, list(models.values()))
        if not servers.healthy(candidate):
            servers.stop_candidate(environment)
            raise RetryError(f"'{environment}': version {version} of '{name}' came up and is not healthy.")
    servers.promote_candidate(environment, name, version)
