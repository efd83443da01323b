"""The kinds of checks: one file per kind, with its limits beside it."""

from __future__ import annotations

from typing import Any

from ...core import config
from ...core.errors import ConfigError
from ...core.release.environments import Environment
from . import health, load, predictions, regression, smoke
from .subject import AnyKind, Subject

__all__ = ["KINDS", "AnyKind", "Subject", "limits_of"]

# By name, in the order in which they run: without health, no other has a meaning.
KINDS: dict[str, AnyKind] = {
    "health": health.KIND,
    "predictions": predictions.KIND,
    "regression": regression.KIND,
    "smoke": smoke.KIND,
    "load": load.KIND,
}


def limits_of(environment: Environment) -> dict[str, Any]:
    """The limits that an environment's rules set: kind -> its dataclass, in the order in which the checks run.

    Raises:
        ConfigError: an unknown kind or limit (with the nearest right name), a value that does not fit, or no health.
    """
    where = f"{environment.name}.checks"
    for kind in environment.checks:
        if kind not in KINDS:
            raise ConfigError(f"'{where}' has no key '{kind}'.", config.nearest(kind, KINDS))
    if environment.checks and "health" not in environment.checks:
        raise ConfigError(f"'{where}' has no 'health': no other check has a meaning without it.")
    return {
        kind: config.load(KINDS[kind].limits, environment.checks[kind], f"{where}.{kind}")  # type: ignore[arg-type]
        for kind in KINDS
        if kind in environment.checks
    }
