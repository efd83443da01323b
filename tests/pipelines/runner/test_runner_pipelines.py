"""What pipelines can hold: one small pipeline for each feature, with the tasks that ran and their exact outputs."""

# ruff: noqa: PTH123 - a component's source stands alone; KFP knows no `str | None`

import json
from pathlib import Path
from typing import Any

import pytest
import runner_steps as steps
from kfp import compiler, dsl
from kfp.dsl import HTML, ClassificationMetrics, Dataset, Input, Markdown, Metrics, Output

from towpath.pipelines.runner import Artifact, Run, State, run


def states(done: Run) -> dict[str, str]:
    return {path: task.state.value for path, task in done.tasks.items() if not task.pipeline}


def test_a_component_alone_runs_from_python_and_from_its_yaml(tmp_path: Path) -> None:
    file = tmp_path / "add.yaml"
    compiler.Compiler().compile(steps.add, str(file))
    for pipeline in (steps.add, file, str(file)):
        done = run(pipeline, {"a": 1, "b": 2}, out=tmp_path / "out")
        assert done.outputs == {"Output": 3}
        assert done.state is State.SUCCEEDED
        assert list(done.tasks) == ["add"]
    assert done.tasks["add"].cached


def test_values_arrive_with_the_types_that_were_declared(tmp_path: Path) -> None:
    @dsl.pipeline
    def typed(real: float = 2.0, table: dict = {"a": 1, "b": [2, {"c": 3.5}], "d": True}) -> dict:  # noqa: B006
        task = steps.describe(whole=3, real=real, flag=True, text="é '\"{{$.x}}", items=[1, 2.5, "3", [4]], table=table)
        return task.output

    file = tmp_path / "typed.yaml"
    compiler.Compiler().compile(typed, str(file))
    described = run(file, {"real": 4}, out=tmp_path).outputs["Output"]
    assert described["types"] == {
        "whole": "int",
        "real": "float",
        "flag": "bool",
        "text": "str",
        "items": "list",
        "table": "dict",
        "left_out": "NoneType",
        "given": "int",
    }
    assert described["inside"] == ["int", "float", "str", "list"]
    # Compared as text: 3 == 3.0 in Python.
    assert json.dumps(described["values"]["table"]) == '{"a": 1, "b": [2, {"c": 3.5}], "d": true}'
    assert described["values"]["real"] == 4
    assert described["values"]["text"] == "é '\"{{$.x}}"


def test_named_outputs_and_a_chain(tmp_path: Path) -> None:
    @dsl.pipeline
    def chain(start: int) -> str:
        first = steps.pair(a=start)
        second = steps.pair(a=first.outputs["double"])
        return second.outputs["name"]

    done = run(chain, {"start": 2}, out=tmp_path)
    assert done.tasks["pair"].outputs == {"double": 4, "name": "n2"}
    assert done.outputs == {"Output": "n4"}


def test_artifacts_carry_content_and_metadata(tmp_path: Path) -> None:
    @dsl.pipeline
    def artifacts() -> str:
        made = steps.write(content="hi")
        return steps.read(taken=made.outputs["made"]).output

    done = run(artifacts, out=tmp_path)
    assert done.outputs == {"Output": "hihi n 2"}
    made = done.tasks["write"].outputs["made"]
    assert isinstance(made, Artifact)
    assert made.metadata == {"note": "n", "size": 2}
    assert made.schema["schemaTitle"] == "system.Dataset"
    assert (Path(made.path) / "a.txt").read_text() == "hi"
    link = done.folder / "write" / "made"
    assert link.is_symlink()
    assert not link.readlink().is_absolute()
    assert (link / "a.txt").read_text() == "hi"
    assert (tmp_path / "latest").resolve() == done.folder


@steps.step
def report(
    metrics: Output[Metrics], classes: Output[ClassificationMetrics], page: Output[HTML], text: Output[Markdown]
):
    metrics.log_metric("accuracy", 0.5)
    metrics.log_metric("count", 3)
    classes.log_confusion_matrix(["a", "b"], [[1, 2], [3, 4]])
    with open(page.path, "w") as file:
        file.write("<p>")
    with open(text.path, "w") as file:
        file.write("# t")


@steps.step
def read_report(metrics: Input[Metrics], page: Input[HTML]) -> str:
    with open(page.path) as file:
        return f"{metrics.metadata['accuracy']} {metrics.metadata['count']} {file.read()} {type(metrics).__name__}"


def test_every_kind_of_artifact_that_the_ui_draws(tmp_path: Path) -> None:
    @dsl.pipeline
    def reported() -> str:
        made = report()
        return read_report(metrics=made.outputs["metrics"], page=made.outputs["page"]).output

    for _ in range(2):
        done = run(reported, out=tmp_path)
        assert done.outputs == {"Output": "0.5 3 <p> Metrics"}
        outputs: dict[str, Any] = done.tasks["report"].outputs
        assert outputs["classes"].metadata["confusionMatrix"]["rows"] == [{"row": [1, 2]}, {"row": [3, 4]}]
        assert Path(outputs["text"].path).read_text() == "# t"
    assert done.tasks["report"].cached


