"""The whole flow on small data: images to four environments, and users get what was evaluated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from towpath.components.core.data import manifest

ENVIRONMENTS = ["demo", "app-demo", "staging", "prod"]
SMALL = ("train.epochs=4", "train.batch_size=32", "quantize.calibration=20", "benchmark.seconds=0.2")


@pytest.mark.flow
def test_images_become_a_model_in_production(towpath: Any, tmp_path: Path) -> None:
    words = ["run", "train_to_prod", "--data", "digits", "--approve", "legal,fit,cost,live", "--out", tmp_path / "runs"]
    words += [word for setting in SMALL for word in ("--set", setting)]
    run = towpath(*words)
    assert [(gate["environment"], gate["outcome"]) for gate in run["gates"]] == [
        (environment, "promote") for environment in ENVIRONMENTS
    ]
    tasks = {task["task"].removeprefix("train-pipeline."): task for task in run["tasks"]}
    assert tasks["evaluate"]["metrics"]["accuracy"] > 0.9
    assert abs(tasks["quantize"]["metrics"]["int8_accuracy"] - tasks["evaluate"]["metrics"]["accuracy"]) < 0.05
    assert Path(run["report"]).is_file()

    records = manifest.read(tasks["prepare"]["outputs"]["records"])
    evaluated = Path(tasks["evaluate"]["outputs"]["predictions"]).read_text().splitlines()
    assert list(run["urls"]) == ENVIRONMENTS
    for url in run["urls"].values():
        for example, line in zip(records.examples("test", 5), evaluated, strict=False):
            expected = json.loads(line)
            route = f"{url}/v1/models/digits:classify"
            answer = httpx.post(route, content=example.image, trust_env=False).raise_for_status().json()
            given = {one["label"]: one["score"] for one in answer["labels"]}
            best = int(np.argmax(expected["scores"]))
            label = records.manifest.classes[best]
            assert max(given, key=given.__getitem__) == label
            assert given[label] == pytest.approx(expected["scores"][best], abs=1e-3)
    assert {row["environment"]: row["healthy"] for row in towpath("status")} == dict.fromkeys(ENVIRONMENTS, True)
