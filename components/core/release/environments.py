"""The environments' rules: what may enter each, read from environments.yaml and refused where it is not understood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import yaml

from .. import config
from ..errors import ConfigError
from ..task import Task

PACKAGED = Path(__file__).parents[2] / "promote" / "environments.yaml"
KEYS = ("from", "evaluation", "checks", "approvals")


@dataclass(frozen=True)
class Health:
    """The server says that it is ready and reports the version."""


@dataclass(frozen=True)
class Smoke:
    """An image is answered, a broken one refused, the demo page drawn."""


@dataclass(frozen=True)
class Predictions:
    """Sample images with known answers.

    Args:
        of_evaluated: least share of right answers, as a part of the evaluated metric (map50 or accuracy).
    """

    of_evaluated: float = 0.5

    def __post_init__(self) -> None:
        config.at_least("of_evaluated", self.of_evaluated, 0)


@dataclass(frozen=True)
class Regression:
    """The same images to the candidate and to what serves now.

    Args:
        agreement: least share of answers that are the same.
    """

    agreement: float = 0.7

    def __post_init__(self) -> None:
        config.at_least("agreement", self.agreement, 0)


@dataclass(frozen=True)
class Load:
    """A short test under load: each connection sends its next image when the last one is answered.

    Args:
        connections: at the same time.
        seconds: that it lasts.
        p99_ms: most milliseconds for 99 of 100 requests.
        errors: most requests that may fail.
    """

    connections: int = 4
    seconds: float = 3.0
    p99_ms: float = 2000.0
    errors: int = 0

    def __post_init__(self) -> None:
        config.at_least("connections", self.connections, 1)
        config.at_least("seconds", self.seconds, 0.1)
        config.at_least("p99_ms", self.p99_ms, 1)
        config.at_least("errors", self.errors, 0)


Limits = Health | Smoke | Predictions | Regression | Load
# By name, in the order in which they run: without health, no other has a meaning.
CHECKS: dict[str, type[Limits]] = {
    "health": Health,
    "predictions": Predictions,
    "regression": Regression,
    "smoke": Smoke,
    "load": Load,
}


@dataclass(frozen=True)
class Environment:
    """The rules of one environment.

    Args:
        previous: the environment that must hold, or have held, the version; None for the first.
        evaluation: task -> metric -> least value.
        checks: name -> limits, in the order in which they run.
        approvals: what people have to approve.
    """

    name: str
    previous: str | None = None
    evaluation: dict[str, dict[str, float]] = field(default_factory=dict)
    checks: dict[str, Limits] = field(default_factory=dict)
    approvals: tuple[str, ...] = ()


Rules = dict[str, Environment]


def read(path: str | Path | None = None) -> Rules:
    """Reads the rules.

    Args:
        path: an environments.yaml; None for the packaged one.

    Returns:
        Environment by name, in the order in which a model goes through them.

    Raises:
        ConfigError: no such file, no YAML, a key that is none (with the nearest right one), a value that does not fit.
    """
    file = Path(path) if path is not None else PACKAGED
    try:
        value = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: the environments' rules cannot be read ({error.strerror}).") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: the environments' rules are no YAML ({error}).") from error
    rules: Rules = {}
    try:
        for name, entry in _mapping(value, "the file").items():
            rules[name] = _environment(name, _mapping(entry, name), list(rules))
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from error
    if not rules:
        raise ConfigError(f"{file}: there is no environment in it.")
    return rules


def find(rules: Rules, name: str) -> Environment:
    """The rules of one environment. Raises: ConfigError with the nearest name."""
    if name not in rules:
        raise ConfigError(f"There is no environment '{name}'.", config.nearest(name, rules))
    return rules[name]


def _environment(name: str, entry: Mapping[str, Any], before: list[str]) -> Environment:
    _known(entry, KEYS, name)
    previous = entry.get("from")
    if previous is not None and previous not in before:
        raise ConfigError(f"'{name}.from' is {previous!r}: it must be an environment that stands before it.")
    evaluation = _mapping(entry.get("evaluation"), f"{name}.evaluation")
    _known(evaluation, get_args(Task), f"{name}.evaluation")
    checks = _mapping(entry.get("checks"), f"{name}.checks")
    _known(checks, CHECKS, f"{name}.checks")
    if checks and "health" not in checks:
        raise ConfigError(f"'{name}.checks' has no 'health': no other check has a meaning without it.")
    approvals = entry.get("approvals") or []
    if not isinstance(approvals, list) or not all(isinstance(what, str) for what in approvals):
        raise ConfigError(f"'{name}.approvals' is {approvals!r}: it must be a list of names.")
    return Environment(
        name,
        previous,
        {task: _minimums(least, f"{name}.evaluation.{task}") for task, least in evaluation.items()},
        {
            check: config.load(kind, _mapping(checks[check], f"{name}.checks.{check}"), f"{name}.checks.{check}")
            for check, kind in CHECKS.items()
            if check in checks
        },
        tuple(approvals),
    )


def _minimums(value: Any, where: str) -> dict[str, float]:
    minimums = _mapping(value, where)
    for metric, least in minimums.items():
        if isinstance(least, bool) or not isinstance(least, (int, float)):
            raise ConfigError(f"'{where}.{metric}' is {least!r}: it must be a number.")
    return {metric: float(least) for metric, least in minimums.items()}


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ConfigError(f"'{where}' is {value!r}: it must be a mapping of names to values.")
    return value


def _known(entry: Mapping[str, Any], names: Any, where: str) -> None:
    for key in entry:
        if key not in names:
            raise ConfigError(f"'{where}' has no key '{key}'.", config.nearest(key, names))
