"""Components that the runner's tests share. KFP ships their source, so each stands on its own."""

# ruff: noqa: PTH105, PTH123 - a component's source stands alone; KFP knows no `str | None`

import functools
from typing import NamedTuple, Optional

from kfp import dsl
from kfp.dsl import Artifact, Dataset, Input, Model, Output

step = functools.partial(dsl.component, base_image="python:3.11", install_kfp_package=False)


@step
def add(a: int, b: int, log: str = "") -> int:
    """a + b, and a line in `log` for each time it runs."""
    if log:
        with open(log, "a") as file:
            file.write(f"{a}+{b}\n")
    return a + b


@step
def say(text: str) -> str:
    return text


@step
def describe(
    whole: int,
    real: float,
    flag: bool,
    text: str,
    items: list,
    table: dict,
    left_out: Optional[str] = None,
    given: int = 5,
) -> dict:
    """Every input with its type."""
    values = {"whole": whole, "real": real, "flag": flag, "text": text, "items": items, "table": table}
    values |= {"left_out": left_out, "given": given}
    types = {name: type(value).__name__ for name, value in values.items()}
    inside = [type(item).__name__ for item in items]
    return {"values": values, "types": types, "inside": inside}


@step
def write(content: str, made: Output[Dataset], log: str = "", note: str = "n"):
    """A folder with two files."""
    import pathlib

    if log:
        with open(log, "a") as file:
            file.write("write\n")
    folder = pathlib.Path(made.path)
    (folder / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text(content)
    (folder / "deep" / "b.txt").write_text(content * 2)
    made.metadata["note"] = note
    made.metadata["size"] = len(content)


@step
def read(taken: Input[Dataset], log: str = "") -> str:
    import pathlib

    if log:
        with open(log, "a") as file:
            file.write("read\n")
    content = (pathlib.Path(taken.path) / "deep" / "b.txt").read_text()
    return f"{content} {taken.metadata['note']} {taken.metadata['size']}"


@step
def maybe(taken: Optional[Input[Dataset]] = None, word: Optional[str] = None) -> str:
    return f"{taken is None} {word}"


@step
def pair(a: int) -> NamedTuple("Pair", [("double", int), ("name", str)]):
    return (a * 2, f"n{a}")


@step
def fail(message: str) -> int:
    raise KeyError(message)


@step
def fail_with_towpath(message: str) -> int:
    from towpath.components.core.errors import RecordsError

    raise RecordsError(message, "Do this.")


@step
def fail_until(marker: str, times: int) -> int:
    """Fail the first `times` times."""
    import pathlib

    file = pathlib.Path(marker)
    done = len(file.read_text()) if file.exists() else 0
    file.write_text("x" * (done + 1))
    if done < times:
        raise OSError(f"attempt {done}")
    return done


@step
def fit(steps: int, log: str, model: Output[Model], die_at: int = -1, nap: float = 0.0):
    """Count to `steps`, keeping state in `<model>.partial`, and maybe die on the way, once."""
    import os
    import pathlib
    import time

    state = pathlib.Path(model.path + ".partial")
    state.mkdir(exist_ok=True)
    at = state / "step"
    first = int(at.read_text()) if at.exists() else 0
    for number in range(first, steps):
        with open(log, "a") as file:
            file.write(f"{number}\n")
        beside = state / "step.new"
        beside.write_text(str(number + 1))
        os.replace(beside, at)
        time.sleep(nap)
        if number == die_at and first == 0:
            raise RuntimeError("died")
    pathlib.Path(model.path).write_text(f"{steps} steps")


@step
def copy_artifact(source: Input[Artifact], target: Output[Artifact]):
    import pathlib

    pathlib.Path(target.path).write_bytes(pathlib.Path(source.path).read_bytes())
