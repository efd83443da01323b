"""A run as a person sees it: a line a task while it goes, a table at the end; and the same as one JSON object."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...components.core.backends.base import backend
from ...components.core.release.environments import parse
from ..runner import Artifact, Run, State, TaskRun
from . import console, figures


@dataclass
class Lines:
    """Reports a run on stderr as it goes, and keeps the run for the summary after it.

    A task's own progress bars come between its two lines, so these are plain lines, not a live display.
    """

    run: Run | None = None
    _console: Console = field(default_factory=console.stderr)

    def task_started(self, task: TaskRun) -> None:
        if not task.pipeline:
            self._console.print(Text(f"▸ {figures.title(task)}", "bold"))

    def task_finished(self, task: TaskRun) -> None:
        if task.pipeline or task.state in (State.SKIPPED, State.CANCELLED):
            return
        if task.state is State.SUCCEEDED:
            line = Text.assemble(("✓", "green"), f" {figures.title(task)}  {_seconds(task)}  {figures.figure(task)}")
        else:
            line = Text.assemble(("✗", "red"), f" {figures.title(task)}  {_seconds(task)}  its log: {_near(task.log)}")
        self._console.print(line)

    def run_finished(self, run: Run) -> None:
        self.run = run


def table(run: Run) -> Table:
    """Step, seconds and main figure of every task that ran."""
    shown = console.table("step", "seconds", "main figure")
    shown.columns[1].justify = "right"
    for task in _ran(run):
        shown.add_row(*(Text(cell) for cell in (figures.title(task), _seconds(task), figures.figure(task))))
    return shown


def summary(run: Run) -> None:
    """Prints the table, what the gates decided, where the environments are, and the report's and the run's path."""
    out = console.stdout()
    out.print(table(run))
    for note in run.notes:
        out.print(Text(f"Note: {note}", "yellow"))
    out.print()
    for gate in gates(run):
        if gate["outcome"] == figures.REJECT:
            rejected = f"{gate['model']} was not promoted to {gate['environment']}: {gate['reasons']}"
            out.print(Text(rejected, "bold yellow"))
            out.print("That environment and those after it have not changed.")
    for environment, url in urls(run).items():
        out.print(Text(f"{environment:10} {url}"))
    if page := report(run):
        out.print(Text(f"report     {_near(page)}"))
    out.print(Text(f"run        {_near(run.folder)}  ({run.seconds:.1f} s)"))


def as_json(run: Run) -> dict[str, Any]:
    """The run as one JSON object."""
    page = report(run)
    return {
        "run": str(run.folder),
        "pipeline": run.pipeline,
        "state": str(run.state),
        "seconds": round(run.seconds, 3),
        "error": None if run.error is None else str(run.error),
        "tasks": [_task(task) for task in _ran(run)],
        "outputs": {name: _plain(value) for name, value in run.outputs.items()},
        "gates": gates(run),
        "urls": urls(run),
        "report": None if page is None else str(page),
        "notes": list(run.notes),
    }


def gates(run: Run) -> list[dict[str, str]]:
    """What each gate decided: environment, model, outcome and reasons."""
    return [
        {
            "environment": str(task.inputs["environment"]),
            "model": f"{task.inputs['name']} version {task.inputs['version']}",
            "outcome": str(task.outputs["outcome"]),
            "reasons": str(task.outputs["reasons"]),
        }
        for task in _decided(run)
    ]


def urls(run: Run) -> dict[str, str]:
    """Where each environment answers that the run's model was promoted to."""
    found = {}
    for task in _decided(run):
        environment = str(task.inputs["environment"])
        entry = parse(str(task.inputs.get("environments", ""))).get(environment)
        live = backend(entry.backend).live(environment) if entry else None
        if live and task.outputs["outcome"] != figures.REJECT:
            found[environment] = live.url
    return found


def report(run: Run) -> Path | None:
    """The evaluation's page. The run's folder gets a link to it that ends in .html, as browsers want."""
    for task in _ran(run):
        page = task.outputs.get("report")
        if isinstance(page, Artifact) and page.local and Path(page.path).exists():
            link = run.folder / "report.html"
            if not link.is_symlink():
                link.symlink_to(os.path.relpath(page.path, run.folder))
            return link
    return None


def _decided(run: Run) -> list[TaskRun]:
    return [task for task in _ran(run) if figures.step(task) == "promote" and task.state is State.SUCCEEDED]


def _ran(run: Run) -> list[TaskRun]:
    return [task for task in run.tasks.values() if not task.pipeline and task.state in (State.SUCCEEDED, State.FAILED)]


def _task(task: TaskRun) -> dict[str, Any]:
    return {
        "task": task.path,
        "step": figures.step(task),
        "environment": figures.environment(task),
        "state": str(task.state),
        "seconds": round(task.seconds, 3),
        "cached": task.cached,
        "figure": figures.figure(task) if task.state is State.SUCCEEDED else "",
        "metrics": figures.metrics(task),
        "outputs": {name: _plain(value) for name, value in task.outputs.items()},
    }


def _plain(value: Any) -> Any:
    return value.path if isinstance(value, Artifact) else value


def _seconds(task: TaskRun) -> str:
    return "cached" if task.cached else f"{task.seconds:.1f} s"


def _near(path: Path) -> str:
    """Relative where that is shorter to read."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
