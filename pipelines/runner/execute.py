"""Runs one Python component in this process, through KFP's own executor."""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

from kfp.dsl import executor as kfp_executor
from kfp.dsl.types import artifact_types

from ...components.core.errors import DataError, StepError
from . import digest
from .isolate import isolated, open_log
from .model import Code, Interface
from .values import Artifact, Json, Kind, convert, is_local, normalize_json

LOG = "log.txt"
SOURCE = "component.py"
_EXECUTOR_OUTPUT = "executor_output.json"
_PARAMETERS = ".parameters"
_PARTIAL = ".partial"
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Outputs:
    """The outputs of a task.

    Attributes:
        parameters: by name.
        artifacts: by name.
        trees: for each artifact on local disk, its files.
    """

    parameters: Mapping[str, Json] = field(default_factory=dict)
    artifacts: Mapping[str, Artifact] = field(default_factory=dict)
    trees: Mapping[str, digest.Tree] = field(default_factory=dict)

    def all(self) -> dict[str, Json | Artifact]:
        return {**self.parameters, **self.artifacts}


@dataclass(frozen=True)
class Call:
    """One call of a component.

    Attributes:
        path: of its task.
        code: the component.
        interface: its inputs and outputs.
        parameters: its input parameters.
        artifacts: its input artifacts.
        folder: for its log and its source.
        place: for its outputs; the same for the same work, so that a step finds its `<output path>.partial` again.
    """

    path: str
    code: Code
    interface: Interface
    parameters: Mapping[str, Json]
    artifacts: Mapping[str, Artifact]
    folder: Path
    place: Path


def execute(call: Call) -> Outputs:
    """Runs a component and reads its outputs; whatever it raises is logged and raised unchanged.

    Raises:
        StepError: a declared output parameter is missing, or of another type.
    """
    with open_log(call.folder / LOG) as log:
        _run(call, log)
    return _read_outputs(call)


def clear(place: Path, keep: tuple[str, ...] = ()) -> None:
    """Removes what an attempt left in `place`, except the state from which a step can resume (`*.partial`)."""
    for item in place.iterdir():
        if item.name not in keep and not item.name.endswith(_PARTIAL):
            _remove(item)


def remove_partials(place: Path) -> None:
    """Removes the resumable state of steps that have succeeded."""
    for item in place.glob(f"*{_PARTIAL}"):
        _remove(item)


def _remove(item: Path) -> None:
    if item.is_dir() and not item.is_symlink():
        shutil.rmtree(item)
    else:
        item.unlink()


def _run(call: Call, log: TextIO) -> None:
    source = call.folder / SOURCE
    source.write_text(call.code.source, encoding="utf-8")
    # KFP's launcher sets it too (kfp/dsl/component_factory.py): the code runs as a step.
    environment = {**call.code.environment, "_KFP_RUNTIME": "true"}
    with isolated(environment, log):
        try:
            with _task_root(), _function(source, call.code) as function:
                kfp_executor.Executor(_executor_input(call), function).execute()
        except SystemExit as stop:
            if stop.code not in (None, 0):
                log.write(f"{call.path} called sys.exit({stop.code!r})\n")
                raise
        except BaseException:
            log.write(traceback.format_exc())
            raise


@contextlib.contextmanager
def _task_root() -> Iterator[None]:
    """Restores the global in which the executor keeps the folder of dsl.get_uri(); it is unset outside a task."""
    before = artifact_types.CONTAINER_TASK_ROOT
    try:
        yield
    finally:
        artifact_types.CONTAINER_TASK_ROOT = before


@contextlib.contextmanager
def _function(source: Path, code: Code) -> Iterator[Callable[..., Any]]:
    """Loads the component's function from a module with a file, so that tracebacks and debuggers show its lines."""
    name = f"towpath_component_{next(_numbers)}"
    module = ModuleType(name)
    module.__file__ = str(source)
    sys.modules[name] = module  # dataclasses and get_type_hints look up a class's module here
    try:
        exec(compile(code.source, str(source), "exec", dont_inherit=True), module.__dict__)
        yield getattr(module, code.function)
    finally:
        sys.modules.pop(name, None)


