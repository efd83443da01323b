"""`towpath serve`: a server for one or more bundles, in the foreground."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...components.core import config
from ...components.core.errors import MissingError


def add(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("serve")(serve)


def serve(
    bundles: Annotated[
        list[Path], typer.Argument(metavar="BUNDLE...", help="Model folders, as train and quantize write.")
    ],
    host: Annotated[str, typer.Option("--host", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="0 takes any free port.")] = 8501,
    variant: Annotated[
        str | None, typer.Option("--variant", help="Of every bundle: int8, float32 or saved_model.")
    ] = None,
) -> None:
    """Serve models over HTTP, with a page to drop an image on.

    [bold]towpath serve runs/latest/train/quantize/quantized[/bold]
    [bold]towpath serve models/digits models/flowers --variant int8 --port 0[/bold]
    """
    try:
        from ...components.serve.config import ServeConfig
        from ...components.serve.models import Source
        from ...components.serve.server import serve as answer
    except ImportError as error:
        raise MissingError(f"'{error.name}' is not installed.", "Install towpath[serve].") from error
    settings = config.load(ServeConfig, {"host": host, "port": port, "variant": variant}, "serve")
    answer([Source(bundle) for bundle in bundles], settings)
