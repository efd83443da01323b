"""What the runner cannot do is said before anything runs, and so is a wrong argument."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, List  # noqa: UP035

import pytest
import runner_steps as steps
import yaml
from kfp import compiler, dsl
from kfp.dsl import Dataset

from towpath.components.core.errors import ConfigError, DataError
from towpath.pipelines.runner import run


@dsl.container_component
def contained():
    return dsl.ContainerSpec(image="alpine:3", command=["echo", "hi"])


@dsl.component(base_image="python:3.11", target_image="registry/built:1")
def built() -> int:
    return 1


@steps.step
def clean(status: dsl.PipelineTaskFinalStatus):
    pass


@steps.step
def total(numbers: List[int]) -> int:  # noqa: UP006
    return sum(numbers)


@dsl.pipeline
def looped():
    with dsl.ParallelFor([1, 2]) as item:
        steps.add(a=item, b=1)


@dsl.pipeline
def collected():
    with dsl.ParallelFor([1, 2]) as item:
        made = steps.add(a=item, b=1)
    total(numbers=dsl.Collected(made.output))


@dsl.pipeline
def handled():
    with dsl.ExitHandler(clean()):
        steps.add(a=1, b=1)


@dsl.pipeline
def undeterred():
    first = steps.add(a=1, b=1)
    steps.say(text="x").after(first).ignore_upstream_failure()


@dsl.pipeline
def imported():
    steps.read(taken=dsl.importer(artifact_uri="gs://b/x", artifact_class=Dataset).output)


@dsl.pipeline
def inner():
    contained()


@dsl.pipeline
def deep_container():
    inner()


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        (looped, r"Task for-loop-\d+: dsl.ParallelFor"),
        (collected, r"Task for-loop-\d+: dsl.ParallelFor"),
        (handled, "Task clean: dsl.ExitHandler"),
        (undeterred, "Task say: running whether or not"),
        (imported, "Task importer: dsl.importer"),
        (contained, r"Task contained: a container component \(image alpine:3\)"),
        (built, r"Task built: a Python component whose source is in its image \(image registry/built:1\)"),
        (deep_container, r"Task inner.contained: a container component"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(pipeline: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        run(pipeline, out=tmp_path)
    assert not (tmp_path / "latest").exists()


def platform(tmp_path: Path, settings: dict[str, Any], whole: dict[str, Any] | None = None) -> Path:
    """`add`, compiled with Kubernetes settings, as kfp-kubernetes writes them."""
    file = tmp_path / "add.yaml"
    compiler.Compiler().compile(steps.add, str(file))
    kubernetes = {"deploymentSpec": {"executors": {"exec-add": settings}}, "pipelineConfig": whole or {}}
    text = yaml.safe_dump({"platforms": {"kubernetes": kubernetes}})
    file.write_text(f"{file.read_text()}---\n{text}")
    return file


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pvcMount", [{"mountPath": "/data", "constant": "claim"}]),
        ("secretAsEnv", [{"secretName": "s"}]),
        ("configMapAsVolume", [{"configMapName": "c"}]),
        ("activeDeadlineSeconds", "20"),
        ("emptyDirMounts", [{"volumeName": "v"}]),
    ],
)
def test_mounts_secrets_and_timeouts_are_refused(name: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"Task add: the Kubernetes setting '{name}'"):
        run(platform(tmp_path, {name: value}), {"a": 1, "b": 2}, out=tmp_path / "out")


def test_a_workspace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="setting 'workspace'"):
        run(platform(tmp_path, {}, {"workspace": {"size": "1Gi"}}), {"a": 1, "b": 2}, out=tmp_path / "out")


def test_where_a_pod_runs_is_ignored_and_said(tmp_path: Path) -> None:
    file = platform(tmp_path, {"nodeSelector": {"labels": {"a": "b"}}, "tolerations": [{"key": "k"}]})
    done = run(file, {"a": 1, "b": 2}, out=tmp_path / "out")
    assert done.ignored == ("node selector: add", "tolerations: add")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda spec: spec["root"]["dag"]["tasks"]["add"].update(dependentTasks=["no"]), "depends on 'no', which"),
        (lambda spec: spec["root"]["dag"]["tasks"]["add"].update(dependentTasks=["add"]), "circular: add -> add"),
        (lambda spec: spec["root"]["dag"]["tasks"]["add"]["componentRef"].update(name="x"), "component 'x' is not in"),
        (lambda spec: spec["deploymentSpec"].update(executors={}), "executor 'exec-add' is not in the pipeline"),
        (lambda spec: spec["root"]["dag"].update(what=1), "is not a KFP v2 pipeline"),
        (lambda spec: spec["root"].pop("dag"), "has no tasks at its root"),
        (
            lambda spec: spec["root"]["dag"]["tasks"]["add"].update(triggerPolicy={"condition": "a b"}),
            "Task add: condition 'a b'",
        ),
        (
            lambda spec: spec["components"]["comp-add"].update(
                executorLabel=None, dag={"tasks": {"in": {"componentRef": {"name": "comp-add"}}}}
            ),
            "contains itself",
        ),
    ],
)
def test_a_broken_file_is_refused(change: Callable[[Any], Any], message: str, tmp_path: Path) -> None:
    file = tmp_path / "add.yaml"
    compiler.Compiler().compile(steps.add, str(file))
    spec = yaml.safe_load(file.read_text())
    change(spec)
    spec["components"]["comp-add"] = {k: v for k, v in spec["components"]["comp-add"].items() if v is not None}
    file.write_text(yaml.safe_dump(spec))
    with pytest.raises(DataError, match=message):
        run(file, {"a": 1, "b": 2}, out=tmp_path / "out")


@pytest.mark.parametrize("text", ["", "a: [", "- 1", "kind: Workflow", "a: 1\n---\nb: 2"])
def test_what_is_no_pipeline_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(text)
    with pytest.raises(DataError, match=r"p\.yaml"):
        run(file, out=tmp_path / "out")
    with pytest.raises(DataError, match="cannot be read: No such file"):
        run(tmp_path / "none.yaml", out=tmp_path / "out")
    with pytest.raises(ConfigError, match="is not a pipeline"):
        run(len, out=tmp_path / "out")


@dsl.pipeline
def takes(epochs: int, rate: float = 0.1, name: str = "n", flag: bool = False, sizes: List[int] = [1]):  # noqa: B006, UP006
    steps.say(text=f"{epochs} {rate} {name} {flag}")
    total(numbers=sizes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, r"needs an argument: epochs \(int\)"),
        ({"epochs": None}, r"needs an argument: epochs \(int\)"),
        ({"epoch": 1}, "no argument 'epoch'. Did you mean 'epochs'?"),
        ({"epochs": 1, "zzz": 1}, "no argument 'zzz'. Valid names: epochs, flag, name, rate, sizes"),
        ({"epochs": "3"}, "Argument 'epochs' is '3', of type str: it must be int"),
        ({"epochs": 3.0}, "Argument 'epochs' is 3.0, of type float: it must be int"),
        ({"epochs": True}, "Argument 'epochs' is True, of type bool: it must be int"),
        ({"epochs": 1, "rate": True}, "it must be float"),
        ({"epochs": 1, "rate": float("nan")}, "it must be finite"),
        ({"epochs": 1, "name": 3}, "it must be str"),
        ({"epochs": 1, "flag": 1}, "it must be bool"),
        ({"epochs": 1, "sizes": {"a": 1}}, "it must be list"),
        ({"epochs": 1, "sizes": [object()]}, "cannot be written as JSON"),
    ],
)
def test_a_wrong_argument_is_refused_before_anything_runs(
    arguments: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        run(takes, arguments, out=tmp_path)
    assert not (tmp_path / "latest").exists()


def test_right_arguments_are_taken(tmp_path: Path) -> None:
    done = run(takes, {"epochs": 2, "rate": 1, "sizes": (1, 2), "name": None}, out=tmp_path)
    assert done.tasks["say"].outputs == {"Output": "2 1 n false"}
    assert done.tasks["total"].outputs == {"Output": 3}


def test_a_missing_artifact_argument_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"needs an argument: taken \(system.Dataset\)"):
        run(steps.read, out=tmp_path)
    with pytest.raises(ConfigError, match="which does not exist"):
        run(steps.read, {"taken": tmp_path / "no"}, out=tmp_path)
    with pytest.raises(ConfigError, match="it must be an artifact"):
        run(steps.read, {"taken": 3}, out=tmp_path)


def test_a_required_input_that_is_none_fails_its_task(tmp_path: Path) -> None:
    @dsl.pipeline
    def without(text: str = None):  # noqa: RUF013
        steps.say(text=text)

    with pytest.raises(DataError, match="Task say: input 'text' needs a value, but its source is None"):
        run(without, out=tmp_path)
