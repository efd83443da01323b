"""Runs a planned pipeline: one task after another, in the plan's order, each at most once.

Tasks run in the calling thread, so that a debugger stops inside a component. Tasks share state only through their
TaskRun and Scope; what they share through the process (environment, streams), and what running several at a time would
have to change, is all in isolate.py.
"""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

from ...components.core.errors import StepError, TowpathError
from . import cache
from .execute import LOG, SOURCE, Call, Outputs, clear, execute, remove_partials
from .inputs import Inputs, Job, Scope, resolve
from .model import Code, Graph, Task, TaskOutput
from .record import Listener, Run, State, TaskRun, link_outputs


class Engine:
    """One run in progress.

    Args:
        run: the record of the run.
        job: the run as placeholders name it.
        listener: notified of each task.
        cache_root: where outputs are kept for later runs; None disables the cache.
    """

    def __init__(self, run: Run, job: Job, listener: Listener, cache_root: Path | None) -> None:
        self.run = run
        self.job = job
        self.listener = listener
        self.cache_root = cache_root
        self.failure: TowpathError | None = None

    def graph(self, graph: Graph, inputs: Inputs) -> tuple[Scope, TaskRun | None]:
        """Runs a graph's tasks. After a failure, tasks that do not depend on it still run.

        Returns:
            The graph's scope, and the first task that failed, if any.
        """
        scope = Scope(inputs.parameters, inputs.artifacts)
        failed: TaskRun | None = None
        for task in graph.tasks.values():
            record = self.run.tasks[task.path]
            self._task(task, record, scope)
            scope.ended[task.name] = record
            if record.state is State.FAILED and failed is None:
                failed = record
        return scope, failed

    def _task(self, task: Task, record: TaskRun, scope: Scope) -> None:
        for name in task.upstream:
            # "depends: a.Succeeded && b.Succeeded": backend/src/v2/compiler/argocompiler/dag.go, depends.
            if scope.ended[name].state is not State.SUCCEEDED:
                ended = "failed" if scope.ended[name].state is State.FAILED else "was skipped"
                self._skip(task, record, f"{name} {ended}")
                return
        begun = time.perf_counter()
        try:
            inputs = resolve(task, scope, self.job)
            record.inputs = inputs.all()
            if task.condition is not None and not task.condition.holds(inputs.parameters):
                self._skip(task, record, f"the condition is false: {task.condition.source}")
                return
            self._start(record)
            if isinstance(task.component.body, Graph):
                self._nested(task.component.body, record, inputs)
            else:
                self._component(task, task.component.body, record, inputs)
                link_outputs(record)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a component may raise anything, SystemExit included
            record.state, record.error = State.FAILED, error
            self._failed(record, error)
        record.seconds = time.perf_counter() - begun
        self.run.save(record)
        self.listener.task_finished(record)

    def _start(self, record: TaskRun) -> None:
        record.state = State.RUNNING
        record.started = datetime.now().astimezone().isoformat(timespec="milliseconds")
        self.run.save(record)
        self.listener.task_started(record)

    def _skip(self, task: Task, record: TaskRun, reason: str) -> None:
        record.state, record.reason = State.SKIPPED, reason
        if isinstance(task.component.body, Graph):
            for inner in task.component.body.tasks.values():
                self._skip(inner, self.run.tasks[inner.path], f"{task.path} was skipped")
        self.run.save(record)
        self.listener.task_finished(record)

    def _nested(self, graph: Graph, record: TaskRun, inputs: Inputs) -> None:
        scope, failed = self.graph(graph, inputs)
        if failed is not None:
            record.state, record.error = State.FAILED, failed.error
            return
        record.outputs = collect(graph, scope)
        record.state = State.SUCCEEDED

    def _component(self, task: Task, code: Code, record: TaskRun, inputs: Inputs) -> None:
        record.folder.mkdir(parents=True, exist_ok=True)
        if self.cache_root is None or not task.cache:
            outputs = self._attempts(task, code, record, inputs, record.folder)
            remove_partials(record.folder)
        else:
            parameters = {n: v for n, v in inputs.parameters.items() if n in task.component.interface.parameters}
            record.key = cache.key(task.component, parameters, inputs.artifacts, task.cache_key)
            outputs = self._cached(task, code, record, inputs, record.key)
        record.outputs = outputs.all()
        record.state = State.SUCCEEDED

    def _cached(self, task: Task, code: Code, record: TaskRun, inputs: Inputs, key: str) -> Outputs:
        assert self.cache_root is not None
        with cache.opened(self.cache_root, key) as entry:
            kept = entry.load()
            if kept is not None:
                record.cached = True
                return kept
            if entry.damage:
                self.run.notes.append(f"task {task.path}: its cache entry was discarded: {entry.damage}")
            entry.begin()
            outputs = self._attempts(task, code, record, inputs, entry.folder)
            entry.finish(outputs)
            return outputs

    def _attempts(self, task: Task, code: Code, record: TaskRun, inputs: Inputs, place: Path) -> Outputs:
        call = Call(
            path=task.path,
            code=code,
            interface=task.component.interface,
            parameters=inputs.parameters,
            artifacts=inputs.artifacts,
            folder=record.folder,
            place=place,
        )
        while True:
            record.attempts += 1
            try:
                return execute(call)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if record.attempts > task.retry.times:
                    raise
                self.run.notes.append(f"task {task.path}: attempt {record.attempts} failed: {_describe(error)}")
                time.sleep(task.retry.pause(record.attempts))
                clear(place, keep=(LOG, SOURCE))

    def _failed(self, record: TaskRun, error: BaseException) -> None:
        if self.failure is not None:
            return
        if isinstance(error, TowpathError):
            self.failure = error
            return
        hint = f"Its log: {record.log}" if record.attempts else None
        self.failure = StepError(f"Task {record.path} failed: {_describe(error).rstrip('.')}.", hint)
        self.failure.__cause__ = error


def collect(graph: Graph, scope: Scope) -> dict[str, object]:
    """Collects a graph's outputs; skipped tasks' are left out, and for dsl.OneOf the first that ran is used.

    backend/src/v2/driver/resolve.go, GetProducerTask.
    """
    outputs: dict[str, object] = {}
    for name, sources in graph.outputs.items():
        for source in sources:
            if _has(scope, source):
                outputs[name] = scope.output(source)
                break
    return outputs


def _has(scope: Scope, source: TaskOutput) -> bool:
    task = scope.ended[source.task]
    return task.state is State.SUCCEEDED and source.output in task.outputs


def _describe(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"it called sys.exit({error.code!r})"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
