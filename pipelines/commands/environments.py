"""`towpath promote`, `rollback`, `status`: which model each environment holds, and how that changes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...components.core.errors import ConfigError
from . import settings, targets
from .options import Approvals, AsJson, Settings
from .run import execute


def add(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("promote")(promote)


def promote(
    model: Annotated[str, typer.Argument(metavar="NAME[@VERSION]", help="A registered model; the newest version.")],
    to: Annotated[str, typer.Option("--to", metavar="ENVIRONMENT", help="demo, app-demo, staging or prod.")],
    approve: Approvals = None,
    set_: Settings = None,
    out: Annotated[Path, typer.Option("--out", help="Folder of runs.")] = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """Bring a registered model into an environment, if its gate lets it in.

    [bold]towpath promote digit-scenes --to demo[/bold]
    [bold]towpath promote digit-scenes@3 --to prod --approve live[/bold]
    """
    from ...components.core import registry

    name, at, version = model.partition("@")
    if at and not version:
        raise ConfigError(f"'{model}' has no version after the @.", "Give NAME@VERSION, or NAME for the newest.")
    found = registry.get(name, version or None)
    target = targets.find("promote")
    given = (f"name={found.name}", f"version={found.version}", f"environment={to}")
    words = settings.Words(None, tuple(set_ or ()), given, (), tuple(approve or ()))
    execute(target.source, settings.arguments(target, words), out, name=None, cache=True, as_json=as_json)
