"""Resolves a task's inputs: values and types like the cluster's driver, and placeholders replaced.

kubeflow/pipelines, backend/src/v2/driver/resolve.go, resolveInputs and resolveInputParameter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from ...components.core.errors import DataError
from .model import Constant, Graph, PipelineInput, Source, Task, TaskOutput
from .record import TaskRun
from .values import Artifact, Json, convert, text

_INPUT = re.compile(r"\{\{\$\.inputs\.parameters\['(.+?)'\]\}\}")


@dataclass(frozen=True)
class Job:
    """The run, as placeholders name it."""

    name: str
    pipeline: str
    id: str
    folder: Path
    created: datetime

    def placeholders(self, task: Task) -> dict[str, str]:
        """Returns the placeholders of dsl (kfp/dsl/__init__.py) that apply to a task's constants, with their values.

        A cluster replaces them only if they are the whole constant; here they may be a part of it, as KFP documents.
        """
        created = self.created.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            "{{$.pipeline_job_name}}": self.name,
            "{{$.pipeline_job_resource_name}}": f"{self.pipeline}-{self.id[:5]}",  # as Argo names a workflow
            "{{$.pipeline_job_uuid}}": self.id,
            "{{$.pipeline_job_create_time_utc}}": created,
            "{{$.pipeline_job_schedule_time_utc}}": created,
            "{{$.pipeline_root}}": str(self.folder),
            "{{$.pipeline_task_name}}": task.name,
            "{{$.pipeline_task_uuid}}": f"{self.id}-{task.path}",
        }


@dataclass(frozen=True)
class Scope:
    """The state inside one graph: its own inputs, and the tasks that have ended."""

    parameters: Mapping[str, Json]
    artifacts: Mapping[str, Artifact]
    ended: dict[str, TaskRun] = field(default_factory=dict)

    def output(self, source: TaskOutput) -> Json | Artifact:
        """Returns one task's output.

        Raises:
            DataError: there is none, because the task that produces it was skipped.
        """
        outputs = self.ended[source.task].outputs
        if source.output not in outputs:
            raise DataError(f"{source.task!r} has no output {source.output!r}: the task that produces it was skipped.")
        return outputs[source.output]


@dataclass(frozen=True)
class Inputs:
    parameters: Mapping[str, Json]
    artifacts: Mapping[str, Artifact]

    def all(self) -> dict[str, Json | Artifact]:
        return {**self.parameters, **self.artifacts}


def resolve(task: Task, scope: Scope, job: Job) -> Inputs:
    """Resolves a task's inputs.

    Raises:
        DataError: one has no value, or not the type that the component declares.
    """
    try:
        return Inputs(_parameters(task, scope, job), _artifacts(task, scope))
    except DataError as error:
        raise DataError(f"Task {task.path}: {error.message}") from None


def _parameters(task: Task, scope: Scope, job: Job) -> dict[str, Json]:
    declared = task.component.interface.parameters
    values: dict[str, Json] = {}
    for name, source in task.parameters.items():
        if isinstance(source, Constant):
            continue
        value = _value(source, scope)
        if value is not None:
            values[name] = value
        elif name not in declared or not declared[name].optional:
            raise DataError(f"input {name!r} needs a value, but its source is None.")
    references = dict(values)
    for name, source in task.parameters.items():
        if isinstance(source, Constant):
            values[name] = _fill(source.value, references, job.placeholders(task))
    for name, parameter in declared.items():
        if name in values:
            values[name] = convert(values[name], parameter.kind, f"input {name!r}")
            if parameter.literals and values[name] not in parameter.literals:
                raise DataError(f"input {name!r} is {values[name]!r}: it must be one of {parameter.literals}.")
        elif not parameter.optional:
            raise DataError(f"input {name!r} has no value.")
        elif isinstance(task.component.body, Graph):
            # A component's own defaults are in its source; a nested pipeline's are in the spec.
            values[name] = parameter.default
    return values


def _value(source: Source, scope: Scope) -> Json:
    if isinstance(source, TaskOutput):
        return scope.output(source)
    if isinstance(source, PipelineInput):
        return scope.parameters.get(source.name)
    return source.value


def _artifacts(task: Task, scope: Scope) -> dict[str, Artifact]:
    declared = task.component.interface.artifacts
    artifacts: dict[str, Artifact] = {}
    for name, source in task.artifacts.items():
        value = scope.artifacts.get(source.name) if isinstance(source, PipelineInput) else _value(source, scope)
        if isinstance(value, Artifact):
            artifacts[name] = value
    for name, slot in declared.items():
        if name not in artifacts and not slot.optional:
            raise DataError(f"input artifact {name!r} has no value.")
    return artifacts


def _fill(value: Json, references: Mapping[str, Json], placeholders: Mapping[str, str]) -> Json:
    """Replaces the placeholders in the strings of `value`; unknown ones are kept."""
    if isinstance(value, list):
        return [_fill(item, references, placeholders) for item in value]
    if isinstance(value, dict):
        return {
            _fill(key, references, placeholders): _fill(item, references, placeholders) for key, item in value.items()
        }
    if not isinstance(value, str) or "{{$" not in value:
        return value
    for placeholder, replacement in placeholders.items():
        value = value.replace(placeholder, replacement)
    return _INPUT.sub(lambda match: text(references[match[1]]) if match[1] in references else match[0], value)
