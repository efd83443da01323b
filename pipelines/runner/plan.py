"""Converts the compiled spec to the runner's model; unsupported features are rejected here, before anything runs."""

from __future__ import annotations

from typing import cast

from google.protobuf import json_format
from kfp.pipeline_spec import pipeline_spec_pb2

from ...components.core.errors import DataError
from .code import read_code
from .conditions import Condition, ConditionError
from .graph import order
from .model import (
    Component,
    Constant,
    Graph,
    Interface,
    Parameter,
    Pipeline,
    PipelineInput,
    Retry,
    Slot,
    Source,
    Task,
    TaskOutput,
)
from .parser import parse
from .refuse import Settings, refuse, refuse_task
from .spec import Compiled, Message
from .values import Json, Kind, normalize_json

_KINDS = pipeline_spec_pb2.ParameterType.ParameterTypeEnum


def plan(compiled: Compiled) -> Pipeline:
    """Plans the run of a compiled pipeline.

    Raises:
        DataError: it needs an unsupported feature; the message names the task and the feature.
    """
    return _Planner(compiled).pipeline()


class _Planner:
    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.settings = Settings(compiled.platforms)
        self.notes: list[str] = []

    def pipeline(self) -> Pipeline:
        spec = self.compiled.spec
        self.settings.check_pipeline()
        root = self._component("root", spec.root, "", ())
        return Pipeline(
            name=spec.pipeline_info.name,
            root=root,
            ignored=self.settings.ignored(),
            notes=tuple(dict.fromkeys(self.notes)),
        )

    def _component(self, name: str, spec: Message, path: str, around: tuple[str, ...]) -> Component:
        if name in around:
            raise DataError(f"Task {path}: pipeline {name!r} contains itself.")
        interface = _interface(spec, path)
        if spec.WhichOneof("implementation") == "dag":
            return Component(name, interface, self._graph(spec.dag, path, (*around, name)))
        label = spec.executor_label
        if label not in self.compiled.executors:
            raise DataError(f"Task {path}: its executor {label!r} is not in the pipeline.")
        executor = self.compiled.executors[label]
        self.settings.check_executor(executor, label, path)
        return Component(name, interface, read_code(executor, path))

    def _graph(self, dag: Message, path: str, around: tuple[str, ...]) -> Graph:
        tasks = {name: self._task(name, dag.tasks[name], path, around) for name in sorted(dag.tasks)}
        ordered = order({name: task.upstream for name, task in tasks.items()}, path or "the pipeline")
        outputs: dict[str, tuple[TaskOutput, ...]] = {}
        for name, output in dag.outputs.parameters.items():
            one_of = output.WhichOneof("kind") == "value_from_oneof"
            chosen = output.value_from_oneof.parameter_selectors if one_of else [output.value_from_parameter]
            outputs[name] = tuple(TaskOutput(s.producer_subtask, s.output_parameter_key) for s in chosen)
        for name, output in dag.outputs.artifacts.items():
            outputs[name] = tuple(
                TaskOutput(s.producer_subtask, s.output_artifact_key) for s in output.artifact_selectors
            )
        for name, sources in outputs.items():
            for source in sources:
                if source.task not in tasks:
                    raise DataError(
                        f"{path or 'The pipeline'}: output {name!r} comes from {source.task!r}, which is not a task."
                    )
        return Graph({name: tasks[name] for name in ordered}, outputs)

    def _task(self, name: str, spec: Message, path: str, around: tuple[str, ...]) -> Task:
        path = f"{path}.{name}" if path else name
        refuse_task(spec, path)
        component = spec.component_ref.name
        if component not in self.compiled.spec.components:
            raise DataError(f"Task {path}: its component {component!r} is not in the pipeline.")
        return Task(
            name=name,
            path=path,
            component=self._component(component, self.compiled.spec.components[component], path, around),
            parameters={k: _parameter_source(v, path) for k, v in sorted(spec.inputs.parameters.items())},
            artifacts={k: _artifact_source(v, path) for k, v in sorted(spec.inputs.artifacts.items())},
            after=tuple(spec.dependent_tasks),
            condition=self._condition(spec.trigger_policy.condition, path),
            cache=spec.caching_options.enable_cache,
            cache_key=spec.caching_options.cache_key or None,
            retry=_retry(spec),
        )

    def _condition(self, source: str, path: str) -> Condition | None:
        if not source:
            return None
        try:
            condition = parse(source)
        except ConditionError as error:
            raise ConditionError(f"Task {path}: {error.message}") from None
        self.notes.extend(f"task {path}: {note}" for note in condition.notes)
        return condition


