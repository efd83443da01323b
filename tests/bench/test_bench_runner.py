"""What a task costs beside its own work: the in-process runner, and kfp's own local runner, on the same chain."""

# kfp reads a component's annotations as types: no `from __future__ import annotations` here.

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bench_table import show
from kfp import compiler, dsl

from towpath.pipelines.runner import run

# Ours and kfp's run the short one; kfp starts a process a task, so the long one is ours alone.
SHORT, LONG = 10, 50
REPEATS = 5
KFP_PROGRAM = """
import json, sys, time
from kfp import components, local
local.init(local.SubprocessRunner(use_venv=False), pipeline_root=sys.argv[2])
begun = time.perf_counter()
output = components.load_component_from_file(sys.argv[1])(start=1).output
seconds = time.perf_counter() - begun
with open(sys.argv[3], "w") as file:
    json.dump({"output": output, "seconds": seconds}, file)
"""


@dsl.component(base_image="python:3.11", install_kfp_package=False)
def add_one(number: int) -> int:
    return number + 1


def compiled(length: int, folder: Path) -> Path:
    """A chain of `length` tasks, each on the output of the one before, without caching."""

    @dsl.pipeline(name=f"chain-of-{length}")
    def chain(start: int) -> int:
        task = add_one(number=start).set_caching_options(False)
        for _ in range(length - 1):
            task = add_one(number=task.output).set_caching_options(False)
        return task.output

    path = folder / f"{length}.yaml"
    compiler.Compiler().compile(chain, str(path))
    return path


def ours(pipeline: Path, length: int, folder: Path) -> tuple[float, float]:
    """Wall time of a run over its tasks, and the median of the tasks' own times; ms."""
    begun = time.perf_counter()
    done = run(pipeline, {"start": 1}, out=folder, cache=False)
    wall = time.perf_counter() - begun
    assert done.outputs == {"Output": length + 1}
    assert len(done.tasks) == length
    return wall * 1000 / length, statistics.median(task.seconds for task in done.tasks.values()) * 1000


def kfps(pipeline: Path, length: int, folder: Path) -> float:
    """Wall time over tasks, ms; in a process of its own, since kfp's setting is global: its start is not counted."""
    answer = folder / "answer.json"
    program = [sys.executable, "-c", KFP_PROGRAM, str(pipeline), str(folder / "root"), str(answer)]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(answer.read_text())
    assert found["output"] == length + 1
    return float(found["seconds"] * 1000 / length)


def middle(values: list[float]) -> str:
    """The median, and the lowest and highest."""
    return f"{statistics.median(values):.3g} ({min(values):.3g}-{max(values):.3g})"


@pytest.mark.bench
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_the_overhead_of_a_task_beside_kfps_local_runner(tmp_path: Path) -> None:
    chains = {length: compiled(length, tmp_path) for length in (SHORT, LONG)}
    ours(chains[SHORT], SHORT, tmp_path / "warm-up")
    theirs: list[float] = []
    walls: dict[int, list[float]] = {length: [] for length in chains}
    own: dict[int, list[float]] = {length: [] for length in chains}
    for repeat in range(REPEATS):  # by turns, so that what else the machine does hits all alike
        folder = tmp_path / f"kfp-{repeat}"
        folder.mkdir()
        theirs.append(kfps(chains[SHORT], SHORT, folder))
        for length, pipeline in chains.items():
            wall, task = ours(pipeline, length, tmp_path / "runs")
            walls[length].append(wall)
            own[length].append(task)
    rows: list[tuple[object, ...]] = [("kfp.local.SubprocessRunner(use_venv=False)", SHORT, middle(theirs), "", 1.0)]
    for length in chains:
        ratio = statistics.median(theirs) / statistics.median(walls[length])
        rows.append(("towpath.pipelines.runner", length, middle(walls[length]), middle(own[length]), ratio))
    show(
        "Overhead of a task",
        f"A chain of components that add 1, caching off; medians of {REPEATS} runs, lowest and highest in brackets.\n"
        "'ms a task' is the run's wall time over its tasks, reading the YAML included in both; 'task's own' is the\n"
        "median of TaskRun.seconds; the ratio is of wall times. kfp starts a process a task.",
        ("runner", "tasks", "ms a task", "task's own ms", "times as fast"),
        rows,
    )
