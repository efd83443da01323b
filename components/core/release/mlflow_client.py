"""MLflow's client: imported when first needed, quiet, and with its state under Towpath's home unless told otherwise."""

from __future__ import annotations

import functools
import logging
import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .. import files
from ..errors import BundleError, ConfigError, MissingError, RetryError
from ..home import home

DATABASE = "mlflow.db"
ARTIFACTS = "artifacts"
# MLflow takes letters, digits and _ - . space / : in a metric's name.
_NO_METRIC_CHARACTER = re.compile(r"[^\w\-./: ]")


def tracking_uri() -> str:
    """Where the registry is: MLFLOW_TRACKING_URI, or a SQLite file under home."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{home().absolute() / DATABASE}"


@contextmanager
def client() -> Iterator[Any]:
    """MLflow's client, with its warnings and chatter off and its errors as ours.

    Raises:
        MissingError: mlflow is not installed.
        ConfigError: MLflow refuses the request.
        RetryError: its server or database does not answer.
    """
    uri = tracking_uri()
    with warnings.catch_warnings(), files.translate_os_errors(home()):
        warnings.simplefilter("ignore")
        _import(uri)
        from mlflow.exceptions import MlflowException

        try:
            yield _connect(uri)
        except MlflowException as error:
            message = f"The registry at {_shown(uri)}: {str(error).strip().splitlines()[0]}"
            if error.error_code in ("INTERNAL_ERROR", "TEMPORARILY_UNAVAILABLE", "REQUEST_LIMIT_EXCEEDED"):
                raise RetryError(message, "Is it up? Then give the same command again.") from error
            raise ConfigError(message) from error


@contextmanager
def exclusive() -> Iterator[None]:
    """Lets one process of this machine at a time through: for what MLflow does in more than one transaction."""
    with files.locked(home() / "registry.lock", "the registry"):
        yield


def experiment(client: Any, name: str) -> str:
    """The id of the experiment of that name, created if there is none."""
    found = client.get_experiment_by_name(name)
    if found is not None:
        return str(found.experiment_id)
    # A tracking server places artifacts itself; a database on this machine would put them into the working directory.
    remote = tracking_uri().startswith(("http:", "https:"))
    location = None if remote else str(home().absolute() / ARTIFACTS / name)
    return str(client.create_experiment(name, artifact_location=location))


def search_runs(client: Any, experiment_id: str, **tags: str) -> list[Any]:
    """All runs of an experiment with these tags ("action" stands for "towpath.action"), oldest first."""
    condition = " and ".join(f"tags.`towpath.{key}` = '{value}'" for key, value in tags.items())
    found: list[Any] = []
    token = None
    while True:
        page = client.search_runs(
            [experiment_id], condition, order_by=["attributes.start_time ASC"], page_token=token, max_results=500
        )
        found.extend(page)
        token = page.token
        if not token:
            return found


def log(client: Any, run_id: str, metrics: dict[str, float], params: dict[str, str]) -> None:
    """Writes numbers and settings into a run, in batches as large as MLflow takes."""
    import time

    from mlflow.entities import Metric, Param

    now = int(time.time() * 1000)
    numbers = [Metric(metric_name(key), float(value), now, 0) for key, value in metrics.items()]
    settings = [Param(metric_name(key), value[:6000]) for key, value in params.items()]
    for first in range(0, len(numbers), 1000):
        client.log_batch(run_id, metrics=numbers[first : first + 1000])
    for first in range(0, len(settings), 100):
        client.log_batch(run_id, params=settings[first : first + 100])


def metric_name(name: str) -> str:
    """A name that MLflow takes; class names may hold anything."""
    return _NO_METRIC_CHARACTER.sub("_", name)


def is_here(uri: str) -> bool:
    """Whether an artifact's address is a path of this machine ("mlflow-artifacts:/…", "s3://…" are not)."""
    return uri.startswith("/")


def download(uri: str, digest: str) -> Path:
    """The bundle among a run's artifacts, on this machine: where it is already, or fetched once.

    It is kept by its content's digest, so that two registries with the same names and numbers never share a bundle.

    Args:
        uri: of the artifacts' folder.
        digest: sha256 of the bundle (`files.tree_digest`), as the registry records it.

    Raises:
        BundleError: what was fetched is not what was registered.
    """
    if is_here(uri):
        return Path(uri)
    out = home() / "models" / digest
    with files.locked(out.with_name(f"{digest}.lock"), "fetching the model"):
        if out.is_dir():
            return out
        import mlflow.artifacts

        work = files.partial(out)
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        fetched = Path(mlflow.artifacts.download_artifacts(artifact_uri=uri, dst_path=str(work)))
        verify(fetched, digest)
        files.publish(fetched, out)
        shutil.rmtree(work, ignore_errors=True)
    return out


def verify(folder: Path, digest: str) -> None:
    """Checks that a bundle is the one that was registered.

    Raises:
        BundleError: it is another one, or was changed.
    """
    found = files.tree_digest(folder)
    if found != digest:
        raise BundleError(
            f"{folder}: its content ({found[:12]}…) is not what was registered ({digest[:12]}…).", "Register it again."
        )


def _import(uri: str) -> None:
    if "mlflow" not in sys.modules:
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # nothing of a run is told to a third party
    try:
        import mlflow
    except ImportError as error:
        raise MissingError("mlflow is not installed.", "Install towpath[registry].") from error
    mlflow.set_tracking_uri(uri)
    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.ERROR)


@functools.lru_cache(maxsize=8)
def _connect(uri: str) -> Any:
    from mlflow import MlflowClient

    default = uri == f"sqlite:///{home().absolute() / DATABASE}"
    if not default:
        return MlflowClient(uri)
    # Two processes that lay out the same new database at once would spoil it.
    with exclusive():
        if not (home() / DATABASE).exists():
            print("  preparing the registry (some seconds, the first time only)", file=sys.stderr, flush=True)
        return MlflowClient(uri)


def _shown(uri: str) -> str:
    """Without the password that an address may carry."""
    return re.sub(r"//[^/@]*@", "//", uri)
