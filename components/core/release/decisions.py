"""Decisions about environments, kept as MLflow runs: what was decided, on which evidence, by whom and when.

A run is begun before anything changes and ended when all is done, so a record that says "promoted" is true, and one
that was killed in between stays visible as unfinished until the same decision is repeated (which continues it) or
another one for that environment takes its place.
"""

from __future__ import annotations

import datetime
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .. import files
from ..home import home, user
from . import mlflow_client
from .mlflow_client import client

EXPERIMENT = "towpath/promotions"  # no model's name can hold a slash

Action = Literal["promote", "reject", "rollback"]


@dataclass(frozen=True)
class Event:
    """One entry of an environment's history.

    Attributes:
        action: "promote", "reject" (nothing changed) or "rollback".
        version: the version that the decision was about; for a rollback the one that serves again.
        previous: the version that was deployed before; None for the first.
        when: UTC, ISO 8601.
    """

    action: Action
    name: str
    version: str
    previous: str | None
    environment: str
    who: str
    when: str
    reasons: tuple[str, ...]
    run_id: str


@contextmanager
def transaction(environment: str) -> Iterator[None]:
    """Lets one promotion or rollback at a time decide, record, change the servers and move the alias of an environment.

    It counts on this machine: two machines that share a registry do not share their servers either.

    Raises:
        RetryError: another one is at it for too long.
    """
    with files.locked(home() / "locks" / f"{environment}.lock", f"the promotion to '{environment}'"):
        yield


def begin(action: Action, name: str, version: str, environment: str, previous: str | None, reasons: list[str]) -> str:
    """Begins a record, or continues the same one that was killed.

    Returns:
        The run's id.
    """
    tags = {"action": action, "model": name, "version": version, "environment": environment}
    with client() as mlflow:
        experiment = mlflow_client.experiment(mlflow, EXPERIMENT)
        found = None
        for run in mlflow_client.search_runs(mlflow, experiment, model=name, environment=environment):
            if run.info.status == "RUNNING":
                if found is None and all(run.data.tags.get(f"towpath.{key}") == value for key, value in tags.items()):
                    found = run.info.run_id
                else:
                    mlflow.set_terminated(run.info.run_id, "KILLED")
        if found is None:
            title = f"{action} {name} {version} {environment}"
            named = {f"towpath.{key}": value for key, value in tags.items()}
            if previous is not None and previous != version:
                named["towpath.previous"] = previous
            found = mlflow.create_run(experiment, tags=named, run_name=title).info.run_id
        mlflow.set_tag(found, "towpath.who", user())
        mlflow.set_tag(found, "towpath.reasons", json.dumps(reasons))
        return str(found)


def end(run_id: str, figures: dict[str, float], pages: dict[str, str]) -> None:
    """Ends a record as done, with its figures and its pages (file name -> text)."""
    with client() as mlflow:
        mlflow_client.log(mlflow, run_id, figures, {})
        if pages:
            with tempfile.TemporaryDirectory() as folder:
                for name, text in pages.items():
                    (Path(folder) / name).write_text(text, encoding="utf-8")
                mlflow.log_artifacts(run_id, folder)
        mlflow.set_terminated(run_id)


def fail(run_id: str, why: str) -> None:
    """Ends a record as failed: the decision was made, and could not be carried out."""
    with client() as mlflow:
        mlflow.set_tag(run_id, "towpath.error", why)
        mlflow.set_terminated(run_id, "FAILED")


def history(environment: str, name: str | None = None) -> list[Event]:
    """What was decided and done for an environment (and a model), oldest first."""
    tags = {"environment": environment} | ({"model": name} if name else {})
    with client() as mlflow:
        experiment = mlflow_client.experiment(mlflow, EXPERIMENT)
        runs = mlflow_client.search_runs(mlflow, experiment, **tags)
    done = sorted((run for run in runs if run.info.status == "FINISHED"), key=lambda run: int(run.info.end_time))
    return [_event(run) for run in done]


def deployment_history(events: list[Event]) -> list[str]:
    """The versions that a model's events leave behind, the one deployed now last.

    A rollback takes away what came after its version, so rolling back twice goes back by two.
    """
    stack: list[str] = []
    for event in events:
        if event.action == "reject":
            continue
        if event.action == "rollback" and event.version in stack:
            del stack[stack.index(event.version) + 1 :]
        else:
            stack = [*(version for version in stack if version != event.version), event.version]
    return stack


def _event(run: Any) -> Event:
    tags = {key.removeprefix("towpath."): value for key, value in run.data.tags.items()}
    moment = datetime.datetime.fromtimestamp(run.info.end_time / 1000, datetime.timezone.utc)
    return Event(
        action=tags["action"],
        name=tags["model"],
        version=tags["version"],
        previous=tags.get("previous"),
        environment=tags["environment"],
        who=tags["who"],
        when=moment.isoformat(timespec="seconds"),
        reasons=tuple(json.loads(tags["reasons"])),
        run_id=run.info.run_id,
    )