def _interface(spec: Message, path: str) -> Interface:
    inputs, outputs = spec.input_definitions, spec.output_definitions
    for name, artifact in (*inputs.artifacts.items(), *outputs.artifacts.items()):
        if artifact.is_artifact_list:
            refuse(path, f"a list of artifacts ({name!r})")
    return Interface(
        parameters={name: _parameter(name, p, path) for name, p in inputs.parameters.items()},
        artifacts={name: _slot(a, a.is_optional) for name, a in inputs.artifacts.items()},
        output_parameters={name: _kind(p.parameter_type, name, path) for name, p in outputs.parameters.items()},
        output_artifacts={name: _slot(a, False) for name, a in outputs.artifacts.items()},
    )


def _parameter(name: str, spec: Message, path: str) -> Parameter:
    kind = _kind(spec.parameter_type, name, path)
    default = _value(spec.default_value) if spec.HasField("default_value") else None
    return Parameter(
        kind=kind,
        optional=spec.is_optional or default is not None,
        default=default,
        literals=tuple(_value(literal) for literal in spec.literals),
    )


def _kind(number: int, name: str, path: str) -> Kind:
    known = {kind.value: kind for kind in Kind}
    declared = cast(str, _KINDS.Name(number))
    if declared not in known:
        refuse(path, f"a parameter of type {declared} ({name!r})")
    return known[declared]


def _slot(spec: Message, optional: bool) -> Slot:
    schema = cast(dict[str, str], json_format.MessageToDict(spec.artifact_type))
    return Slot(schema, optional)


def _value(message: Message) -> Json:
    return normalize_json(json_format.MessageToDict(message))


def _parameter_source(spec: Message, path: str) -> Source:
    if spec.parameter_expression_selector:
        refuse(path, "a field of a parameter (parameterExpressionSelector)")
    kind = spec.WhichOneof("kind")
    if kind == "task_output_parameter":
        output = spec.task_output_parameter
        return TaskOutput(output.producer_task, output.output_parameter_key)
    if kind == "component_input_parameter":
        return PipelineInput(spec.component_input_parameter)
    if kind == "runtime_value" and spec.runtime_value.WhichOneof("value") == "constant":
        value = _value(spec.runtime_value.constant)
        if "{{$.workspace_path}}" in repr(value):
            refuse(path, "the workspace (dsl.WORKSPACE_PATH_PLACEHOLDER)")
        return Constant(value)
    return refuse(path, f"a parameter from {kind}")


def _artifact_source(spec: Message, path: str) -> Source:
    kind = spec.WhichOneof("kind")
    if kind == "task_output_artifact":
        output = spec.task_output_artifact
        return TaskOutput(output.producer_task, output.output_artifact_key)
    if kind == "component_input_artifact":
        return PipelineInput(spec.component_input_artifact)
    return refuse(path, f"an artifact from {kind}")


def _retry(spec: Message) -> Retry:
    policy = spec.retry_policy
    return Retry(
        times=policy.max_retry_count,
        wait=policy.backoff_duration.ToTimedelta().total_seconds(),
        factor=policy.backoff_factor or 2.0,
        longest=policy.backoff_max_duration.ToTimedelta().total_seconds() or 3600.0,
    )
