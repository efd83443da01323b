"""The compiled train pipeline is ordinary KFP: kfp's own local runner gives the same metrics as ours."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SETTINGS = {
    "data": "digit-scenes",
    "prepare": {"scenes": 60},
    "train": {"epochs": 2, "batch_size": 8},
    "benchmark": {"seconds": 0.2},
}
TOWPATH = [sys.executable, "-m", "towpath.pipelines.cli"]
PROGRAM = """
import json, sys
from kfp import components, local
local.init(local.SubprocessRunner(use_venv=False), pipeline_root=sys.argv[2])
components.load_component_from_file(sys.argv[1])(**json.loads(sys.argv[3]))
"""


@pytest.mark.slow
def test_kfps_subprocess_runner_gives_the_same_metrics(towpath: Any, tmp_path: Path) -> None:
    words = [
        f"--set={step}.{key}={value}"
        for step in ("prepare", "train", "benchmark")
        for key, value in SETTINGS[step].items()
    ]  # type: ignore[attr-defined]
    ours = towpath("run", "train", "--data", SETTINGS["data"], *words)
    subprocess.run([*TOWPATH, "compile", "train", "--out", str(tmp_path / "compiled")], check=True)
    root = tmp_path / "theirs"
    subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "compiled" / "train.yaml"), str(root), json.dumps(SETTINGS)],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    theirs = {}
    for file in root.rglob("executor_output.json"):
        for name, artifacts in json.loads(file.read_text()).get("artifacts", {}).items():
            theirs[file.parent.name, name] = artifacts["artifacts"][0].get("metadata", {})
    for task in ours["tasks"]:
        if task["task"] in ("train", "evaluate", "quantize"):
            same = {name: value for name, value in task["metrics"].items() if "second" not in name}
            (found,) = [
                metadata
                for (step, name), metadata in theirs.items()
                if step.startswith(task["task"]) and name == "metrics"
            ]
            assert same
            assert {name: found[name] for name in same} == pytest.approx(same, rel=1e-6)
