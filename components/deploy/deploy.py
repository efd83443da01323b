"""Starts a candidate beside what an environment serves."""

from __future__ import annotations

from ..core.backends.base import backend
from ..core.backends.local.service_state import ServedModel
from ..core.release import registry
from .config import DeployConfig


def deploy(name: str, version: str, environment: str, config: DeployConfig) -> str:
    """Brings up a version so that it can be checked; nothing that users of the environment see changes.

    The candidate holds the environment's other models too, as it will when it is promoted.

    Returns:
        The candidate's URL; the live server's where that holds the version already.

    Raises:
        ConfigError: the registry has no such version. RetryError, DataError: the server did not come up; its log's end
        is in the message.
    """
    found = registry.get(name, version)
    servers = backend(config.backend)
    models = {model.name: model for model in servers.wanted(environment).live}
    if name in models and models[name].version == found.version:
        return servers.start(environment)
    for other, held in registry.environments().get(environment, {}).items():
        if other != name and other not in models:  # the services' own record is gone, the registry's is not
            models[other] = _served(other, held)
    models[name] = ServedModel(name, found.version, str(found.bundle))
    return servers.start_candidate(environment, list(models.values()), config.ready_seconds)


def _served(name: str, version: str) -> ServedModel:
    found = registry.get(name, version)
    return ServedModel(name, version, str(found.bundle))
