"""Options that several commands share, and how they complete."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from . import targets


def complete_target(incomplete: str) -> list[str]:
    """The pipelines and components that begin so."""
    return [name for name in targets.names() if name.startswith(incomplete)]


Data: TypeAlias = Annotated[
    str | None,
    typer.Option("--data", metavar="SRC", help="Labelled images: a folder, or a built-in set (digits, digit-scenes)."),
]
Settings: TypeAlias = Annotated[
    list[str] | None, typer.Option("--set", metavar="STEP.KEY=VALUE", help="A step's setting, as train.epochs=2.")
]
Arguments: TypeAlias = Annotated[
    list[str] | None, typer.Option("-a", "--argument", metavar="NAME=VALUE", help="An argument of the pipeline.")
]
Approvals: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--approve", metavar="NAMES", help="Approvals given by people, recorded: legal,fit …"),
]
Environments: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--environments",
        metavar="FILE",
        envvar="TOWPATH_ENVIRONMENTS",
        show_envvar=True,
        help="Rules of your own, in the form of environments.yaml.",
    ),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
ImagePrefix: TypeAlias = Annotated[
    str, typer.Option("--image-prefix", help="Registry and folder of the images that the steps run in.")
]
Tag: TypeAlias = Annotated[str, typer.Option("--tag", help="Tag of these images.")]
