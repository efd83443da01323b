"""The record of a run, in memory and in `run.json`, which is rewritten atomically at each change of a state."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Protocol

from .cache import write_whole
from .execute import LOG
from .values import Artifact, Json

_FORMAT = 1
_GROUP = re.compile(r"condition(-branches)?-\d+$")


class State(str, Enum):
    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"

    def __str__(self) -> str:
        return self.value


@dataclass
class TaskRun:
    """One task of a run: a component, or a pipeline inside the pipeline.

    Attributes:
        path: its name and those of the enclosing pipelines, with dots.
        folder: of its log, its source and links to its outputs.
        pipeline: whether it is a nested pipeline.
        state: of the task.
        seconds: how long it took, waits between retries included.
        started: ISO 8601; None before it starts.
        attempts: how often it was tried.
        cached: whether its outputs come from an earlier run.
        key: of its cache entry; None if it is not cached.
        reason: why it was skipped or cancelled.
        error: what it raised.
        inputs: parameters and artifacts by name.
        outputs: parameters and artifacts by name.
    """

    path: str
    folder: Path
    pipeline: bool = False
    state: State = State.PENDING
    seconds: float = 0.0
    started: str | None = None
    attempts: int = 0
    cached: bool = False
    key: str | None = None
    reason: str | None = None
    error: BaseException | None = None
    inputs: dict[str, Json | Artifact] = field(default_factory=dict)
    outputs: dict[str, Json | Artifact] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def log(self) -> Path:
        return self.folder / LOG


class Tasks(Mapping[str, TaskRun]):
    """A run's tasks by path, in the order of the plan.

    The groups that KFP generates for the tasks of an If or Else may be omitted from a path: `tasks["deploy"]` finds
    `condition-branches-1.condition-2.deploy`.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, TaskRun] = {}
        self._short: dict[str, list[TaskRun]] = {}

    def add(self, task: TaskRun) -> None:
        self._tasks[task.path] = task
        short = ".".join(part for part in task.path.split(".") if not _GROUP.match(part))
        self._short.setdefault(short, []).append(task)

    def __getitem__(self, path: str) -> TaskRun:
        if path in self._tasks:
            return self._tasks[path]
        found = self._short.get(path, [])
        if len(found) == 1:
            return found[0]
        near = difflib.get_close_matches(path, [*self._tasks, *self._short], n=1)
        raise KeyError(f"no task {path!r}" + (f"; did you mean {near[0]!r}?" if near else ""))

    def __iter__(self) -> Iterator[str]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)


@dataclass
class Run:
    """One run of a pipeline.

    Attributes:
        name: of the run.
        pipeline: of which it is a run.
        arguments: parameters and artifacts by name.
        folder: contains `run.json` and a folder for each task.
        created: when it was started.
        ignored: settings that have no effect on this machine.
        notes: remarks on what may surprise.
        state: of the run.
        seconds: how long it took.
        error: what it raised.
        outputs: parameters and artifacts by name.
        tasks: by path.
    """

    name: str
    pipeline: str
    arguments: dict[str, Json | Artifact]
    folder: Path
    created: datetime
    ignored: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    state: State = State.PENDING
    seconds: float = 0.0
    error: BaseException | None = None
    outputs: dict[str, Json | Artifact] = field(default_factory=dict)
    tasks: Tasks = field(default_factory=Tasks)
    _lines: dict[str, str] = field(default_factory=dict, repr=False)

    def save(self, *changed: TaskRun) -> None:
        """Writes `run.json`, one line per task; only the tasks in `changed` are updated, or all if none is given."""
        for task in changed or self.tasks.values():
            self._lines[task.path] = f"{_json(task.path)}: {_json(_task(task, self.folder))}"
        head = ",\n ".join(f"{_json(name)}: {_json(value)}" for name, value in _head(self).items())
        tasks = ",\n  ".join(self._lines.values())
        write_whole(self.folder / "run.json", f'{{{head},\n "tasks": {{\n  {tasks}\n }}\n}}\n')


class Listener(Protocol):
    """Notified of the events of a run; what it raises ends the run.

    A skipped task is finished without being started. When a run is interrupted, only its end is reported.
    """

    def task_started(self, task: TaskRun) -> None: ...
    def task_finished(self, task: TaskRun) -> None: ...
    def run_finished(self, run: Run) -> None: ...


class Silent:
    """A listener that does nothing."""

    def task_started(self, task: TaskRun) -> None: ...
    def task_finished(self, task: TaskRun) -> None: ...
    def run_finished(self, run: Run) -> None: ...


def new_folder(out: Path, name: str, created: datetime) -> Path:
    """Creates the folder of a run, and points `<out>/latest` to it."""
    out.mkdir(parents=True, exist_ok=True)
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "pipeline"
    base = f"{created:%Y%m%d-%H%M%S}-{slug}"
    number = 1
    while True:
        folder = out / (base if number == 1 else f"{base}-{number}")
        try:
            folder.mkdir()
            break
        except FileExistsError:
            number += 1
    temporary = out / f".latest.{os.getpid()}"
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(folder.name)
    temporary.replace(out / "latest")
    return folder


def link_outputs(task: TaskRun) -> None:
    """Creates a relative link in a task's folder to each output artifact that is elsewhere on this machine."""
    for name, value in task.outputs.items():
        link = task.folder / name
        exists = link.exists() or link.is_symlink()
        if isinstance(value, Artifact) and value.local and not exists and Path(value.uri).exists():
            link.symlink_to(os.path.relpath(value.uri, task.folder))


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _head(run: Run) -> dict[str, Json]:
    return {
        "format": _FORMAT,
        "name": run.name,
        "pipeline": run.pipeline,
        "arguments": _plain(run.arguments),
        "state": run.state.value,
        "started": run.created.isoformat(timespec="milliseconds"),
        "seconds": round(run.seconds, 6),
        "error": _message(run.error),
        "outputs": _plain(run.outputs),
        "ignored": list(run.ignored),
        "notes": list(run.notes),
    }


def _task(task: TaskRun, folder: Path) -> dict[str, Json]:
    return {
        "state": task.state.value,
        "pipeline": task.pipeline,
        "started": task.started,
        "seconds": round(task.seconds, 6),
        "attempts": task.attempts,
        "cached": task.cached,
        "key": task.key,
        "reason": task.reason,
        "error": _message(task.error),
        "log": None if not task.attempts else task.log.relative_to(folder).as_posix(),
        "inputs": _plain(task.inputs),
        "outputs": _plain(task.outputs),
    }


def _plain(values: Mapping[str, Json | Artifact]) -> dict[str, Json]:
    return {name: _value(value) for name, value in values.items()}


def _value(value: Json | Artifact) -> Json:
    return {**value.runtime(), "digest": value.digest} if isinstance(value, Artifact) else value


def _message(error: BaseException | None) -> str | None:
    return None if error is None else f"{type(error).__name__}: {error}"
