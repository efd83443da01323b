"""The runner's model of a pipeline: the compiled spec, read once, checked, and typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from .conditions import Condition
from .digest import of_json
from .values import Json, Kind


@dataclass(frozen=True)
class Constant:
    """A value written in the pipeline; its strings may contain placeholders."""

    value: Json


@dataclass(frozen=True)
class PipelineInput:
    """An input of the pipeline that contains the task."""

    name: str


@dataclass(frozen=True)
class TaskOutput:
    """An output of another task of the same pipeline."""

    task: str
    output: str


Source: TypeAlias = Constant | PipelineInput | TaskOutput


@dataclass(frozen=True)
class Parameter:
    kind: Kind
    optional: bool = False
    default: Json = None
    literals: tuple[Json, ...] = ()


@dataclass(frozen=True)
class Slot:
    """An input or output artifact: its KFP type."""

    schema: Mapping[str, str]
    optional: bool = False


@dataclass(frozen=True)
class Interface:
    """A component's inputs and outputs."""

    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    artifacts: Mapping[str, Slot] = field(default_factory=dict)
    output_parameters: Mapping[str, Kind] = field(default_factory=dict)
    output_artifacts: Mapping[str, Slot] = field(default_factory=dict)


@dataclass(frozen=True)
class Code:
    """A Python component's function, its module's source, and the container's settings that have local meaning."""

    function: str
    source: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    packages: tuple[str, ...]


@dataclass(frozen=True)
class Graph:
    """A pipeline's tasks, in an order in which they can run, and where its outputs come from.

    Several sources for one output are dsl.OneOf: the first task that succeeded provides it.
    """

    tasks: Mapping[str, Task]
    outputs: Mapping[str, tuple[TaskOutput, ...]]


@dataclass(frozen=True)
class Component:
    name: str
    interface: Interface
    body: Code | Graph

    @cached_property
    def digest(self) -> str:
        """Digest of everything that determines what a Python component does; the image and resources do not, here."""
        if not isinstance(self.body, Code):
            raise TypeError(f"{self.name} is a pipeline, which is not cached as a whole")
        outputs = {name: dict(slot.schema) for name, slot in self.interface.output_artifacts.items()}
        return of_json(
            {
                "function": self.body.function,
                "command": list(self.body.command),
                "environment": dict(self.body.environment),
                "parameters": {name: kind.value for name, kind in self.interface.output_parameters.items()},
                "artifacts": outputs,
            }
        )


@dataclass(frozen=True)
class Retry:
    """How often to try again, and how long to wait: `wait` seconds, times `factor` each time, at most `longest`."""

    times: int = 0
    wait: float = 0.0
    factor: float = 2.0
    longest: float = 3600.0

    def pause(self, attempt: int) -> float:
        """Returns the seconds to wait after the given failed attempt, counted from 1."""
        return float(min(self.wait * self.factor ** (attempt - 1), self.longest))


@dataclass(frozen=True)
class Task:
    """One task of a graph.

    Attributes:
        name: in its graph.
        path: its name and those of the enclosing pipelines, with dots: promote.check.
        component: what it runs.
        parameters: input parameter -> source.
        artifacts: input artifact -> source.
        after: tasks that must succeed first, besides those that provide inputs.
        condition: of an If, Elif or Else; None if it always runs.
        cache: whether its outputs may be taken from an earlier run.
        cache_key: a custom key, which replaces the inputs and the source in the cache key.
        retry: how often to retry.
    """

    name: str
    path: str
    component: Component
    parameters: Mapping[str, Source]
    artifacts: Mapping[str, Source]
    after: tuple[str, ...] = ()
    condition: Condition | None = None
    cache: bool = False
    cache_key: str | None = None
    retry: Retry = Retry()

    @property
    def upstream(self) -> tuple[str, ...]:
        sources = (*self.parameters.values(), *self.artifacts.values())
        return tuple(dict.fromkeys([*self.after, *(s.task for s in sources if isinstance(s, TaskOutput))]))


@dataclass(frozen=True)
class Pipeline:
    """A whole pipeline, ready to run.

    Attributes:
        name: of the pipeline.
        root: its component.
        ignored: settings that have no effect on this machine, each with the tasks that have it.
        notes: what a cluster would do differently, and other surprises.
    """

    name: str
    root: Component
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def graph(self) -> Graph:
        if not isinstance(self.root.body, Graph):
            raise TypeError("the root of a pipeline is a graph")
        return self.root.body
