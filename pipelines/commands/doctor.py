"""`towpath doctor`: what this machine has, found without importing anything heavy."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from ...components.core.home import location
from . import console
from .options import AsJson

PACKAGES = ("towpath", "kfp", "tensorflow", "tensorflow-cpu", "keras", "ai-edge-litert", "mlflow", "fastapi", "numpy")
ENGINES = ("docker", "podman", "nerdctl")
# A tool that does not answer within it is reported as such.
SECONDS = 5


def add(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("doctor")(doctor)


def doctor(as_json: AsJson = False) -> None:
    """Show what this machine has: accelerators, versions, extras, container engine, cluster."""
    found = examine()
    if as_json:
        print(json.dumps(found))
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in found.items():
        table.add_row(Text(name, "bold"), Text(_words(value)))
    console.stdout().print(table)


def examine() -> dict[str, Any]:
    """Everything that doctor says, by topic."""
    return {
        "python": platform.python_version(),
        "system": platform.platform(terse=True),
        "cores": _cores(),
        "memory": _memory(),
        "disk": _disk(),
        "accelerators": _accelerators(),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "extras": _extras(),
        "engine": _engine(),
        "cluster": _cluster(),
        "home": str(location()),
    }


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _memory() -> dict[str, str]:
    import psutil

    memory = psutil.virtual_memory()
    return {"total": _gigabytes(memory.total), "free": _gigabytes(memory.available)}


def _disk() -> dict[str, str]:
    """Of the place where runs are written and of the home, each at its nearest folder that exists."""
    places = {"here": Path.cwd(), "home": location().absolute()}
    there = {name: next(p for p in (path, *path.parents) if p.exists()) for name, path in places.items()}
    return {f"free {name}": _gigabytes(shutil.disk_usage(path).free) for name, path in there.items()}


def _accelerators() -> list[str]:
    found: list[str] = []
    if shutil.which("nvidia-smi"):
        listed = _said(["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"])
        found += listed.splitlines() if listed else ["nvidia-smi is there, but does not answer"]
    found += [f"TPU {path}" for path in sorted(Path("/dev").glob("accel*"))]
    if name := os.environ.get("TPU_NAME"):
        found.append(f"TPU {name}")
    return found


def _extras() -> dict[str, str]:
    """For each extra "complete", or the packages that it lacks."""
    lacking: dict[str, list[str]] = {name: [] for name in metadata.metadata("towpath").get_all("Provides-Extra") or []}
    for requirement in metadata.requires("towpath") or []:
        name = re.match(r"[\w.-]+", requirement)
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", requirement)
        if name and extra and not _there(name[0], requirement):
            lacking[extra[1]].append(name[0])
    return {name: f"lacks {', '.join(names)}" if names else "complete" for name, names in lacking.items()}


def _there(package: str, requirement: str) -> bool:
    if "platform_machine" in requirement:
        # TensorFlow has two packages, and which one counts depends on the machine: the module is the same.
        return importlib.util.find_spec("tensorflow") is not None
    return _version(package) is not None


def _engine() -> str | None:
    """The first container engine that answers, with its version."""
    for name in ENGINES:
        if shutil.which(name):
            version = _said([name, "version", "--format", "{{.Server.Version}}"])
            return f"{name} {version}" if version else f"{name} is installed, but no engine answers"
    return None


def _cluster() -> str | None:
    if not shutil.which("kubectl"):
        return None
    context = _said(["kubectl", "config", "current-context"])
    if not context:
        return "kubectl is installed, but no cluster is chosen"
    version = _said(["kubectl", "version", "--output=json", f"--request-timeout={SECONDS}s"])
    if not version:
        return f"{context} does not answer"
    return f"{context}, Kubernetes {json.loads(version)['serverVersion']['gitVersion']}"


def _said(command: list[str]) -> str | None:
    """What a command prints; None where it fails or takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS + 1, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _gigabytes(amount: int) -> str:
    return f"{amount / 1e9:.1f} GB"


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{name} {part}" for name, part in value.items())
    if isinstance(value, list):
        return "\n".join(value) or "none"
    return "none" if value is None else str(value)
