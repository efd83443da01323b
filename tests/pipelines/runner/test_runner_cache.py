"""When a task's outputs are taken from an earlier run, and when not."""

# ruff: noqa: PTH110, PTH123 - a component's source stands alone; KFP knows no `str | None`

import fcntl
import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import runner_steps as steps
from kfp import dsl
from kfp.dsl import Input, Metrics, Model, Output

from towpath.components.core.errors import StepError
from towpath.pipelines.runner import Run, run


@dsl.pipeline
def two_steps(log: str, content: str = "hi", note: str = "n"):
    made = steps.write(content=content, log=log, note=note)
    steps.read(taken=made.outputs["made"], log=log)


@pytest.fixture
def go(tmp_path: Path) -> Callable[..., tuple[Run, list[str]]]:
    """Run `two_steps`, and tell which tasks really ran."""
    log = tmp_path / "log"

    def go(**options: Any) -> tuple[Run, list[str]]:
        log.write_text("")
        cache = options.pop("cache", True)
        done = run(two_steps, {"log": str(log), **options}, out=tmp_path / "out", cache=cache)
        assert done.tasks["read"].outputs["Output"].startswith(options.get("content", "hi") * 2)
        return done, log.read_text().split()

    return go


def entry(done: Run, task: str) -> Path:
    key = done.tasks[task].key
    assert key is not None
    return done.folder.parent / "cache" / key


def test_the_same_work_is_done_once(go: Callable[..., tuple[Run, list[str]]]) -> None:
    first, ran = go()
    assert ran == ["write", "read"]
    second, ran = go()
    assert ran == []
    assert second.tasks["write"].cached
    assert second.tasks["write"].outputs == first.tasks["write"].outputs
    assert (second.folder / "write" / "made" / "a.txt").read_text() == "hi"


def test_other_inputs_or_other_metadata_are_other_work(go: Callable[..., tuple[Run, list[str]]]) -> None:
    go()
    assert go(content="ho")[1] == ["write", "read"]
    assert go(content="ho", note="m")[1] == ["write", "read"]


def test_what_follows_depends_on_content_and_not_on_who_made_it(tmp_path: Path) -> None:
    @steps.step
    def constant(seed: int, made: Output[Model]):
        with open(made.path, "w") as file:
            file.write("same")

    @dsl.pipeline
    def follows(seed: int):
        steps.copy_artifact(source=constant(seed=seed).outputs["made"])

    run(follows, {"seed": 1}, out=tmp_path)
    done = run(follows, {"seed": 2}, out=tmp_path)
    assert not done.tasks["constant"].cached
    assert done.tasks["copy-artifact"].cached


def test_without_the_cache_everything_runs_and_nothing_is_kept(go: Callable[..., tuple[Run, list[str]]]) -> None:
    done, ran = go(cache=False)
    assert ran == ["write", "read"]
    assert done.tasks["write"].outputs["made"].path == str(done.folder / "write" / "made")
    assert not (done.folder.parent / "cache").exists()
    assert go()[1] == ["write", "read"]
    assert go(cache=False)[1] == ["write", "read"]


def test_a_task_with_caching_switched_off_always_runs(tmp_path: Path) -> None:
    log = tmp_path / "log"

    @dsl.pipeline
    def always(log: str):
        steps.add(a=1, b=1, log=log).set_caching_options(False)
        steps.add(a=2, b=2, log=log)

    for _ in range(3):
        run(always, {"log": str(log)}, out=tmp_path)
    assert sorted(log.read_text().split()) == ["1+1"] * 3 + ["2+2"]


def change(folder: Path) -> None:
    (folder / "made" / "a.txt").write_text("other")


def change_in_place(folder: Path) -> None:
    """Same size, another time and content."""
    (folder / "made" / "a.txt").write_text("HI")


def add_a_file(folder: Path) -> None:
    (folder / "made" / "c.txt").write_text("more")


def lose_a_file(folder: Path) -> None:
    (folder / "made" / "deep" / "b.txt").unlink()


def lose_everything(folder: Path) -> None:
    shutil.rmtree(folder / "made")


def cut_done(folder: Path) -> None:
    done = folder / "done.json"
    done.write_text(done.read_text()[:40])


def misshape_done(folder: Path) -> None:
    (folder / "done.json").write_text('{"format": 1, "parameters": {}, "artifacts": {"made": {"files": []}}}')


@pytest.mark.parametrize(
    "damage", [change, change_in_place, add_a_file, lose_a_file, lose_everything, cut_done, misshape_done]
)
def test_a_damaged_entry_is_discarded(go: Callable[..., tuple[Run, list[str]]], damage: Callable[[Path], None]) -> None:
    damage(entry(go()[0], "write"))
    done, ran = go()
    assert ran == ["write"]
    assert "task write: its cache entry was discarded" in done.notes[0]
    assert go()[1] == []


def test_an_entry_that_was_only_touched_is_used(go: Callable[..., tuple[Run, list[str]]]) -> None:
    os.utime(entry(go()[0], "write") / "made" / "a.txt", (1, 1))
    assert go()[1] == []


