"""`towpath services`: the servers of the environments."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated, Any

import typer
from rich.text import Text

from ...components.core.backends.base import Backend, Status, backend
from ...components.core.errors import ConfigError
from ...components.core.release.environments import find
from . import console, rules
from .options import AsJson, Environments

group = typer.Typer(help="List, stop and start the environments' servers.")


def add(app: typer.Typer) -> None:
    """Adds the commands."""
    app.add_typer(group, name="services")


@group.callback(invoke_without_command=True)
def _default(context: typer.Context) -> None:
    """List, stop and start the environments' servers."""
    if context.invoked_subcommand is None:
        list_()


@group.command("list")
def list_(environments: Environments = None, as_json: AsJson = False) -> None:
    """List the servers, by environment."""
    found = [status for servers in _backends(environments) for status in servers.status()]
    if as_json:
        print(json.dumps([_plain(status) for status in found]))
        return
    out = console.stdout()
    if not found:
        out.print("No services are running. `towpath promote NAME --to demo` starts one.")
        return
    table = console.table("environment", "role", "models", "url", "since", "health", "detail")
    for status in found:
        server = status.deployment
        models = ", ".join(f"{model.name}@{model.version}" for model in server.models)
        health = "ready" if status.healthy else "does not answer"
        cells = (server.environment, server.role, models, server.url, server.since, health, status.detail)
        table.add_row(*(Text(cell) for cell in cells))
    out.print(table)


@group.command()
def stop(
    environment: Annotated[
        str | None, typer.Argument(metavar="[ENVIRONMENT]", help="A name in the rules: demo …")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Those of every environment.")] = False,
    environments: Environments = None,
) -> None:
    """Stop an environment's servers, or all. What they held stays noted, for the next start."""
    if (environment is None) != every:
        raise ConfigError("Which services are to be stopped?", "Give an environment, or --all.")
    if environment is not None:
        stopped = _backend(environment, environments).stop(environment)
    else:
        stopped = [name for servers in _backends(environments) for name in servers.stop()]
    print(f"Stopped: {', '.join(stopped)}." if stopped else "Nothing was running.")


@group.command()
def start(
    environment: Annotated[str, typer.Argument(metavar="ENVIRONMENT", help="A name in the rules: demo …")],
    environments: Environments = None,
) -> None:
    """Start an environment's server again with the models that it held last."""
    print(_backend(environment, environments).start(environment).url)


def _backend(environment: str, file: Any) -> Backend:
    return backend(find(rules.read(file), environment).backend)


def _backends(file: Any) -> list[Backend]:
    return [backend(name) for name in sorted({entry.backend for entry in rules.read(file).values()})]


def _plain(status: Status) -> dict[str, Any]:
    return {**dataclasses.asdict(status.deployment), "healthy": status.healthy, "detail": status.detail}
