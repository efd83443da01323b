"""`towpath promote`, `rollback`, `status`: which model is deployed to each environment, and how that changes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from ...components.core.errors import ConfigError
from ...components.core.release.environments import read as read_rules
from . import console, rules, settings, targets
from .options import Approvals, AsJson, Environments, Settings
from .run import execute


def add(app: typer.Typer) -> None:
    """Adds the commands."""
    for command in (promote, rollback, status):
        app.command()(command)


def complete_environment(incomplete: str) -> list[str]:
    """The packaged rules' environments that begin so."""
    return [name for name in read_rules() if name.startswith(incomplete)]


def promote(
    model: Annotated[
        str, typer.Argument(metavar="NAME[@VERSION]", help="A registered model; its newest version if none is given.")
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="ENVIRONMENT", autocompletion=complete_environment, help="A name in the rules: demo …"
        ),
    ],
    approve: Approvals = None,
    environments: Environments = None,
    set_: Settings = None,
    out: Annotated[Path, typer.Option("--out", help="Folder of runs.")] = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """Promote a registered model to an environment, if its gate is passed.

    [bold]towpath promote digit-scenes --to demo[/bold]
    [bold]towpath promote digit-scenes@3 --to prod --approve live[/bold]
    """
    name, at, version = model.partition("@")
    if not name or (at and not version):
        raise ConfigError(f"'{model}' is not NAME@VERSION.", "Give digit-scenes@3, or digit-scenes for the newest.")
    target = targets.find("promote")
    given = (f"name={name}", f"version={version}", f"environment={to}")
    options = settings.CliOptions(None, tuple(set_ or ()), given, (), tuple(approve or ()), environments)
    arguments = settings.arguments(target, options)
    from ...components.core.release import registry

    arguments["version"] = registry.get(name, version or None).version
    execute(target.source, arguments, out, name=None, cache=True, as_json=as_json)


def rollback(
    environment: Annotated[
        str, typer.Argument(metavar="ENVIRONMENT", autocompletion=complete_environment, help="A name in the rules.")
    ],
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The model; needed where several are deployed.")
    ] = None,
    environments: Environments = None,
) -> None:
    """Bring back the version that an environment served before. Again: the one before that.

    [bold]towpath rollback prod[/bold]
    """
    from ...components.promote.rollback import rollback as roll_back

    done = roll_back(environment, rules.read(environments), name)
    print(f"{environment} serves version {done.to_version} again; version {done.from_version} was taken out.")


def status(environments: Environments = None, as_json: AsJson = False) -> None:
    """Show which model is deployed to each environment, since when, and whether it answers."""
    from ...components.promote.status import status as rows

    found = rows(rules.read(environments))
    if as_json:
        print(json.dumps([dataclasses.asdict(row) for row in found]))
        return
    out = console.stdout()
    if not found:
        out.print("Nothing is deployed. `towpath run train_to_prod` brings one there.")
        return
    table = console.table("environment", "model", "version", "url", "since", "health")
    for row in found:
        health = "ready" if row.healthy else "does not answer" if row.serving is None else f"serves {row.serving}"
        cells = (row.environment, row.name, row.version or "unfinished", row.url or "", row.since or "", health)
        table.add_row(*(Text(cell) for cell in cells))
    out.print(table)
