"""Typed step configs: one frozen dataclass per step, filled from plain values of a pipeline or a command line."""

from __future__ import annotations

import dataclasses
import difflib
import math
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar

from .errors import ConfigError

C = TypeVar("C")


def load(config: type[C], values: Mapping[str, Any] | None, step: str) -> C:
    """Fills a step's config from plain values and rejects invalid ones.

    Whole floats become ints where an int is expected: KFP carries structs as protobuf, which has one number type.

    Args:
        config: a frozen dataclass.
        values: field name -> value; None for all defaults.
        step: the step's name, for messages ("train").

    Returns:
        An instance of `config`.

    Raises:
        ConfigError: an unknown field (with the nearest valid name), a wrong type, or a value the config rejects.
    """
    hints = typing.get_type_hints(config)
    names = [field.name for field in dataclasses.fields(config)]  # type: ignore[arg-type]  # C is a dataclass
    filled = {}
    for name, value in (values or {}).items():
        if name not in names:
            raise ConfigError(f"Unknown setting '{step}.{name}'.", nearest(name, names))
        filled[name] = _coerce(value, hints[name], f"{step}.{name}")
    try:
        return config(**filled)
    except ValueError as error:
        raise ConfigError(f"{step}: {error}") from error


def dump(config: Any) -> dict[str, Any]:
    """Returns the config as plain values that JSON can hold."""
    return {
        key: list(value) if isinstance(value, tuple) else value for key, value in dataclasses.asdict(config).items()
    }


def nearest(name: str, names: Iterable[str]) -> str:
    """Returns the hint that follows an unknown name: the nearest valid one, or all of them."""
    names = sorted(names)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"Did you mean '{close[0]}'?" if close else f"Valid names: {', '.join(names)}."


def one_of(name: str, value: str, choices: Iterable[str]) -> None:
    """Checks that a value is one of a table's names.

    Raises:
        ValueError: it is not; `load` turns it into a ConfigError.
    """
    choices = list(choices)
    if value not in choices:
        raise ValueError(f"'{name}' is {value!r}: it must be one of {', '.join(choices)}.")


def at_least(name: str, value: float, minimum: float) -> None:
    """Checks a lower bound.

    Raises:
        ValueError: the value is too small; `load` turns it into a ConfigError.
    """
    if not math.isfinite(value):
        raise ValueError(f"'{name}' is {value}: it must be a finite number.")
    if value < minimum:
        raise ValueError(f"'{name}' is {value}: it must be at least {minimum}.")


def _coerce(value: Any, hint: Any, name: str) -> Any:
    origin = typing.get_origin(hint)
    if origin is Literal:
        choices = typing.get_args(hint)
        if value not in choices:
            raise ConfigError(f"'{name}' is {value!r}: it must be one of {', '.join(map(str, choices))}.")
        return value
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        inner = next(choice for choice in typing.get_args(hint) if choice is not type(None))
        return _coerce(value, inner, name)
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise ConfigError(f"'{name}' is {value!r}: it must be a list.")
        inner = typing.get_args(hint)[0]
        return tuple(_coerce(item, inner, name) for item in value)
    return _scalar(value, hint, name)


def _scalar(value: Any, hint: Any, name: str) -> Any:
    if hint is bool and isinstance(value, bool):
        return value
    if hint in (int, float) and isinstance(value, (int, float)) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise ConfigError(f"'{name}' is {value!r}: it must be a finite number.")
        if hint is float:
            return float(value)
        if value == int(value):
            return int(value)
    if hint is str and isinstance(value, str):
        return value
    raise ConfigError(f"'{name}' is {value!r}: it must be of type {hint.__name__}.")
