"""`towpath compile`: every pipeline and component as the YAML that Kubeflow takes."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from ... import __version__
from ...components.core import files
from . import console, rules, targets
from .options import Environments, ImagePrefix, Tag, complete_target

IMAGE_PREFIX = "towpath"
_IMAGE = re.compile(rf"^(\s*image: ){IMAGE_PREFIX}/([\w.-]+):[\w.-]+$", re.MULTILINE)


def add(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("compile")(compile_)


def compile_(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAMES]...", autocompletion=complete_target, help="Pipelines and components; all if none is named."
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder for the files.")] = Path("compiled"),
    environments: Environments = None,
    image_prefix: ImagePrefix = IMAGE_PREFIX,
    tag: Tag = __version__,
) -> None:
    """Write pipelines and components as YAML for Kubeflow Pipelines.

    [bold]towpath compile[/bold]
    [bold]towpath compile train --image-prefix registry.example.com/ml --tag 1.2[/bold]
    """
    chain = None if environments is None else rules.read(environments)
    found = [targets.find(name, chain) for name in names or targets.unique_names()]
    written = {
        out / path: with_images(package(target.source), image_prefix, tag)
        for path, target in ((_path(target), target) for target in found)
    }
    for path, text in written.items():
        files.write_text(path, text)
    table = console.table("file", "KB")
    for path, text in written.items():
        table.add_row(str(path), f"{len(text.encode()) / 1000:.1f}")
    console.stdout().print(table)


def package(source: Any) -> str:
    """What KFP's compiler writes for a pipeline or component; a file that is compiled already, as it is."""
    if isinstance(source, Path):
        return source.read_text()
    from kfp import compiler

    folder = Path(tempfile.mkdtemp(prefix="towpath-"))
    try:
        compiler.Compiler().compile(source, str(folder / "package.yaml"))
        return (folder / "package.yaml").read_text()
    finally:
        shutil.rmtree(folder)


def with_images(text: str, prefix: str, tag: str) -> str:
    """A compiled pipeline whose steps run in the images of another registry or tag."""
    return _IMAGE.sub(rf"\g<1>{prefix}/\g<2>:{tag}", text)


def _path(target: targets.Target) -> Path:
    """pipelines as NAME.yaml, components as components/NAME.yaml."""
    if target.step is not None:
        return Path(targets.PREFIX) / f"{target.step}.yaml"
    return Path(Path(target.name).name).with_suffix(".yaml")
