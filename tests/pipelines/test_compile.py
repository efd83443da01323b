"""Compiled pipelines: what they hold, and that making them stays light."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from towpath import __version__
from towpath.components.core.release import environments
from towpath.pipelines.commands import targets
from towpath.pipelines.commands.compile import package
from towpath.pipelines.commands.targets import STEPS

HEAVY = ("tensorflow", "keras", "mlflow", "fastapi", "uvicorn", "sklearn", "matplotlib")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything compiled, by a process that then says what heavy modules it had imported."""
    out = tmp_path_factory.mktemp("compiled")
    program = (
        "import sys; from towpath.pipelines.cli import app\n"
        f"app(['compile', '--out', {str(out)!r}], standalone_mode=False)\n"
        f"print('heavy:', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "heavy: []" in done.stdout
    return out


def _read(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = yaml.safe_load(path.read_text())
    return value


def test_every_pipeline_and_component_is_written(compiled: Path) -> None:
    written = {path.relative_to(compiled).as_posix() for path in compiled.rglob("*") if path.is_file()}
    pipelines = {"train.yaml", "promote.yaml", "train-to-prod.yaml"}
    assert written == pipelines | {f"components/{step}.yaml" for step in STEPS}


def test_pipelines_have_their_names_and_inputs(compiled: Path) -> None:
    names = {"train": "train-pipeline", "promote": "promote-pipeline", "train-to-prod": "train-to-prod"}
    for file, name in names.items():
        spec = _read(compiled / f"{file}.yaml")
        assert spec["pipelineInfo"]["name"] == name
        # kfp's loader would take a component of the pipeline's name for the pipeline.
        assert f"comp-{name}" not in spec["components"]
    inputs = _read(compiled / "train-to-prod.yaml")["root"]["inputDefinitions"]["parameters"]
    assert set(inputs) == {"data", "data_version", "environments", "approvals", *STEPS}
    assert inputs["data"]["defaultValue"] == "digit-scenes"
    assert all(inputs[step]["defaultValue"] == {} for step in STEPS)


def test_train_passes_each_result_on(compiled: Path) -> None:
    tasks = _read(compiled / "train.yaml")["root"]["dag"]["tasks"]
    wired = {
        (name, put): (source["taskOutputArtifact"]["producerTask"], source["taskOutputArtifact"]["outputArtifactKey"])
        for name, task in tasks.items()
        for put, source in task["inputs"].get("artifacts", {}).items()
    }
    assert wired == {
        ("train", "records"): ("prepare", "records"),
        ("evaluate", "records"): ("prepare", "records"),
        ("evaluate", "model"): ("train", "model"),
        ("quantize", "records"): ("prepare", "records"),
        ("quantize", "model"): ("train", "model"),
        ("benchmark", "model"): ("quantize", "quantized"),
        ("register", "model"): ("quantize", "quantized"),
        ("register", "metrics"): ("evaluate", "metrics"),
        ("register", "report"): ("evaluate", "report"),
    }


def test_what_acts_on_the_world_is_never_cached(compiled: Path) -> None:
    cached = {
        task["componentRef"]["name"]: bool(task["cachingOptions"])
        for name in ("train", "promote")
        for task in _read(compiled / f"{name}.yaml")["root"]["dag"]["tasks"].values()
    }
    learning = {"comp-prepare", "comp-train", "comp-evaluate", "comp-quantize", "comp-benchmark"}
    assert {name for name, on in cached.items() if on} == learning
    assert len(cached) == len(STEPS)


def test_each_gate_opens_the_next(compiled: Path) -> None:
    spec = _read(compiled / "train-to-prod.yaml")
    assert _gates(spec) == (["demo", "app-demo", "staging", "prod"], ["== 'promote'"] * 3)


def test_the_chain_of_gates_is_that_of_the_rules() -> None:
    rules = environments.parse("lab: {}\npilot: {from: lab}")
    spec = yaml.safe_load(package(targets.find("train_to_prod", rules).source))
    assert _gates(spec) == (["lab", "pilot"], ["== 'promote'"])


def _gates(spec: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The environments in the order of their gates, and what each gate but the last has to say to open the next."""
    dag, opened, entered = spec["root"]["dag"], [], []
    while True:
        gates = [task for task in dag["tasks"].values() if "environment" in task["inputs"].get("parameters", {})]
        entered += [task["inputs"]["parameters"]["environment"]["runtimeValue"]["constant"] for task in gates]
        inner = [task for task in dag["tasks"].values() if "triggerPolicy" in task]
        if not inner:
            break
        opened.append(inner[0]["triggerPolicy"]["condition"].rpartition("]")[2].strip())
        dag = spec["components"][inner[0]["componentRef"]["name"]]["dag"]
    return entered, opened


def test_images_hold_the_package(compiled: Path) -> None:
    for path in compiled.rglob("*.yaml"):
        for executor in _read(path)["deploymentSpec"]["executors"].values():
            image = executor["container"]["image"]
            assert image in (f"towpath/train-cpu:{__version__}", f"towpath/core:{__version__}")
            assert "pip install" not in " ".join(executor["container"]["command"])
