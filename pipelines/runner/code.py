"""Extracts a Python component's source and packages from the container command that KFP generates.

The command is written by kfp/dsl/component_factory.py: a shell script that pipes the source, the element after it,
into `ephemeral_component.py`, optionally preceded by a script that installs packages.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from importlib import metadata

from ...components.core.errors import MissingError
from .model import Code, Component, Graph
from .refuse import refuse
from .spec import Message

_SOURCE_FILE = "ephemeral_component.py"
_EXECUTOR = "kfp.dsl.executor_main"
_OPTIONS_WITH_VALUE = {"--index-url", "--extra-index-url", "--trusted-host"}
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


def read_code(executor: Message, path: str) -> Code:
    """Reads the Python component in an executor.

    Raises:
        DataError: it is a container component, whose program is in an image.
    """
    container = executor.container
    command, arguments = list(container.command), list(container.args)
    scripts = [i for i, part in enumerate(command) if _SOURCE_FILE in part and _EXECUTOR in part]
    if not scripts or scripts[0] + 1 >= len(command) or "--function_to_execute" not in arguments[:-1]:
        built = any(_EXECUTOR in part for part in command)
        feature = "a Python component whose source is in its image" if built else "a container component"
        refuse(path, f"{feature} (image {container.image})")
    return Code(
        function=arguments[arguments.index("--function_to_execute") + 1],
        source=command[scripts[0] + 1],
        command=(*command, *arguments),
        environment={variable.name: variable.value for variable in container.env},
        packages=tuple(_packages(command[: scripts[0]])),
    )


def check_packages(component: Component) -> list[str]:
    """Checks that the packages that components would install on a cluster are installed here.

    Returns:
        Notes on those whose installed version is not the requested one.

    Raises:
        MissingError: packages are not installed; the message names them and the tasks that need them.
    """
    missing: dict[str, list[str]] = {}
    notes: list[str] = []
    for path, code in _codes(component):
        for requirement in code.packages:
            problem, note = _check(requirement)
            if problem:
                missing.setdefault(problem, []).append(path)
            if note:
                notes.append(f"task {path}: {note}")
    if missing:
        listed = "; ".join(f"{name} (for {', '.join(paths)})" for name, paths in missing.items())
        raise MissingError(f"Packages that components need are not installed: {listed}.", "Install them with pip.")
    return notes


def _codes(component: Component) -> Iterator[tuple[str, Code]]:
    if not isinstance(component.body, Graph):
        return
    for task in component.body.tasks.values():
        if isinstance(task.component.body, Code):
            yield task.path, task.component.body
        yield from _codes(task.component)


def _packages(scripts: Iterable[str]) -> Iterator[str]:
    for script in scripts:
        for line in script.splitlines():
            if "pip install" not in line:
                continue
            yield from _pip_arguments(shlex.split(line))


def _pip_arguments(words: list[str]) -> Iterator[str]:
    installing = False
    words = list(words)
    while words:
        word = words.pop(0)
        if word == "&&":
            installing = False
        elif word == "install":
            installing = True
        elif installing and word in _OPTIONS_WITH_VALUE and words:
            words.pop(0)
        elif installing and not word.startswith("-"):
            yield word


def _check(requirement: str) -> tuple[str | None, str | None]:
    """Returns (the missing package's name, a note), each None if there is none."""
    text, _, marker = requirement.partition(";")
    match = _NAME.match(text.strip())
    file = "/" in text.partition("@")[0] or text.strip().endswith((".whl", ".tar.gz", ".zip"))
    if match is None or file:
        return None, f"cannot check whether {requirement!r} is installed"
    name = match[0]
    if name.lower() == "kfp" or (marker and not _applies(marker.strip())):
        return None, None
    try:
        installed = metadata.version(name)
    except metadata.PackageNotFoundError:
        return name, None
    return None, _version_note(text.strip(), installed)


def _applies(marker: str) -> bool:
    try:
        from packaging.markers import Marker
    except ModuleNotFoundError:  # most installations have packaging, but kfp does not require it
        return True
    return Marker(marker).evaluate()


def _version_note(requirement: str, installed: str) -> str | None:
    try:
        from packaging.requirements import InvalidRequirement, Requirement
    except ModuleNotFoundError:
        return None
    try:
        fits = Requirement(requirement).specifier.contains(installed, prereleases=True)
    except InvalidRequirement:
        return None
    return None if fits else f"it requires {requirement}, but runs with the installed version {installed}"
