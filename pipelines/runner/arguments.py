"""The arguments of a run, checked against the pipeline's inputs before anything runs."""

from __future__ import annotations

import difflib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ...components.core.errors import ConfigError
from .execute import digested
from .model import Interface, Parameter, Slot
from .values import Artifact, Json, Kind, fits, normalize_json


@dataclass(frozen=True)
class Arguments:
    """A pipeline's inputs: every parameter (None if omitted), and the artifacts that were passed."""

    parameters: Mapping[str, Json]
    artifacts: Mapping[str, Artifact]


def check(given: Mapping[str, object], interface: Interface) -> Arguments:
    """Matches arguments to inputs.

    Args:
        given: arguments by name; an artifact as a dsl.Artifact, a local path, or a URI. None means omitted.
        interface: of the pipeline.

    Returns:
        The arguments with their declared types.

    Raises:
        ConfigError: an argument is unknown, missing, or of the wrong type.
    """
    names = [*interface.parameters, *interface.artifacts]
    for name in given:
        if name not in names:
            raise ConfigError(f"The pipeline has no argument {name!r}.", _suggest(name, names))
    present = {name: value for name, value in given.items() if value is not None}
    required = {name for name, p in interface.parameters.items() if not p.optional}
    required |= {name for name, slot in interface.artifacts.items() if not slot.optional}
    missing = sorted(required - present.keys())
    if missing:
        listed = ", ".join(_described(name, interface) for name in missing)
        raise ConfigError(f"The pipeline needs {'an argument' if len(missing) == 1 else 'arguments'}: {listed}.")
    parameters = {
        name: _parameter(name, present[name], parameter) if name in present else parameter.default
        for name, parameter in interface.parameters.items()
    }
    artifacts = {
        name: _artifact(name, present[name], slot) for name, slot in interface.artifacts.items() if name in present
    }
    return Arguments({n: _declared(v, interface.parameters[n].kind) for n, v in parameters.items()}, artifacts)


def _suggest(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"Did you mean {near[0]!r}?"
    return f"Valid names: {', '.join(sorted(names))}." if names else "It has no arguments."


def _described(name: str, interface: Interface) -> str:
    if name in interface.parameters:
        return f"{name} ({interface.parameters[name].kind.python})"
    return f"{name} ({interface.artifacts[name].schema.get('schemaTitle', 'artifact')})"


def _parameter(name: str, value: object, parameter: Parameter) -> Json:
    plain = list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
    valid = fits(plain, parameter.kind) and not (parameter.kind is Kind.INT and isinstance(plain, float))
    if not valid:
        raise ConfigError(
            f"Argument {name!r} is {value!r}, of type {type(value).__name__}: it must be {parameter.kind.python}."
        )
    if isinstance(plain, float) and not math.isfinite(plain):
        raise ConfigError(f"Argument {name!r} is {value!r}: it must be finite.")
    try:
        json.dumps(plain, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"Argument {name!r} cannot be written as JSON: {error}.") from error
    if parameter.literals and plain not in parameter.literals:
        allowed = ", ".join(repr(literal) for literal in parameter.literals)
        raise ConfigError(f"Argument {name!r} is {value!r}: it must be one of {allowed}.")
    return plain


def _declared(value: Json, kind: Kind) -> Json:
    if value is None:
        return None
    if kind is Kind.FLOAT:
        return float(value)
    return int(value) if kind is Kind.INT else normalize_json(value)


def _artifact(name: str, value: object, slot: Slot) -> Artifact:
    if isinstance(value, (str, os.PathLike)):
        artifact = Artifact(name, slot.schema, os.fspath(value))
    elif hasattr(value, "uri") and hasattr(value, "metadata"):
        artifact = Artifact(getattr(value, "name", "") or name, slot.schema, value.uri, normalize_json(value.metadata))
    else:
        raise ConfigError(
            f"Argument {name!r} is {value!r}, of type {type(value).__name__}: it must be an artifact.",
            "Pass its path, its URI or a dsl.Artifact.",
        )
    if "://" not in artifact.uri:
        path = Path(artifact.uri).absolute()
        if not path.exists():
            raise ConfigError(f"Argument {name!r} is {artifact.uri!r}, which does not exist.")
        artifact = replace(artifact, uri=str(path))
    return digested(artifact)[0]
