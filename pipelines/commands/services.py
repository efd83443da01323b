"""`towpath services`: the servers that deploys started on this machine."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated

import typer
from rich.text import Text

from ...components.core.backends.local import services
from ...components.core.errors import ConfigError
from . import console
from .options import AsJson

group = typer.Typer(help="List, stop and start the servers that deploys started here.")


def add(app: typer.Typer) -> None:
    """Adds the commands."""
    app.add_typer(group, name="services")


@group.callback(invoke_without_command=True)
def _default(context: typer.Context) -> None:
    """List, stop and start the servers that deploys started here."""
    if context.invoked_subcommand is None:
        list_()


@group.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the servers, by environment."""
    found = services.list_services()
    if as_json:
        print(json.dumps([dataclasses.asdict(service) for service in found]))
        return
    out = console.stdout()
    if not found:
        out.print("No services run here. `towpath promote NAME --to demo` starts one.")
        return
    table = console.table("environment", "role", "models", "url", "process", "since", "health")
    for service in found:
        models = ", ".join(f"{model.name}@{model.version}" for model in service.models)
        health = "ready" if service.healthy else "does not answer" if service.pid else "down, being started again"
        cells = (service.environment, service.role, models, service.url, service.pid or "", service.since, health)
        table.add_row(*(Text(str(cell)) for cell in cells))
    out.print(table)


@group.command()
def stop(
    environment: Annotated[str | None, typer.Argument(metavar="[ENVIRONMENT]", help="demo, staging …")] = None,
    every: Annotated[bool, typer.Option("--all", help="Those of every environment.")] = False,
) -> None:
    """Stop an environment's servers, or all. What they held stays noted, for the next start."""
    if (environment is None) != every:
        raise ConfigError("Which services are to stop?", "Give an environment, or --all.")
    stopped = services.stop(environment)
    print(f"Stopped: {', '.join(stopped)}." if stopped else "Nothing was running.")


@group.command()
def start(environment: Annotated[str, typer.Argument(metavar="ENVIRONMENT", help="demo, staging …")]) -> None:
    """Start an environment's server again with the models that it held last."""
    print(services.start(environment))
