"""What happens when a step fails, and that it harms nothing but what depends on it."""

# ruff: noqa: PTH123 - a component's source stands alone; KFP knows no `str | None`

import json
import os
import sys
import traceback
import warnings
from pathlib import Path

import pytest
import runner_steps as steps
from kfp import dsl
from kfp.dsl import Model, Output, OutputPath

from towpath.components.core.errors import MissingError, RecordsError, StepError
from towpath.pipelines.runner import Run, run


class Keep:
    """A listener that keeps the run, which an exception hides."""

    run: Run

    def task_started(self, task: object) -> None: ...
    def task_finished(self, task: object) -> None: ...
    def run_finished(self, run: Run) -> None:
        self.run = run


@dsl.pipeline
def half_broken():
    bad = steps.fail(message="lost")
    after_bad = steps.add(a=bad.output, b=1)
    steps.add(a=after_bad.output, b=1)
    good = steps.add(a=1, b=1)
    steps.add(a=good.output, b=1)


def test_dependants_of_a_failed_task_do_not_run_and_the_others_do(tmp_path: Path) -> None:
    keep = Keep()
    with pytest.raises(StepError, match="Task fail failed: KeyError: 'lost'") as caught:
        run(half_broken, out=tmp_path, listener=keep)
    assert isinstance(caught.value.__cause__, KeyError)
    tasks = {path: (task.state.value, task.reason) for path, task in keep.run.tasks.items()}
    assert tasks == {
        "fail": ("failed", None),
        "add": ("skipped", "fail failed"),
        "add-2": ("skipped", "add was skipped"),
        "add-3": ("succeeded", None),
        "add-4": ("succeeded", None),
    }
    record = json.loads((keep.run.folder / "run.json").read_text())
    assert record["state"] == "failed"
    assert record["tasks"]["fail"]["error"] == "KeyError: 'lost'"


def test_the_traceback_shows_the_components_own_line(tmp_path: Path) -> None:
    with pytest.raises(StepError) as caught:
        run(steps.fail, {"message": "lost"}, out=tmp_path)
    cause = caught.value.__cause__
    assert cause is not None
    last = traceback.extract_tb(cause.__traceback__)[-1]
    assert last.name == "fail"
    assert last.line == "raise KeyError(message)"
    assert last.filename == str((tmp_path / "latest").resolve() / "fail" / "component.py")
    assert "raise KeyError(message)" in (tmp_path / "latest" / "fail" / "log.txt").read_text()
    assert not [name for name in sys.modules if name.startswith("towpath_component")]


def test_an_error_of_towpath_comes_out_as_it_is(tmp_path: Path) -> None:
    @dsl.pipeline
    def inner():
        steps.fail_with_towpath(message="Annotation a.xml is empty.")

    @dsl.pipeline
    def outer():
        inner()

    with pytest.raises(RecordsError) as caught:
        run(outer, out=tmp_path)
    assert str(caught.value) == "Annotation a.xml is empty. Do this."
    assert caught.value.exit_code == 3
    assert type(caught.value) is RecordsError


def test_a_nested_pipeline_fails_with_its_task(tmp_path: Path) -> None:
    @dsl.pipeline
    def inner() -> int:
        steps.add(a=1, b=2)
        return steps.fail(message="x").output

    @dsl.pipeline
    def outer():
        steps.add(a=inner().output, b=1)

    keep = Keep()
    with pytest.raises(StepError, match=r"Task inner\.fail failed"):
        run(outer, out=tmp_path, listener=keep)
    assert {path: task.state.value for path, task in keep.run.tasks.items()} == {
        "inner": "failed",
        "inner.add": "succeeded",
        "inner.fail": "failed",
        "add": "skipped",
    }


def test_retries(tmp_path: Path) -> None:
    @dsl.pipeline
    def retried(marker: str, times: int):
        steps.fail_until(marker=marker, times=times).set_retry(2, backoff_duration="0s")

    done = run(retried, {"marker": str(tmp_path / "a"), "times": 2}, out=tmp_path / "out")
    assert done.tasks["fail-until"].attempts == 3
    assert done.tasks["fail-until"].outputs == {"Output": 2}
    assert any("attempt 1 failed: OSError: attempt 0" in note for note in done.notes)
    with pytest.raises(StepError, match="OSError: attempt 2"):
        run(retried, {"marker": str(tmp_path / "b"), "times": 3}, out=tmp_path / "out")


@steps.step
def leave(code: int, result: OutputPath(int)):  # type: ignore[valid-type]
    import sys

    with open(result, "w") as file:
        file.write("7")
    sys.exit(code)


@steps.step
def leave_without() -> int:
    import sys

    sys.exit(0)


