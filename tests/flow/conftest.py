"""The command line as a user runs it: a process of its own, in an empty folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Towpath = Callable[..., Any]
TOWPATH = [sys.executable, "-m", "towpath.pipelines.cli"]


@pytest.fixture
def towpath(tmp_path: Path, own_home: Path) -> Iterator[Towpath]:
    """Runs `towpath …` and gives its JSON; whatever it served is stopped at the end."""

    def run(*words: object) -> Any:
        done = subprocess.run(
            [*TOWPATH, *map(str, words), "--json"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads(done.stdout)

    yield run
    subprocess.run([*TOWPATH, "services", "stop", "--all"], env=os.environ, check=True, capture_output=True)
