"""Random small graphs with conditions and failures, against an interpreter that is simple enough to be believed.

A plan is a list of steps; a step is a task, or an If with an optional Else, which hold steps. A task adds two numbers,
each a constant or the output of an earlier task that it can see: one of its own list or of a list around it. It may
also wait for one of its own list.
"""

# ruff: noqa: PTH123 - a component's source stands alone; KFP knows no `str | None`

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import runner_steps as steps
from hypothesis import given, settings
from hypothesis import strategies as st
from kfp import dsl

from towpath.components.core.errors import StepError
from towpath.pipelines.runner import Run, TaskRun, run


@dataclass
class Add:
    number: int
    inputs: list[int | str]
    """Constants, and names of tasks."""
    fails: bool
    after: list[str] = field(default_factory=list)
    """Tasks of the same list that it waits for without reading them."""

    @property
    def waits(self) -> set[str]:
        return {*self.after, *(i for i in self.inputs if isinstance(i, str))}

    @property
    def name(self) -> str:
        return f"t{self.number}"


@dataclass
class If:
    left: str
    limit: int
    then: list[Any]
    otherwise: list[Any] = field(default_factory=list)


@steps.step
def work(number: int, a: int, b: int, fails: bool, log: str) -> int:
    with open(log, "a") as file:
        file.write(f"t{number}\n")
    if fails:
        raise ValueError(f"t{number}")
    return a + b + number


@st.composite
def plans(draw: Callable[..., Any]) -> list[Any]:
    numbers = count(1)

    def block(visible: list[str], depth: int, shortest: int) -> list[Any]:
        made: list[Any] = []
        visible = list(visible)
        for _ in range(draw(st.integers(shortest, 3))):
            if visible and depth < 2 and draw(st.booleans()):
                left, limit = draw(st.sampled_from(visible)), draw(st.integers(0, 8))
                otherwise = block(visible, depth + 1, 1) if draw(st.booleans()) else []
                made.append(If(left, limit, block(visible, depth + 1, 1), otherwise))
                continue
            choice = st.integers(-3, 3) | (st.sampled_from(visible) if visible else st.nothing())
            here = [step.name for step in made if isinstance(step, Add)]
            after = draw(st.lists(st.sampled_from(here), max_size=1)) if here else []
            task = Add(next(numbers), [draw(choice), draw(choice)], draw(st.integers(0, 5)) == 0, after)
            made.append(task)
            visible.append(task.name)
        return made

    return block([], 0, 2)


def compiled(plan: list[Any], log: str) -> Any:
    tasks: dict[str, Any] = {}

    def build(block: list[Any]) -> None:
        for step in block:
            if isinstance(step, If):
                with dsl.If(tasks[step.left].output > step.limit):
                    build(step.then)
                if step.otherwise:
                    with dsl.Else():
                        build(step.otherwise)
            else:
                a, b = (tasks[i].output if isinstance(i, str) else i for i in step.inputs)
                tasks[step.name] = work(number=step.number, a=a, b=b, fails=step.fails, log=log)
                tasks[step.name].after(*(tasks[name] for name in step.after))

    @dsl.pipeline(name="random")
    def whole():
        build(plan)

    return whole


def outside(block: list[Any]) -> set[str]:
    """The tasks that a block reads and does not hold: KFP makes the whole block wait for them."""
    read: set[str] = set()
    held: set[str] = set()
    for step in block:
        if isinstance(step, If):
            read |= {step.left} | outside(step.then) | outside(step.otherwise)
        else:
            read |= {i for i in step.inputs if isinstance(i, str)}
            held.add(step.name)
    return read - held


Result = tuple[str, int | None]


def expected(plan: list[Any]) -> dict[str, Result]:
    results: dict[str, Result] = {}

    def skip(block: list[Any]) -> None:
        for step in block:
            if isinstance(step, If):
                skip(step.then)
                skip(step.otherwise)
            else:
                results[step.name] = ("skipped", None)

    def well(names: set[str]) -> bool:
        return all(results[name][0] == "succeeded" for name in names)

    def go(block: list[Any]) -> None:
        for step in block:
            if isinstance(step, Add):
                if not well(step.waits):
                    results[step.name] = ("skipped", None)
                elif step.fails:
                    results[step.name] = ("failed", None)
                else:
                    values = [results[i][1] if isinstance(i, str) else i for i in step.inputs]
                    results[step.name] = ("succeeded", sum(v for v in values if v is not None) + step.number)
                continue
            branches = [step.then, step.otherwise]
            # With an Else, both branches are in one group, which waits for what either reads.
            needs = [{step.left} | outside(step.then), {step.left} | outside(step.otherwise)]
            if step.otherwise:
                needs = [needs[0] | needs[1]] * 2
            value = results[step.left][1]
            for index, branch in enumerate(branches):
                chosen = value is not None and (value > step.limit) is (index == 0)
                if chosen and well(needs[index]):
                    go(branch)
                else:
                    skip(branch)

    go(plan)
    return results


class Watch:
    """A listener that keeps the run and the order in which tasks ended."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    def task_started(self, task: TaskRun) -> None: ...
    def task_finished(self, task: TaskRun) -> None:
        if "number" in task.inputs and not task.pipeline:
            self.ended.append(f"t{task.inputs['number']}")

    def run_finished(self, run: Run) -> None:
        self.run = run


def numbered(done: Run, plan: list[Any]) -> dict[str, TaskRun]:
    """A run's tasks by the plan's names: KFP calls them work, work-2 … in the order of building."""
    names: list[str] = []

    def walk(block: list[Any]) -> None:
        for step in block:
            if isinstance(step, If):
                walk(step.then)
                walk(step.otherwise)
            else:
                names.append(step.name)

    walk(plan)
    return {name: done.tasks["work" if i == 0 else f"work-{i + 1}"] for i, name in enumerate(names)}


@settings(max_examples=60, deadline=None)
@given(plans(), st.booleans())
def test_random_graphs_do_what_a_simple_interpreter_does(plan: list[Any], cache: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        log.touch()
        watch = Watch()
        failed = False
        try:
            run(compiled(plan, str(log)), out=Path(folder, "out"), cache=cache, listener=watch)
        except StepError:
            failed = True
        wanted = expected(plan)
        tasks = numbered(watch.run, plan)
        got = {name: (task.state.value, task.outputs.get("Output")) for name, task in tasks.items()}
        assert got == wanted
        assert failed is any(state == "failed" for state, _ in wanted.values())
        assert watch.run.state.value == ("failed" if failed else "succeeded")
        # Each task ran once, and after what it reads.
        assert sorted(log.read_text().split()) == sorted(n for n, (state, _) in wanted.items() if state != "skipped")
        for step in (s for s in plan if isinstance(s, Add) and wanted[s.name][0] == "succeeded"):
            for name in step.waits:
                assert watch.ended.index(name) < watch.ended.index(step.name)
