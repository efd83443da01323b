"""The container engine that the tests use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import towpath

DOCKER = "/usr/bin/docker"  # where Debian has it, and so engine-up


def build(root: Path, base: str, target: str) -> str:
    """Builds a target of the Dockerfile. Returns: the image's name."""
    name = f"towpath/{target}:{towpath.__version__}"
    command = [DOCKER, "build", "--network", "host", "--build-arg", f"BASE={base}", "--target", target, "--tag", name]
    subprocess.run(
        [*command, "--file", root / "docker" / "Dockerfile", root],
        check=True,
        env={**os.environ, "DOCKER_BUILDKIT": "1"},
        stdout=sys.stderr,
    )
    return name
