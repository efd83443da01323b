"""What `run`, `compile` and `submit` can be given: a pipeline, a component, or a compiled file."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf import json_format

from ...components.core.config import nearest
from ...components.core.errors import ConfigError, DataError
from ...components.core.release.environments import Rules

PIPELINES = ("train", "promote", "train-to-prod")
STEPS = ("prepare", "train", "evaluate", "quantize", "benchmark", "register", "deploy", "check", "promote")
# Before a component's name where a pipeline has the same one; it may stand before any.
PREFIX = "components/"


@dataclass(frozen=True)
class Target:
    """A pipeline or component, and its inputs.

    Attributes:
        name: as the user wrote it, with hyphens.
        source: what the runner and KFP's compiler take: a pipeline, a component, or a compiled file.
        parameters: name -> KFP's ParameterSpec as JSON (parameterType, isOptional, defaultValue, description).
        artifacts: names of the input artifacts.
        step: the step's name where it is one component alone; None for pipelines and files.
    """

    name: str
    source: Any
    parameters: Mapping[str, Mapping[str, Any]]
    artifacts: tuple[str, ...]
    step: str | None = None


def names() -> list[str]:
    """Every name that `find` knows."""
    return [*unique_names(), *(step for step in STEPS if step not in PIPELINES)]


def unique_names() -> list[str]:
    """One name for each pipeline and component."""
    return [*PIPELINES, *(PREFIX + step for step in STEPS)]


def find(name: str, rules: Rules | None = None) -> Target:
    """The pipeline, component or compiled file of that name.

    `train` and `promote` are pipelines, `components/train` and `components/promote` the steps.

    Args:
        name: with hyphens or underscores.
        rules: the environments that `train-to-prod` goes through; None for the packaged ones.

    Raises:
        ConfigError: there is none; names the nearest.
        DataError: a file that is not a compiled pipeline.
    """
    if name.endswith((".yaml", ".yml")):
        return _target(name, Path(name), None)
    plain = name.replace("_", "-")
    if plain in PIPELINES:
        return _target(plain, pipeline(plain, rules), None)
    step = plain.removeprefix(PREFIX)
    if step in STEPS:
        return _target(plain, component(step), step)
    raise ConfigError(f"There is no pipeline or component '{name}'.", nearest(plain, names()))


def pipeline(name: str, rules: Rules | None = None) -> Any:
    """The `@dsl.pipeline` of that name, for these environments."""
    attribute = name.replace("-", "_")
    module = importlib.import_module(f"...{attribute}", __name__)
    return getattr(module, attribute) if rules is None or not hasattr(module, "build") else module.build(rules)


def component(step: str) -> Any:
    """The `@dsl.component` of a step."""
    return getattr(importlib.import_module(f"....components.{step}.component", __name__), step)


def _target(name: str, source: Any, step: str | None) -> Target:
    from ..runner import spec

    if isinstance(source, Path) and not source.is_file():
        raise DataError(f"{source}: there is no such pipeline file.", "Write one with `towpath compile`.")
    inputs = json_format.MessageToDict(spec.load(source).spec.root.input_definitions)
    # The spec keeps its inputs in no order.
    parameters = dict(sorted(inputs.get("parameters", {}).items()))
    return Target(name, source, parameters, tuple(sorted(inputs.get("artifacts", {}))), step)
