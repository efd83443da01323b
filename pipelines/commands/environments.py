"""`towpath promote`, `rollback`, `status`: which model each environment holds, and how that changes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from ...components.core.errors import ConfigError
from ...components.core.release import environments
from . import console, settings, targets
from .options import Approvals, AsJson, Settings
from .run import execute


def add(app: typer.Typer) -> None:
    """Adds the commands."""
    for command in (promote, rollback, status):
        app.command()(command)


def complete_environment(incomplete: str) -> list[str]:
    """The packaged rules' environments that begin so."""
    return [name for name in environments.read() if name.startswith(incomplete)]


def promote(
    model: Annotated[
        str, typer.Argument(metavar="NAME[@VERSION]", help="A registered model; its newest version if none is given.")
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="ENVIRONMENT", autocompletion=complete_environment, help="demo, app-demo, staging or prod."
        ),
    ],
    approve: Approvals = None,
    set_: Settings = None,
    out: Annotated[Path, typer.Option("--out", help="Folder of runs.")] = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """Bring a registered model into an environment, if its gate lets it in.

    [bold]towpath promote digit-scenes --to demo[/bold]
    [bold]towpath promote digit-scenes@3 --to prod --approve live[/bold]
    """
    name, at, version = model.partition("@")
    if not name or (at and not version):
        raise ConfigError(f"'{model}' is no NAME@VERSION.", "Give digit-scenes@3, or digit-scenes for the newest.")
    target = targets.find("promote")
    given = (f"name={name}", f"version={version}", f"environment={to}")
    arguments = settings.arguments(target, settings.Words(None, tuple(set_ or ()), given, (), tuple(approve or ())))
    environments.find(environments.read(arguments.get("promote", {}).get("environments")), to)
    from ...components.core.release import registry

    arguments["version"] = registry.get(name, version or None).version
    execute(target.source, arguments, out, name=None, cache=True, as_json=as_json)


def rollback(
    environment: Annotated[
        str, typer.Argument(metavar="ENVIRONMENT", autocompletion=complete_environment, help="demo, staging, prod …")
    ],
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The model; needed where the environment holds several.")
    ] = None,
) -> None:
    """Bring back the version that an environment held before. Again: the one before that.

    [bold]towpath rollback prod[/bold]
    """
    from ...components.promote.rollback import rollback as roll_back

    environments.find(environments.read(), environment)
    done = roll_back(environment, name)
    print(f"{environment} serves version {done.to_version} again; version {done.from_version} was taken out.")


def status(as_json: AsJson = False) -> None:
    """Say which model each environment holds, since when, and whether it answers."""
    from ...components.promote.status import status as rows

    found = rows()
    if as_json:
        print(json.dumps([dataclasses.asdict(row) for row in found]))
        return
    out = console.stdout()
    if not found:
        out.print("No environment holds a model. `towpath run train_to_prod` brings one there.")
        return
    table = console.table("environment", "model", "version", "url", "since", "health")
    for row in found:
        health = "ready" if row.healthy else "does not answer" if row.serving is None else f"serves {row.serving}"
        cells = (row.environment, row.name, row.version or "unfinished", row.url or "", row.since or "", health)
        table.add_row(*(Text(cell) for cell in cells))
    out.print(table)
