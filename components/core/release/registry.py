"""The model registry: versions with their bundles, who approved them, and which is deployed to each environment.

A thin typed layer over MLflow. An environment is an alias of the registered model; an approval is a tag of the version;
the bundle lies among the artifacts of the run that registered it.
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .. import clock, config, files
from ..errors import ConfigError, RetryError
from ..home import home, user
from ..models import bundle as bundles
from ..models.bundle import Bundle
from . import mlflow_client
from .mlflow_client import client

DIGEST = "towpath.digest"
TASK = "towpath.task"
APPROVAL = "towpath.approval."
BUNDLE = "bundle"
REPORT = "report"
# What both MLflow and the server's routes take.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Approval:
    """That a person approves a version. `when` is UTC, ISO 8601."""

    what: str
    who: str
    when: str
    note: str = ""


@dataclass(frozen=True)
class Version:
    """A registered version of a model.

    Attributes:
        name: of the model.
        version: its number.
        task: "detection" or "classification".
        digest: sha256 of the bundle.
        bundle: its folder on this machine.
        metrics: of its evaluation ("map50", "accuracy" …).
        approvals: by what was approved ("legal" …).
        tags: all of the version's, as MLflow keeps them.
    """

    name: str
    version: str
    task: str
    digest: str
    bundle: Path
    metrics: dict[str, float]
    approvals: dict[str, Approval]
    tags: dict[str, str]


def register(bundle: Bundle, metrics: Mapping[str, float], report: Path | None = None, note: str = "") -> Version:
    """Registers a bundle with its evaluation. The same bundle again is the same version, with the metrics given last.

    A version is created only once its bundle is complete in the registry: killed before that, there is none, and the
    same call continues the run that it began.

    Args:
        bundle: the model; its card's name is the registered model's.
        metrics: of its evaluation; what is not finite is left out.
        report: the evaluation's page.
        note: free text, for people.

    Raises:
        ConfigError: a name that a registry cannot hold.
        RetryError: the registry does not answer, or the disk is full.
    """
    name = bundle.card.name
    if not NAME.fullmatch(name):
        raise ConfigError(f"The model's name is '{name}': it may contain letters, digits and . _ - only.")
    numbers = {key: float(value) for key, value in metrics.items() if math.isfinite(value)}
    digest = bundle.digest
    with client() as mlflow, mlflow_client.exclusive():
        version = _with_digest(mlflow, name, digest)
        if version is None:
            version = _add(mlflow, bundle, digest, numbers, report, note)
        elif _metrics(mlflow, version.run_id) != _renamed(numbers):
            mlflow_client.log(mlflow, version.run_id, numbers, {})
        return _record(mlflow, version)


def get(name: str, version: str | None = None) -> Version:
    """A registered version, its bundle on this machine (fetched when the registry is elsewhere).

    Args:
        name: of the model.
        version: a number, an environment ("prod"), or None for the newest.

    Raises:
        ConfigError: no such model or version; names what there is.
    """
    with client() as mlflow:
        return _record(mlflow, _find(mlflow, name, version))


def verified(name: str, version: str | None = None) -> Version:
    """Like `get`, and checks that the bundle is the one that was registered: what is deployed is read by others.

    Raises:
        ConfigError: no such model or version; names what there is.
        BundleError: the bundle was changed since.
    """
    found = get(name, version)
    mlflow_client.verify(found.bundle, found.digest)
    return found


def names() -> list[str]:
    """Names of the registered models."""
    with client() as mlflow:
        return sorted(model.name for model in _models(mlflow))


def environments() -> dict[str, dict[str, str]]:
    """Which version of each model is deployed where: environment -> model -> version."""
    deployed: dict[str, dict[str, str]] = {}
    with client() as mlflow:
        for model in _models(mlflow):
            for environment, version in model.aliases.items():
                deployed.setdefault(environment, {})[model.name] = str(version)
    return deployed


def deployed_version(name: str, environment: str) -> str | None:
    """The version of a model that is deployed to an environment, as recorded."""
    return environments().get(environment, {}).get(name)


def set_deployed_version(name: str, version: str, environment: str) -> None:
    """Records that this version is deployed to an environment from now on."""
    with client() as mlflow:
        mlflow.set_registered_model_alias(name, environment, version)


def approve(name: str, version: str, what: str, who: str | None = None, note: str = "") -> Approval:
    """Records an approval. One that is recorded already stays as it is: it says who gave it first, and when.

    Args:
        what: "legal", "fit", "cost", "live": what the environments' rules ask for.
        who: a person; None for the user of this machine's account.
    """
    with client() as mlflow:
        found = _find(mlflow, name, version)
        given = _approvals(found)
        if what in given:
            return given[what]
        approval = Approval(what, who or user(), clock.now(), note)
        mlflow.set_model_version_tag(name, str(found.version), APPROVAL + what, json.dumps(asdict(approval)))
        return approval


def _add(mlflow: Any, bundle: Bundle, digest: str, metrics: dict[str, float], report: Path | None, note: str) -> Any:
    name = bundle.card.name
    run = _run(mlflow, name, digest)
    run_id = run.info.run_id
    mlflow_client.log(mlflow, run_id, metrics, {key: str(value) for key, value in bundle.card.training.items()})
    mlflow.log_artifacts(run_id, str(bundle.folder), BUNDLE)
    if report is not None:
        _log_report(mlflow, run_id, report)
    source = f"{run.info.artifact_uri}/{BUNDLE}"
    if mlflow_client.is_here(source) and files.tree_digest(Path(source)) != digest:
        raise RetryError(f"{source}: the copy differs from {bundle.folder}.", "Is that folder still being written?")
    if name not in {model.name for model in _models(mlflow)}:
        mlflow.create_registered_model(name)
    tags = {DIGEST: digest, TASK: bundle.card.task}
    version = mlflow.create_model_version(name, source, run_id, tags=tags, description=note or None)
    mlflow.set_terminated(run_id)
    return version


def _run(mlflow: Any, name: str, digest: str) -> Any:
    """A run for this bundle: the one that was begun and never ended, or a new one."""
    experiment = mlflow_client.experiment(mlflow, name)
    begun = [
        run for run in mlflow_client.search_runs(mlflow, experiment, digest=digest) if run.info.status == "RUNNING"
    ]
    return begun[0] if begun else mlflow.create_run(experiment, tags={DIGEST: digest}, run_name=f"register {name}")


def _log_report(mlflow: Any, run_id: str, report: Path) -> None:
    """KFP calls an artifact's file as it likes; here it gets an ending that browsers know."""
    page = home() / f".report.{run_id}" / "report.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copyfile(report, page)
        mlflow.log_artifact(run_id, str(page), REPORT)
    finally:
        shutil.rmtree(page.parent)


