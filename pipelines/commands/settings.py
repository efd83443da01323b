"""From the options of the command line to a pipeline's arguments, checked before anything runs."""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ...components.core.config import load, nearest
from ...components.core.errors import ConfigError, DataError
from ...components.core.release import environments
from . import rules
from .targets import STEPS, Target


@dataclass(frozen=True)
class CliOptions:
    """The options of `run` and `submit` that become arguments.

    Attributes:
        data: labelled images: a folder, or a built-in set.
        settings: "step.key=value", each.
        arguments: "name=value", each.
        inputs: "name=FOLDER", each: input artifacts.
        approvals: "legal,fit", each.
        environments: file of rules; None for the packaged ones.
    """

    data: str | None = None
    settings: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    approvals: tuple[str, ...] = ()
    environments: Path | None = None


def arguments(target: Target, options: CliOptions) -> dict[str, Any]:
    """The target's arguments.

    Raises:
        ConfigError: an unknown step, key or argument (with the nearest right name), a value of a wrong type, or a
            required argument that is not given.
    """
    values: dict[str, Any] = {}
    for word in options.arguments:
        name, text = _split(word, "-a", "name=value")
        _known(name, target.parameters, target, "argument")
        values[name] = _typed(text, target.parameters[name]["parameterType"])
    if options.data is not None:
        _known("data", target.parameters, target, "argument")
        values["data"] = _place(options.data)
        if "data_version" in target.parameters and Path(options.data).is_dir():
            values.setdefault("data_version", _state(Path(options.data)))
    if options.approvals:
        _known("approvals", target.parameters, target, "argument")
        values["approvals"] = [name.strip() for word in options.approvals for name in word.split(",") if name.strip()]
    if "environments" in target.parameters:
        _check_rules(options.environments, values)
    _set(target, options.settings, values)
    for word in options.inputs:
        name, folder = _split(word, "--input", "name=FOLDER")
        _known(name, target.artifacts, target, "input")
        if not Path(folder).exists():
            raise DataError(f"--input {word}: '{folder}' does not exist.")
        values[name] = str(Path(folder).absolute())
    _complete(target, values)
    return values


def config_class(step: str) -> type[Any]:
    """A step's config class; its module is light to import."""
    module = importlib.import_module(f"....components.{step}.config", __name__)
    found: type[Any] = getattr(module, f"{step.capitalize()}Config")
    return found


def value(text: str) -> Any:
    """A value of the command line: a scalar, list or map of YAML 1.2's core schema ("1e-3", "[a, b]", "null").

    Raises:
        ConfigError: it is not YAML.
    """
    try:
        return yaml.load(text, _Values)
    except yaml.YAMLError as error:
        raise ConfigError(f"'{text}' is not a valid value: {str(error).splitlines()[0]}.") from error


class _Values(yaml.SafeLoader):
    """YAML 1.2: PyYAML's 1.1 reads 1e-3 as text, `no` as false, 010 as eight and 12:30 as a number."""


_Values.yaml_implicit_resolvers = {}


def _resolve(tag: str, pattern: str, first: str, convert: Any) -> None:
    _Values.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), list(first))
    _Values.add_constructor(f"tag:yaml.org,2002:{tag}", lambda loader, node: convert(node.value))


_resolve("bool", "true|True|false|False", "tTfF", lambda text: text.lower() == "true")
_resolve("null", "null|~", "n~", lambda text: None)
_resolve("int", r"[-+]?[0-9]+", "-+0123456789", int)
_resolve("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789", float)


def _check_rules(file: Path | None, values: dict[str, Any]) -> None:
    """Everything that the rules can refuse is refused now, not after a training."""
    found = rules.read(file)
    if file is not None:
        values["environments"] = environments.text_of(file)
    if "environment" in values:
        environments.find(found, values["environment"])
    rules.check_approvals(values.get("approvals", ()), found)


def _set(target: Target, settings: Iterable[str], values: dict[str, Any]) -> None:
    given: dict[str, dict[str, Any]] = {}
    steps = _steps(target)
    for word in settings:
        key, text = _split(word, "--set", "step.key=value")
        step, dot, name = key.partition(".")
        if not dot or not name:
            raise ConfigError(f"--set {word}: it must be step.key=value, as in --set train.epochs=2.")
        if step not in steps:
            raise ConfigError(f"--set {word}: {target.name} has no step '{step}'.", nearest(step, steps))
        given.setdefault(step, {})[name] = value(text)
    for step, parameter in steps.items():
        whole = values.get(parameter, {})
        if not isinstance(whole, dict):
            raise ConfigError(
                f"argument '{parameter}' is {whole!r}: it must be a map, as in -a '{parameter}={{key: value}}'."
            )
        merged = {**whole, **given.get(step, {})}
        if merged and step in STEPS:
            load(config_class(step), merged, step)
        if merged:
            values[parameter] = merged


def _steps(target: Target) -> dict[str, str]:
    """The steps that can be set, and the parameter that holds each one's config."""
    if target.step is not None:
        return {target.step: "config"}
    return {name: name for name, spec in target.parameters.items() if spec["parameterType"] == "STRUCT"}


def _split(word: str, option: str, form: str) -> tuple[str, str]:
    name, equals, text = word.partition("=")
    if not equals or not name:
        raise ConfigError(f"{option} {word}: it must be {form}.")
    return name.strip(), text


def _known(name: str, names: Iterable[str], target: Target, what: str) -> None:
    existing = list(names)
    if name not in existing:
        raise ConfigError(
            f"{target.name} has no {what} '{name}'.", nearest(name, existing) if existing else f"It has no {what}s."
        )


def _typed(text: str, kind: str) -> Any:
    # A version "3" or a name "true" is text where text is asked for.
    return text if kind == "STRING" else value(text)


def _place(data: str) -> str:
    """A folder as an absolute path, so that a run does not depend on where it was started; other words as they are."""
    return str(Path(data).absolute()) if Path(data).exists() else data


def _state(folder: Path) -> str:
    """Names what lies in a folder by names, sizes and times: images that come, go or change are noticed."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        status = path.stat() if path.exists() else path.lstat()
        digest.update(f"{path.relative_to(folder)}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


def _complete(target: Target, values: Mapping[str, Any]) -> None:
    optional = {name for name, spec in target.parameters.items() if spec.get("isOptional") or "defaultValue" in spec}
    missing = [name for name in (*target.parameters, *target.artifacts) if name not in values and name not in optional]
    if not missing:
        return
    hints = [_hint(name, target) for name in missing]
    raise ConfigError(f"{target.name} needs {', '.join(missing)}.", f"Give {' '.join(hints)}.")


def _hint(name: str, target: Target) -> str:
    if name == "data":
        return "--data FOLDER"
    return f"--input {name}=FOLDER" if name in target.artifacts else f"-a {name}=VALUE"
