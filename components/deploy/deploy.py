"""Starts a candidate beside what an environment serves."""

from __future__ import annotations

from ..core.backends.base import ServedModel, backend
from ..core.release import environments, registry
from ..core.release.environments import Rules
from .config import DeployConfig


def deploy(name: str, version: str, environment: str, rules: Rules, config: DeployConfig) -> str:
    """Brings up a version so that it can be checked; nothing that users of the environment see changes.

    The candidate holds the environment's other models too, as it will when it is promoted.

    Args:
        name: of the model in the registry.
        version: of the model.
        environment: that it is deployed to.
        rules: of all environments; they say what runs this one's servers.
        config: see DeployConfig.

    Returns:
        The candidate's URL; the live server's where that holds the version already.

    Raises:
        ConfigError: no such environment, or the registry has no such version.
        BundleError: the bundle is not the one that was registered.
        RetryError: the server did not come up in time.
        DataError: the server ended; the end of its log is in the message.
    """
    servers = backend(environments.find(rules, environment).backend)
    found = registry.verified(name, version)
    models = {model.name: model for model in servers.desired(environment).live}
    if name in models and models[name].version == found.version:
        return servers.start(environment).url
    for other, deployed in registry.environments().get(environment, {}).items():
        if other != name and other not in models:  # the backend's own record is gone, the registry's is not
            models[other] = _served(other, deployed)
    models[name] = ServedModel(name, found.version, str(found.bundle))
    return servers.start_candidate(environment, list(models.values()), config.ready_seconds).url


def _served(name: str, version: str) -> ServedModel:
    found = registry.verified(name, version)
    return ServedModel(name, version, str(found.bundle))
