"""kill -9 at random moments: the same command goes on, and ends as if nothing had happened."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

WORDS = [
    "run", "train", "--data", "digit-scenes", "--set", "prepare.scenes=120", "--set", "train.epochs=4",
    "--set", "train.batch_size=8", "--set", "benchmark.seconds=0.2",
]  # fmt: skip
TOWPATH = [sys.executable, "-m", "towpath.pipelines.cli"]
KILLS = 5


@pytest.mark.slow
def test_killed_at_random_moments_a_run_ends_with_the_same_metrics(towpath: Any, tmp_path: Path) -> None:
    undisturbed = towpath(*WORDS, "--out", tmp_path / "undisturbed")
    chance = random.Random(7)
    for _ in range(KILLS):
        killed = subprocess.Popen(
            [*TOWPATH, *WORDS, "--out", str(tmp_path / "killed")], stderr=subprocess.PIPE, cwd=tmp_path
        )
        assert killed.stderr is not None
        with killed.stderr:
            # A moment is a number of bytes said so far: it falls inside every step, whatever the machine's speed.
            killed.stderr.read(chance.randrange(20, 900))
            killed.send_signal(signal.SIGKILL)
        killed.wait()
    ended = towpath(*WORDS, "--out", tmp_path / "killed")
    assert figures(ended) == pytest.approx(figures(undisturbed), rel=1e-5)
    # The cards say how long training took, so the two models are two versions.
    assert ended["outputs"] == {"name": "digit-scenes", "version": "2"}


def figures(run: dict[str, Any]) -> dict[str, float]:
    """Every figure that is not a measure of time."""
    return {
        f"{task['task']}.{name}": value
        for task in run["tasks"]
        for name, value in task["metrics"].items()
        if task["task"] in ("train", "evaluate", "quantize") and "second" not in name
    }