@dsl.pipeline
def branches(x: int, word: str = "it's") -> int:
    with dsl.If(x > 10):
        with dsl.If(x > 100):
            steps.add(a=x, b=1000)
        big = steps.add(a=x, b=1)
    with dsl.Elif(word == "it's"):
        odd = steps.add(a=x, b=2)
    with dsl.Else():
        other = steps.add(a=x, b=3)
    chosen = dsl.OneOf(big.output, odd.output, other.output)
    return steps.add(a=chosen, b=100).output


@pytest.mark.parametrize(
    ("arguments", "output", "ran"),
    [
        ({"x": 11}, 112, {"add-2", "add-5"}),
        ({"x": 101}, 202, {"add", "add-2", "add-5"}),
        ({"x": 1}, 103, {"add-3", "add-5"}),
        ({"x": 1, "word": "its"}, 104, {"add-4", "add-5"}),
    ],
)
def test_conditions_choose_what_runs(tmp_path: Path, arguments: dict[str, Any], output: int, ran: set[str]) -> None:
    done = run(branches, arguments, out=tmp_path)
    assert done.outputs == {"Output": output}
    succeeded = {path.rpartition(".")[2] for path, state in states(done).items() if state == "succeeded"}
    skipped = {path.rpartition(".")[2] for path, state in states(done).items() if state == "skipped"}
    assert succeeded == ran
    assert skipped == {"add", "add-2", "add-3", "add-4", "add-5"} - ran
    assert all(done.tasks[name].reason for name in skipped)


def test_one_of_two_artifacts(tmp_path: Path) -> None:
    @dsl.pipeline
    def chosen(x: int) -> str:
        with dsl.If(x == 1):
            one = steps.write(content="one")
        with dsl.Else():
            two = steps.write(content="two")
        return steps.read(taken=dsl.OneOf(one.outputs["made"], two.outputs["made"])).output

    assert run(chosen, {"x": 1}, out=tmp_path).outputs == {"Output": "oneone n 3"}
    assert run(chosen, {"x": 2}, out=tmp_path).outputs == {"Output": "twotwo n 3"}


def test_a_pipeline_in_a_pipeline_with_parameters_and_artifacts_in_and_out(tmp_path: Path) -> None:
    @dsl.pipeline
    def inner(taken: Input[Dataset], word: str = "default", other: str = "o") -> Dataset:
        steps.read(taken=taken)
        return steps.write(content=f"{word}-{other}").outputs["made"]

    @dsl.pipeline
    def outer() -> str:
        first = steps.write(content="first")
        nested = inner(taken=first.outputs["made"], word="w")
        return steps.read(taken=nested.output).output

    done = run(outer, out=tmp_path)
    assert done.outputs == {"Output": "w-ow-o n 3"}
    assert done.tasks["inner"].pipeline
    assert done.tasks["inner.read"].outputs == {"Output": "firstfirst n 5"}
    assert (done.folder / "inner" / "write" / "made" / "a.txt").read_text() == "w-o"


def test_what_is_optional_may_be_left_out(tmp_path: Path) -> None:
    @dsl.pipeline
    def inner(taken: Input[Dataset] = None, word: str = None) -> str:  # noqa: RUF013
        return steps.maybe(taken=taken, word=word).output

    @dsl.pipeline
    def outer(word: str = None):  # noqa: RUF013
        inner()
        inner(word=word)
        steps.maybe()

    done = run(outer, out=tmp_path / "none")
    assert {task.outputs["Output"] for task in done.tasks.values() if not task.pipeline} == {"True None"}
    done = run(outer, {"word": "w"}, out=tmp_path / "given")
    assert done.tasks["inner-2.maybe"].outputs == {"Output": "True w"}


def test_after_orders_tasks_that_share_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"

    @dsl.pipeline
    def ordered(log: str):
        last = steps.add(a=1, b=1, log=log)
        middle = steps.add(a=2, b=2, log=log)
        first = steps.add(a=3, b=3, log=log)
        middle.after(first)
        last.after(middle)

    run(ordered, {"log": str(log)}, out=tmp_path)
    assert log.read_text().split() == ["3+3", "2+2", "1+1"]


def test_placeholders_and_text_around_values(tmp_path: Path) -> None:
    @dsl.pipeline
    def told(x: int = 3, flag: bool = True):
        made = steps.pair(a=x)
        steps.say(
            text=f"{x} {made.outputs['double']} {made.outputs['name']} {flag} {dsl.PIPELINE_TASK_NAME_PLACEHOLDER}"
        )
        steps.say(text=dsl.PIPELINE_JOB_NAME_PLACEHOLDER)
        steps.say(text=f"{dsl.PIPELINE_ROOT_PLACEHOLDER}/tmp")

    done = run(told, out=tmp_path, name="my run")
    assert done.tasks["say"].outputs == {"Output": "3 6 n3 true say"}
    assert done.tasks["say-2"].outputs == {"Output": "my run"}
    assert done.tasks["say-3"].outputs == {"Output": f"{done.folder}/tmp"}
    assert done.folder.name.endswith("-my-run")