def test_a_deleted_entry_runs_again(go: Callable[..., tuple[Run, list[str]]]) -> None:
    shutil.rmtree(entry(go()[0], "write"))
    assert go()[1] == ["write"]


def test_the_folder_of_runs_may_be_moved(tmp_path: Path) -> None:
    @dsl.pipeline
    def moved():
        steps.read(taken=steps.write(content="hi").outputs["made"])

    run(moved, out=tmp_path / "a")
    (tmp_path / "a").rename(tmp_path / "b")
    done = run(moved, out=tmp_path / "b")
    assert done.tasks["write"].cached
    assert done.tasks["write"].outputs["made"].path.startswith(str(tmp_path / "b"))


def test_metadata_comes_back_with_its_types(tmp_path: Path) -> None:
    @steps.step
    def measure(metrics: Output[Metrics]):
        metrics.log_metric("whole", 3)
        metrics.log_metric("part", 0.25)
        metrics.metadata["more"] = {"a": [1, "x", None]}

    for _ in range(2):
        done = run(measure, out=tmp_path)
        metadata = done.tasks["measure"].outputs["metrics"].metadata
        assert json.dumps(metadata) == '{"more": {"a": [1, "x", null]}, "part": 0.25, "whole": 3}'
    assert done.tasks["measure"].cached


def test_a_failed_step_goes_on_from_its_partial_state(tmp_path: Path) -> None:
    log = tmp_path / "log"
    arguments = {"steps": 6, "log": str(log), "die_at": 3}
    with pytest.raises(StepError, match="died"):
        run(steps.fit, arguments, out=tmp_path)
    done = run(steps.fit, arguments, out=tmp_path)
    assert log.read_text().split() == ["0", "1", "2", "3", "4", "5"]
    model = Path(done.tasks["fit"].outputs["model"].path)
    assert model.read_text() == "6 steps"
    assert {item.name for item in model.parent.iterdir()} == {"model", "done.json", "executor_output.json"}


def test_retries_go_on_from_partial_state_without_the_cache_too(tmp_path: Path) -> None:
    log = tmp_path / "log"

    @dsl.pipeline
    def retried(log: str):
        steps.fit(steps=6, log=log, die_at=3).set_retry(1, backoff_duration="0s")

    done = run(retried, {"log": str(log)}, out=tmp_path, cache=False)
    assert log.read_text().split() == ["0", "1", "2", "3", "4", "5"]
    assert not list(done.tasks["fit"].folder.glob("*.partial"))


def test_whole_outputs_of_an_unfinished_entry_are_removed_before_a_new_attempt(tmp_path: Path) -> None:
    @steps.step
    def leaves(path: str, made: Output[Model]):
        import os
        import pathlib

        folder = pathlib.Path(made.path)
        folder.mkdir()
        (folder / "file").write_text("x")
        if not os.path.exists(path):
            pathlib.Path(path).touch()
            (folder / "half").write_text("x")
            raise RuntimeError("half way")

    with pytest.raises(StepError, match="half way"):
        run(leaves, {"path": str(tmp_path / "flag")}, out=tmp_path)
    done = run(leaves, {"path": str(tmp_path / "flag")}, out=tmp_path)
    assert [item.name for item in Path(done.tasks["leaves"].outputs["made"].path).iterdir()] == ["file"]


def test_a_second_run_waits_for_the_one_that_works_on_an_entry(tmp_path: Path) -> None:
    @steps.step
    def measured(model: Input[Model]) -> str:
        return model.path

    log = tmp_path / "log"
    arguments = {"a": 1, "b": 2, "log": str(log)}
    done = run(steps.add, arguments, out=tmp_path)
    folder = entry(done, "add")
    (folder / "done.json").unlink()
    with (folder.parent / f"{folder.name}.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        releasing = threading.Timer(0.3, lambda: fcntl.flock(lock, fcntl.LOCK_UN))
        releasing.start()
        begun = time.monotonic()
        run(steps.add, arguments, out=tmp_path)
        assert time.monotonic() - begun > 0.25
        releasing.join()


def test_the_key_covers_the_components_source(tmp_path: Path) -> None:
    def made(text: str) -> Any:
        spec = tmp_path / f"{len(list(tmp_path.iterdir()))}.yaml"
        from kfp import compiler

        compiler.Compiler().compile(steps.say, str(spec))
        spec.write_text(spec.read_text().replace("return text", text))
        return run(spec, {"text": "a"}, out=tmp_path / "out")

    first = made("return text")
    assert made("return text").tasks["say"].cached
    other = made("return text * 2")
    assert other.outputs == {"Output": "aa"}
    assert first.tasks["say"].key != other.tasks["say"].key


def test_the_authors_own_key_replaces_the_inputs(tmp_path: Path) -> None:
    @dsl.pipeline
    def keyed(text: str) -> str:
        return steps.say(text=text).set_caching_options(True, cache_key="mine").output

    assert run(keyed, {"text": "a"}, out=tmp_path).outputs == {"Output": "a"}
    assert run(keyed, {"text": "b"}, out=tmp_path).outputs == {"Output": "a"}
