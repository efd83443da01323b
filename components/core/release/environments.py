"""The environments' rules: what may enter each and what it runs on, read from environments.yaml."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import yaml

from .. import config
from ..errors import ConfigError
from ..task import Task

PACKAGED = Path(__file__).with_name("environments.yaml")
KEYS = ("backend", "from", "evaluation", "checks", "approvals")


@dataclass(frozen=True)
class Environment:
    """The rules of one environment.

    Attributes:
        name: of the environment.
        backend: what runs its servers, a name of `backends.base.BACKENDS`.
        previous: the environment that must hold, or have held, the version; None for the first.
        evaluation: task -> metric -> minimum.
        checks: kind -> its limits, as they are written; the check step knows the kinds.
        approvals: what people have to approve.
    """

    name: str
    backend: str = "local"
    previous: str | None = None
    evaluation: dict[str, dict[str, float]] = field(default_factory=dict)
    checks: dict[str, dict[str, Any]] = field(default_factory=dict)
    approvals: tuple[str, ...] = ()


# By name, in the order in which a model goes through them.
Rules = dict[str, Environment]


def read(path: str | Path | None = None) -> Rules:
    """Reads the rules from a file.

    Args:
        path: an environments.yaml; None for the packaged one.

    Raises:
        ConfigError: no such file, or what `parse` raises; it names the file.
    """
    file = Path(path) if path is not None else PACKAGED
    return parse(text_of(file), str(file))


def text_of(file: Path) -> str:
    """The text of a file of rules, as the pipelines' argument `environments` takes it.

    Raises:
        ConfigError: the file cannot be read.
    """
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{file}: the environments' rules cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: the environments' rules are not UTF-8 ({error}).") from error


def parse(text: str, where: str = "environments") -> Rules:
    """The rules that a text holds.

    Args:
        text: YAML in the form of environments.yaml; "" for the packaged rules.
        where: what messages call it.

    Raises:
        ConfigError: not YAML, an unknown key (with the nearest right one), or a value that does not fit.
    """
    if not text:
        return read()
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{where}: the environments' rules are not YAML ({error}).") from error
    rules: Rules = {}
    try:
        for name, entry in _mapping(value, "the file").items():
            rules[name] = _environment(name, _mapping(entry, name), list(rules))
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    if not rules:
        raise ConfigError(f"{where}: there is no environment in it.")
    return rules


def find(rules: Rules, name: str) -> Environment:
    """The rules of one environment.

    Raises:
        ConfigError: there is none of that name; names the nearest.
    """
    if name not in rules:
        raise ConfigError(f"There is no environment '{name}'.", config.nearest(name, rules))
    return rules[name]


def _environment(name: str, entry: Mapping[str, Any], before: list[str]) -> Environment:
    _known(entry, KEYS, name)
    previous = entry.get("from")
    if previous is not None and previous not in before:
        raise ConfigError(f"'{name}.from' is {previous!r}: it must be an environment that stands before it.")
    backend = entry.get("backend", Environment.backend)
    if not isinstance(backend, str):
        raise ConfigError(f"'{name}.backend' is {backend!r}: it must be the name of a backend.")
    evaluation = _mapping(entry.get("evaluation"), f"{name}.evaluation")
    _known(evaluation, get_args(Task), f"{name}.evaluation")
    checks = _mapping(entry.get("checks"), f"{name}.checks")
    approvals = entry.get("approvals") or []
    if not isinstance(approvals, list) or not all(isinstance(what, str) for what in approvals):
        raise ConfigError(f"'{name}.approvals' is {approvals!r}: it must be a list of names.")
    return Environment(
        name,
        backend,
        previous,
        {task: _minimums(value, f"{name}.evaluation.{task}") for task, value in evaluation.items()},
        {kind: _mapping(limits, f"{name}.checks.{kind}") for kind, limits in checks.items()},
        tuple(approvals),
    )


def _minimums(value: Any, where: str) -> dict[str, float]:
    minimums = _mapping(value, where)
    for metric, minimum in minimums.items():
        if isinstance(minimum, bool) or not isinstance(minimum, (int, float)):
            raise ConfigError(f"'{where}.{metric}' is {minimum!r}: it must be a number.")
    return {metric: float(minimum) for metric, minimum in minimums.items()}


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ConfigError(f"'{where}' is {value!r}: it must be a mapping of names to values.")
    return value


def _known(entry: Mapping[str, Any], names: Iterable[str], where: str) -> None:
    for key in entry:
        if key not in names:
            raise ConfigError(f"'{where}' has no key '{key}'.", config.nearest(key, names))