def test_an_artifact_argument_is_a_path_or_an_artifact(tmp_path: Path) -> None:
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "deep" / "b.txt").write_text("given")
    given = Dataset(uri=str(tmp_path / "data"), metadata={"note": "x", "size": 1.0})
    assert run(steps.read, {"taken": given}, out=tmp_path / "out").outputs == {"Output": "given x 1"}
    (tmp_path / "file").write_text("content")
    done = run(steps.copy_artifact, {"source": tmp_path / "file"}, out=tmp_path / "out")
    copied = done.tasks["copy-artifact"].outputs["target"]
    assert Path(copied.path).read_text() == "content"


@steps.step
def surroundings() -> str:
    import os

    return f"{os.environ['ONE']} {os.environ['_KFP_RUNTIME']}"


def test_environment_and_settings_without_meaning_here(tmp_path: Path) -> None:
    @dsl.pipeline
    def settings():
        for _ in range(2):
            task = surroundings()
            task.set_env_variable("ONE", "1").set_cpu_limit("2").set_memory_limit("1G").set_caching_options(False)

    done = run(settings, out=tmp_path)
    assert done.tasks["surroundings"].outputs == {"Output": "1 true"}
    assert done.ignored == ("resources (CPU, memory, accelerator): surroundings, surroundings-2",)


def test_the_record_tells_all(tmp_path: Path) -> None:
    @dsl.pipeline
    def recorded(x: int):
        made = steps.write(content="hi")
        steps.read(taken=made.outputs["made"])
        with dsl.If(x == 1):
            steps.say(text="no")

    done = run(recorded, {"x": 2}, out=tmp_path)
    record = json.loads((done.folder / "run.json").read_text())
    assert record["pipeline"] == "recorded"
    assert record["arguments"] == {"x": 2}
    assert record["state"] == "succeeded"
    assert record["seconds"] > 0
    write = record["tasks"]["write"]
    assert write["state"] == "succeeded"
    assert write["cached"] is False
    assert write["attempts"] == 1
    assert write["inputs"] == {"content": "hi"}
    assert write["outputs"]["made"]["metadata"] == {"note": "n", "size": 2}
    assert write["outputs"]["made"]["uri"] == str(tmp_path / "cache" / write["key"] / "made")
    assert (done.folder / write["log"]).is_file()
    assert record["tasks"]["read"]["inputs"]["taken"]["digest"] == write["outputs"]["made"]["digest"]
    skipped = record["tasks"]["condition-1.say"]
    assert skipped["state"] == "skipped"
    assert skipped["reason"] == "condition-1 was skipped"
    assert record["tasks"]["condition-1"]["reason"].startswith("the condition is false: int(")


def test_runs_at_the_same_second_have_folders_of_their_own(tmp_path: Path) -> None:
    folders = {run(steps.say, {"text": "x"}, out=tmp_path).folder for _ in range(4)}
    assert len(folders) == 4


@steps.step
def returned(text: str) -> Dataset:
    with open(dsl.get_uri("there"), "w") as file:
        file.write(text)
    return Dataset(uri=dsl.get_uri("there"), metadata={"note": "r", "size": 0})


@steps.step
def first_line(data: Input[Dataset]) -> str:
    with open(data.path) as file:
        return f"{file.read()} {data.metadata['note']}"


def test_an_artifact_may_be_returned(tmp_path: Path) -> None:
    @dsl.pipeline
    def pythonic() -> str:
        return first_line(data=returned(text="hi").output).output

    for cache in (True, True, False):
        assert run(pythonic, out=tmp_path, cache=cache).outputs == {"Output": "hi r"}
    with pytest.raises(RuntimeError, match="only be called at task runtime"):
        dsl.get_uri()


class Told:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def task_started(self, task: Any) -> None:
        self.lines.append(f"start {task.path}")

    def task_finished(self, task: Any) -> None:
        self.lines.append(f"{task.state} {task.path}{' cached' if task.cached else ''}")

    def run_finished(self, run: Run) -> None:
        self.lines.append(f"run {run.state}")


def test_a_listener_hears_each_task_start_and_end(tmp_path: Path) -> None:
    @dsl.pipeline
    def heard(x: int):
        steps.say(text="a")
        with dsl.If(x == 1):
            steps.say(text="b")

    told = Told()
    run(heard, {"x": 2}, out=tmp_path, listener=told)
    assert told.lines == [
        "skipped condition-1.say-2",
        "skipped condition-1",
        "start say",
        "succeeded say",
        "run succeeded",
    ]
    told = Told()
    run(heard, {"x": 2}, out=tmp_path, listener=told)
    assert "succeeded say cached" in told.lines


def test_a_task_can_be_looked_up_without_its_condition_group(tmp_path: Path) -> None:
    done = run(branches, {"x": 101}, out=tmp_path)
    assert done.tasks["add"] is done.tasks["condition-branches-1.condition-3.condition-2.add"]
    with pytest.raises(KeyError, match="did you mean 'add'"):
        done.tasks["ad"]