def _models(mlflow: Any) -> list[Any]:
    found: list[Any] = []
    token = None
    while True:
        page = mlflow.search_registered_models(page_token=token)
        found.extend(page)
        token = page.token
        if not token:
            return found


def _versions(mlflow: Any, name: str) -> list[Any]:
    """All versions of a model, oldest first. Kept here, not in a query: MLflow's order is by text."""
    found: list[Any] = []
    token = None
    while True:
        page = mlflow.search_model_versions(f"name = '{name}'", page_token=token)
        found.extend(page)
        token = page.token
        if not token:
            return sorted(found, key=lambda version: int(version.version))


def _with_digest(mlflow: Any, name: str, digest: str) -> Any:
    return next((version for version in _versions(mlflow, name) if version.tags.get(DIGEST) == digest), None)


def _find(mlflow: Any, name: str, version: str | None) -> Any:
    known = {model.name: model for model in _models(mlflow)}
    if name not in known:
        raise ConfigError(
            f"The registry has no model '{name}'.",
            config.nearest(name, known) if known else "Register one: `towpath run train`.",
        )
    versions = {str(one.version): one for one in _versions(mlflow, name)}
    aliases = {alias: str(number) for alias, number in known[name].aliases.items()}
    wanted = list(versions)[-1] if version is None and versions else aliases.get(str(version), str(version))
    if wanted not in versions:
        raise ConfigError(f"'{name}' has no version '{version}'.", config.nearest(wanted, [*versions, *aliases]))
    return versions[wanted]


def _record(mlflow: Any, version: Any) -> Version:
    name, number = version.name, str(version.version)
    digest = version.tags.get(DIGEST, "")
    if not digest:
        raise ConfigError(f"'{name}' version {number} was not registered by Towpath: it has no digest of its bundle.")
    folder = mlflow_client.download(version.source, digest)
    return Version(
        name=name,
        version=number,
        task=version.tags.get(TASK, ""),
        digest=digest,
        bundle=bundles.read(folder).folder,
        metrics=_metrics(mlflow, version.run_id),
        approvals=_approvals(version),
        tags=dict(version.tags),
    )


def _approvals(version: Any) -> dict[str, Approval]:
    tags = {key: value for key, value in version.tags.items() if key.startswith(APPROVAL)}
    return {key.removeprefix(APPROVAL): Approval(**json.loads(value)) for key, value in tags.items()}


def _metrics(mlflow: Any, run_id: str) -> dict[str, float]:
    return dict(mlflow.get_run(run_id).data.metrics)


def _renamed(metrics: dict[str, float]) -> dict[str, float]:
    return {mlflow_client.metric_name(key): value for key, value in metrics.items()}
