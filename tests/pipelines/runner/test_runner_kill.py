"""`kill -9` at any moment: what is whole stays, what is half is done again, and the outputs are the same."""

# ruff: noqa: PTH102, PTH123 - a component's source stands alone; KFP knows no `str | None`

import functools
import json
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import runner_steps as steps
from kfp import dsl
from kfp.dsl import Input, Model, Output

from towpath.pipelines.runner import Run, State, TaskRun, run

TASKS = 10


@pytest.fixture(scope="module", autouse=True)
def one_package(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Read Towpath's own files once, before any fork, so that editing them while tests run changes no key."""
    run(steps.say, {"text": "x"}, out=tmp_path_factory.mktemp("first"))


@steps.step
def slow(number: int, log: str, made: Output[Model], before: Input[Model] = None):
    """Write a folder, file after file, so that a kill finds it half done."""
    import os
    import pathlib
    import time

    with open(log, "a") as file:
        file.write(f"{number}\n")
    folder = pathlib.Path(made.path)
    os.mkdir(folder)  # fails where an earlier attempt left its half
    text = pathlib.Path(before.path, "4").read_text() if before else ""
    for part in range(5):
        time.sleep(0.003)
        (folder / str(part)).write_text(f"{text}{number}.")
    made.metadata["number"] = number


@dsl.pipeline
def long(log: str):
    task = slow(number=0, log=log)
    for number in range(1, TASKS):
        task = slow(number=number, log=log, before=task.outputs["made"])


class Journal:
    """Writes the keys of tasks that ended, and flushes, so that the parent knows what must not run again."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def task_started(self, task: TaskRun) -> None: ...
    def run_finished(self, run: Run) -> None: ...
    def task_finished(self, task: TaskRun) -> None:
        if task.state is State.SUCCEEDED and not task.cached:
            with self.path.open("a") as file:
                file.write(f"{task.inputs['number']}\n")


def killed(work: Any, seconds: float, log: Path | None = None) -> bool:
    """Do `work` in a child process, kill it, and tell whether the kill came before the end.

    The kill comes `seconds` after the start or, given a log, after the first line that the child adds to it.
    """
    size = log.stat().st_size if log else 0
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    while log and log.stat().st_size == size:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            break
        time.sleep(0.001)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("seed", range(3))
def test_a_killed_run_is_taken_up_and_nothing_that_ended_is_done_again(tmp_path: Path, seed: int) -> None:
    moments = random.Random(seed)
    log, journal, out = tmp_path / "log", tmp_path / "journal", tmp_path / "out"
    work = functools.partial(run, long, {"log": str(log)}, out=out, listener=Journal(journal))
    log.touch()
    kills = sum(killed(work, moments.uniform(0, 0.05), log if turn % 2 else None) for turn in range(8))
    for record in out.glob("*/run.json"):
        json.loads(record.read_text())
    started = log.read_text().split()
    ended = journal.read_text().split() if journal.exists() else []
    assert kills >= 1
    assert len(ended) == len(set(ended))
    assert len(started) <= TASKS + kills  # a kill costs the task that was running, and no other

    done = work()
    after = log.read_text().split()
    assert not set(after[len(started) :]) & set(ended)
    last = done.tasks["slow" if TASKS == 1 else f"slow-{TASKS}"].outputs["made"]
    assert Path(last.path, "4").read_text() == "".join(f"{number}." for number in range(TASKS))
    assert last.metadata == {"number": TASKS - 1}
    assert all(
        sorted(item.name for item in Path(t.outputs["made"].path).iterdir()) == list("01234")
        for t in done.tasks.values()
    )
    assert (out / "latest").resolve() == done.folder


def test_a_killed_step_goes_on_from_its_partial_state(tmp_path: Path) -> None:
    log = tmp_path / "log"
    work = functools.partial(
        run, steps.fit, {"steps": 30, "log": str(log), "die_at": -1, "nap": 0.01}, out=tmp_path / "out"
    )
    log.touch()
    kills = sum(killed(work, 0.1, log) for _ in range(2))
    done = work()
    lines = [int(line) for line in log.read_text().split()]
    assert kills == 2
    assert sorted(set(lines)) == list(range(30))
    assert len(lines) <= 30 + kills
    assert Path(done.tasks["fit"].outputs["model"].path).read_text() == "30 steps"
    assert not list(Path(done.tasks["fit"].outputs["model"].path).parent.glob("*.partial"))


def test_two_runs_at_once_share_the_work(tmp_path: Path) -> None:
    log = tmp_path / "log"
    work = functools.partial(run, long, {"log": str(log)}, out=tmp_path / "out")
    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                work()
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0]
    assert sorted(int(line) for line in log.read_text().split()) == list(range(TASKS))
