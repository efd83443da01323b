"""`towpath submit`: a pipeline onto a Kubeflow cluster."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from ... import __version__
from ...components.core.errors import ConfigError, RetryError
from . import console, rules, settings, targets
from .compile import IMAGE_PREFIX, package, with_images
from .options import Approvals, Arguments, AsJson, Data, Environments, ImagePrefix, Settings, Tag, complete_target


def add(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("submit")(submit)


def submit(
    pipeline: Annotated[
        str, typer.Argument(autocompletion=complete_target, help="A pipeline, a component, or a compiled FILE.yaml.")
    ],
    host: Annotated[str, typer.Option("--host", help="Address of the Kubeflow Pipelines API.")],
    namespace: Annotated[
        str | None, typer.Option("--namespace", help="Of the run, on a cluster of many users.")
    ] = None,
    experiment: Annotated[str, typer.Option("--experiment", help="Groups runs in Kubeflow's UI.")] = "towpath",
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the run; if left out, the pipeline's and the time.")
    ] = None,
    data: Data = None,
    set_: Settings = None,
    argument: Arguments = None,
    approve: Approvals = None,
    environments: Environments = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Run every step, also those run before.")] = False,
    image_prefix: ImagePrefix = IMAGE_PREFIX,
    tag: Tag = __version__,
    as_json: AsJson = False,
) -> None:
    """Run a pipeline on a Kubeflow cluster, and show where to watch it.

    [bold]towpath submit train --host https://kubeflow.example.com/pipeline --data gs://bucket/images[/bold]
    """
    target = targets.find(pipeline, None if environments is None else rules.read(environments))
    options = settings.CliOptions(
        data, tuple(set_ or ()), tuple(argument or ()), (), tuple(approve or ()), environments
    )
    arguments = settings.arguments(target, options)
    text = with_images(package(target.source), image_prefix, tag)
    run = _send(text, arguments, host.rstrip("/"), namespace, experiment, name or target.name, no_cache)
    link = f"{host.rstrip('/')}/#/runs/details/{run}"
    if as_json:
        print(json.dumps({"run": run, "url": link}))
    else:
        console.stdout().print(f"{target.name} was submitted: {link}", markup=False)


def _send(
    text: str,
    arguments: dict[str, Any],
    host: str,
    namespace: str | None,
    experiment: str,
    name: str,
    no_cache: bool,
) -> str:
    """Creates the run and returns its id."""
    import kfp_server_api  # type: ignore[import-untyped]
    import urllib3
    from kfp.client import Client

    # The client prints links of its own, and warns of clusters older than any that it still talks to.
    quiet = contextlib.redirect_stdout(io.StringIO())
    with tempfile.TemporaryDirectory(prefix="towpath-") as folder, quiet, warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        file = Path(folder) / f"{name}.yaml"
        file.write_text(text)
        try:
            # The client itself would ask five times, for half a minute, with a traceback each time.
            api = kfp_server_api.ApiClient(kfp_server_api.Configuration(host=host))
            kfp_server_api.HealthzServiceApi(api).healthz_service_get_healthz()
            result = Client(host=host).create_run_from_pipeline_package(
                str(file),
                arguments=arguments,
                run_name=name,
                experiment_name=experiment,
                namespace=namespace,
                # None leaves to each step what the pipeline says; True would cache steps that act on the world.
                enable_caching=False if no_cache else None,
            )
        except urllib3.exceptions.HTTPError as error:
            raise RetryError(
                f"{host} does not answer as a Kubeflow Pipelines API ({_reason(error)}).",
                "Check the address, and that the cluster is up: `kubectl get pods -n kubeflow`.",
            ) from error
        except kfp_server_api.ApiException as error:
            said = f"{host} answers {error.status} {error.reason}."
            if error.status >= 500:
                raise RetryError(said, "Try again in a while.") from error
            raise ConfigError(said, "Check --host, --namespace and your rights on the cluster.") from error
    return str(result.run_id)


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", error))