def test_sys_exit_ends_the_task_and_not_the_runner(tmp_path: Path) -> None:
    assert run(leave, {"code": 0}, out=tmp_path).tasks["leave"].outputs == {"result": 7}
    with pytest.raises(StepError, match=r"Task leave failed: it called sys.exit\(3\)"):
        run(leave, {"code": 3}, out=tmp_path)
    with pytest.raises(StepError, match="output 'Output' was not written"):
        run(leave_without, out=tmp_path)


@steps.step
def interrupt():
    raise KeyboardInterrupt


def test_ctrl_c_leaves_a_true_record(tmp_path: Path) -> None:
    @dsl.pipeline
    def stopped():
        first = steps.add(a=1, b=1)
        second = interrupt().after(first)
        steps.add(a=2, b=2).after(second)

    keep = Keep()
    with pytest.raises(KeyboardInterrupt):
        run(stopped, out=tmp_path, listener=keep)
    record = json.loads((keep.run.folder / "run.json").read_text())
    assert record["state"] == "cancelled"
    assert {path: task["state"] for path, task in record["tasks"].items()} == {
        "add": "succeeded",
        "interrupt": "cancelled",
        "add-2": "cancelled",
    }


@steps.step
def vandal(folder: str):
    import logging
    import os
    import sys
    import warnings

    os.environ["VANDAL"] = "1"
    os.environ.pop("KEPT", None)
    os.chdir(folder)
    sys.path.insert(0, folder)
    sys.argv[:] = ["vandal"]
    warnings.simplefilter("ignore")
    logging.getLogger().setLevel(logging.DEBUG)
    logging.basicConfig(force=True)
    raise ValueError("and it fails")


def test_what_a_component_changes_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import logging

    monkeypatch.setenv("KEPT", "1")
    before = dict(os.environ), Path.cwd(), list(sys.path), list(sys.argv), list(warnings.filters)
    streams, handlers, level = (sys.stdout, sys.stderr), list(logging.getLogger().handlers), logging.getLogger().level
    with pytest.raises(StepError, match="and it fails"):
        run(vandal, {"folder": str(tmp_path)}, out=tmp_path / "out")
    assert before == (dict(os.environ), Path.cwd(), list(sys.path), list(sys.argv), list(warnings.filters))
    assert (sys.stdout, sys.stderr) == streams
    assert (list(logging.getLogger().handlers), logging.getLogger().level) == (handlers, level)


@steps.step
def talk() -> str:
    import logging
    import sys

    print("to out")
    print("\x1b[1mto err\x1b[0m", file=sys.stderr)
    logging.info("to the log")
    logging.debug("too fine")
    return str(sys.stdout.isatty())


def test_output_goes_to_the_terminal_and_to_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = run(talk, out=tmp_path)
    assert done.outputs == {"Output": str(sys.stdout.isatty())}
    log = done.tasks["talk"].log.read_text()
    assert "to out\nto err\n" in log
    assert "to the log" in log
    assert "too fine" not in log
    captured = capsys.readouterr()
    assert captured.out == "to out\n"
    assert "to err" in captured.err
    assert "to the log" not in captured.out


@steps.step
def wrong_type() -> int:
    import json
    import pathlib
    import sys

    # Around KFP's own check, as a component that writes the executor's output itself.
    frame = sys._getframe()
    while "self" not in frame.f_locals:
        frame = frame.f_back
    pathlib.Path(frame.f_locals["self"].executor_output_path).write_text(
        json.dumps({"parameterValues": {"Output": "x"}})
    )
    sys.exit(0)


def test_an_output_of_another_type_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StepError, match="Task wrong-type: output 'Output' is 'x', of type str: it must be int"):
        run(wrong_type, out=tmp_path)


@dsl.component(base_image="python:3.11", packages_to_install=["no-such-package-here>=1", "pyyaml>=1", "numpy==0.0.1"])
def needy() -> int:
    return 1


@dsl.component(base_image="python:3.11", packages_to_install=["pyyaml>=1", "numpy==0.0.1"])
def content() -> int:
    return 1


def test_packages_are_checked_and_not_installed(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"not installed: no-such-package-here \(for needy\)"):
        run(needy, out=tmp_path)
    assert not list(tmp_path.iterdir())
    done = run(content, out=tmp_path)
    assert done.outputs == {"Output": 1}
    assert any("it requires numpy==0.0.1, but runs with" in note for note in done.notes)


@steps.step
def elsewhere(model: Output[Model], path: str):
    import pathlib

    pathlib.Path(path).write_text("far")
    model.custom_path = path


def test_what_a_component_puts_elsewhere_is_brought_home(tmp_path: Path) -> None:
    done = run(elsewhere, {"path": str(tmp_path / "x")}, out=tmp_path / "out")
    assert Path(done.tasks["elsewhere"].outputs["model"].path).read_text() == "far"
