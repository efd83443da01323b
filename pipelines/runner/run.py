"""`run`: checks everything, then runs a pipeline and records it."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from .arguments import Arguments, check
from .code import check_packages
from .engine import Engine, collect
from .inputs import Inputs, Job
from .model import Graph, Pipeline
from .plan import plan
from .record import Listener, Run, Silent, State, TaskRun, new_folder
from .spec import load


def run(
    pipeline: object,
    arguments: Mapping[str, object] | None = None,
    *,
    out: str | os.PathLike[str],
    cache: bool = True,
    listener: Listener | None = None,
    name: str | None = None,
) -> Run:
    """Runs a pipeline in this process.

    Args:
        pipeline: a compiled YAML file, a `@dsl.pipeline` function or a `@dsl.component`.
        arguments: the pipeline's inputs by name; an artifact as its path, its URI or a dsl.Artifact.
        out: the folder of runs: `<out>/<time>-<name>/` for this one, `<out>/cache/` for outputs that runs share.
        cache: whether outputs of earlier runs may be reused, and this run's kept for later ones.
        listener: notified when a task starts and ends.
        name: of this run; by default the pipeline's.

    Returns:
        The run, with every task's state and outputs.

    Raises:
        ConfigError: an argument is unknown, missing or of the wrong type; nothing ran.
        DataError: the pipeline cannot be read, or needs an unsupported feature; nothing ran.
        MissingError: packages that components need are not installed; nothing ran.
        TowpathError: a component raised it.
        StepError: a component raised something else, which is its `__cause__`.
    """
    planned = plan(load(pipeline))
    inputs = check(arguments or {}, planned.root.interface)
    notes = [*planned.notes, *check_packages(planned.root)]
    record = _record(planned, inputs, Path(out).absolute(), name)
    record.notes.extend(notes)
    job = Job(name or record.folder.name, planned.name, str(uuid.uuid4()), record.folder, record.created)
    cache_root = record.folder.parent / "cache" if cache else None
    engine = Engine(record, job, listener or Silent(), cache_root)
    _run(engine, planned.graph, Inputs(inputs.parameters, inputs.artifacts))
    if engine.failure is not None:
        raise engine.failure
    return record


def _record(planned: Pipeline, inputs: Arguments, out: Path, name: str | None) -> Run:
    created = datetime.now().astimezone()
    folder = new_folder(out, name or planned.name, created)
    record = Run(
        name=name or planned.name,
        pipeline=planned.name,
        arguments={**inputs.parameters, **inputs.artifacts},
        folder=folder,
        created=created,
        ignored=planned.ignored,
    )
    _add_tasks(record, planned.graph)
    return record


def _add_tasks(record: Run, graph: Graph) -> None:
    for task in graph.tasks.values():
        nested = isinstance(task.component.body, Graph)
        record.tasks.add(TaskRun(task.path, record.folder.joinpath(*task.path.split(".")), nested))
        if isinstance(task.component.body, Graph):
            _add_tasks(record, task.component.body)


def _run(engine: Engine, graph: Graph, inputs: Inputs) -> None:
    record = engine.run
    begun = time.perf_counter()
    record.state = State.RUNNING
    record.save()
    try:
        scope, failed = engine.graph(graph, inputs)
        record.state = State.SUCCEEDED if failed is None else State.FAILED
        record.error = engine.failure
        if failed is None:
            record.outputs = collect(graph, scope)
    except BaseException as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        record.state, record.error = (State.CANCELLED if interrupted else State.FAILED), error
        _cancel(record, "interrupted" if interrupted else "the run ended early")
        raise
    finally:
        record.seconds = time.perf_counter() - begun
        record.save()
        engine.listener.run_finished(record)


def _cancel(record: Run, reason: str) -> None:
    for task in record.tasks.values():
        if task.state in (State.PENDING, State.RUNNING):
            task.state, task.reason = State.CANCELLED, reason