def _executor_input(call: Call) -> dict[str, Json]:
    """Builds KFP's ExecutorInput as JSON, with paths as URIs (backend/src/v2/driver/driver.go, provisionOutputs)."""
    parameters = {name: value for name, value in call.parameters.items() if name in call.interface.parameters}
    outputs = {
        name: Artifact(name, slot.schema, str(call.place / name)).runtime()
        for name, slot in call.interface.output_artifacts.items()
    }
    return {
        "inputs": {
            "parameterValues": {name: value for name, value in parameters.items() if value is not None},
            "artifacts": {name: {"artifacts": [a.runtime()]} for name, a in call.artifacts.items()},
        },
        "outputs": {
            "parameters": {
                name: {"outputFile": str(call.place / _PARAMETERS / name)} for name in call.interface.output_parameters
            },
            "artifacts": {name: {"artifacts": [artifact]} for name, artifact in outputs.items()},
            "outputFile": str(call.place / _EXECUTOR_OUTPUT),
        },
    }


def _read_outputs(call: Call) -> Outputs:
    file = call.place / _EXECUTOR_OUTPUT
    written: dict[str, Json] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    given = written.get("parameterValues", {})
    parameters = {name: _parameter(call, name, kind, given) for name, kind in call.interface.output_parameters.items()}
    artifacts: dict[str, Artifact] = {}
    trees: dict[str, digest.Tree] = {}
    for name, slot in call.interface.output_artifacts.items():
        entry = (written.get("artifacts", {}).get(name, {}).get("artifacts") or [{}])[0]
        artifact = Artifact(
            name=entry.get("name") or name,
            schema=slot.schema,
            uri=entry.get("uri") or str(call.place / name),
            metadata=normalize_json(entry.get("metadata", {})),
        )
        _fetch(entry.get("custom_path", ""), artifact)
        artifacts[name], tree = digested(artifact)
        if tree is not None:
            trees[name] = tree
    return Outputs(parameters, artifacts, trees)


def digested(artifact: Artifact, known: digest.Tree | None = None) -> tuple[Artifact, digest.Tree | None]:
    """Returns `artifact` with its digest, and its files if it is on local disk."""
    if not artifact.local:
        return replace(artifact, digest=digest.of_uri(artifact.uri)), None
    tree = digest.scan(Path(artifact.uri), known)
    return replace(artifact, digest=digest.of_tree(tree)), tree


def _fetch(custom: str, artifact: Artifact) -> None:
    """Copies what a component wrote to a path of its own choice (Artifact.custom_path) to the artifact's path.

    A cluster uploads it from there (backend/src/v2/component/launcher_v2.go, retrieveArtifactPath).
    """
    if not custom or custom == artifact.uri or not Path(custom).exists() or not is_local(artifact.uri):
        return
    if Path(custom).is_dir():
        shutil.copytree(custom, artifact.uri, dirs_exist_ok=True)
    else:
        shutil.copyfile(custom, artifact.uri)


def _parameter(call: Call, name: str, kind: Kind, given: Mapping[str, Json]) -> Json:
    """Reads an output parameter: as returned, else from its file (launcher_v2.go, collectOutputParameters)."""
    where = f"Task {call.path}: output {name!r}"
    if name in given:
        value = given[name]
    else:
        file = call.place / _PARAMETERS / name
        if not file.is_file():
            raise StepError(f"{where} was not written.", f"Its log: {call.folder / LOG}")
        value = _from_text(file.read_text(encoding="utf-8"), kind, where)
    try:
        return convert(value, kind, where)
    except DataError as error:
        raise StepError(error.message) from None


def _from_text(content: str, kind: Kind, where: str) -> Json:
    """Parses a parameter's value from a file (backend/src/v2/metadata/converter.go, TextToPbValue)."""
    if kind is Kind.STR:
        return content
    stripped = content.strip()
    try:
        if kind is Kind.BOOL:
            return {"true": True, "1": True, "t": True, "false": False, "0": False, "f": False}[stripped.lower()]
        if kind is Kind.FLOAT:
            return float(stripped)
        return json.loads(stripped)
    except (KeyError, ValueError):
        raise StepError(f"{where} is {content[:80]!r}, which is not a valid {kind.python}.") from None
