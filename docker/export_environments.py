"""Lays out what is deployed to each environment, so that its server needs the folder and no registry.

    python export_environments.py /models

writes /models/ENVIRONMENT/, with a bundle per model and a file `arguments`, the server's. An environment to which
nothing is deployed gets no folder; one that is there already is replaced whole.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from towpath.components.core import files
from towpath.components.core.release import registry

ARGUMENTS = "arguments"


def export_environments(out: Path) -> dict[str, dict[str, str]]:
    """Writes a folder per environment, and returns environment -> model -> version."""
    deployed = registry.environments()
    for environment, models in deployed.items():
        folder = out / environment
        work = files.partial(folder)
        shutil.rmtree(work, ignore_errors=True)
        with files.translate_os_errors(work):
            for name, version in models.items():
                shutil.copytree(registry.get(name, version).bundle, work / name)
        bundles = [str(folder / name) for name in models]
        versions = [word for version in models.values() for word in ("--version", version)]
        files.write_text(work / ARGUMENTS, " ".join([*bundles, *versions]) + "\n")
        files.publish(work, folder)
    return deployed


if __name__ == "__main__":
    for environment, models in export_environments(Path(sys.argv[1])).items():
        print(f"{environment}: {', '.join(f'{name} version {version}' for name, version in models.items())}")
