"""`towpath run`: a pipeline, a component or a compiled file, in this process."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from ...components.core.errors import TowpathError
from . import rules, settings, targets
from .options import Approvals, Arguments, AsJson, Data, Environments, Settings, complete_target


def add(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("run")(run)


def run(
    target: Annotated[
        str,
        typer.Argument(
            metavar="PIPELINE|COMPONENT|FILE.yaml",
            autocompletion=complete_target,
            help="train, promote, train_to_prod; a component by its name (components/train and components/promote, "
            "since pipelines have these names); or a compiled pipeline.",
        ),
    ],
    data: Data = None,
    out: Annotated[Path, typer.Option("--out", help="Folder of runs; also holds what runs share.")] = Path("runs"),
    set_: Settings = None,
    argument: Arguments = None,
    input_: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="NAME=FOLDER", help="An input artifact of a component, as records=FOLDER."),
    ] = None,
    approve: Approvals = None,
    environments: Environments = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the run; the pipeline's if left out.")] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Run every step, also those run before.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a pipeline or a component on this machine.

    A step that ran before with the same inputs is not run again. An interrupted run resumes where it stopped when the
    same command is given.

    [bold]towpath run train_to_prod --data images --approve legal,fit,cost,live[/bold]
    [bold]towpath run train --data images --set train.epochs=2 --set evaluate.images=8[/bold]
    [bold]towpath run prepare --data images --out prepared[/bold]
    [bold]towpath run components/train --input records=runs/latest/prepare/records[/bold]
    """
    found = targets.find(target, None if environments is None else rules.read(environments))
    options = settings.CliOptions(
        data, tuple(set_ or ()), tuple(argument or ()), tuple(input_ or ()), tuple(approve or ()), environments
    )
    execute(found.source, settings.arguments(found, options), out, name=name, cache=not no_cache, as_json=as_json)


def execute(source: Any, arguments: dict[str, Any], out: Path, *, name: str | None, cache: bool, as_json: bool) -> None:
    """Runs a pipeline and shows how it went; with `as_json` also a failed run is one JSON object on stdout."""
    from .. import runner
    from . import show

    # TensorFlow's own log would drown the lines; errors still show. Whoever sets the variable is obeyed.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    lines = show.Lines()
    try:
        done = runner.run(source, arguments, out=out, cache=cache, listener=lines, name=name)
    except TowpathError:
        if as_json and lines.run is not None:
            print(json.dumps(show.as_json(lines.run)))
        raise
    if as_json:
        print(json.dumps(show.as_json(done)))
    else:
        show.summary(done)
