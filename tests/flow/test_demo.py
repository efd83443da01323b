"""`make demo`, whole: what it promises, and that what users get is what was evaluated."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from towpath.components.core.data import manifest

PROJECT = Path(__file__).parents[2]
ENVIRONMENTS = ["demo", "app-demo", "staging", "prod"]
# Objects below it may come and go with the last bit of a float at the threshold of the post-processing.
CLEAR = 0.1


@pytest.mark.slow
def test_the_demo_brings_a_good_model_to_prod(towpath: Any, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    done = subprocess.run(["make", "demo", f"OUT={out}"], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    for words in ("mAP@0.5", "images/s", "http://127.0.0.1", "report.html"):
        assert words in done.stdout
    approved = ("--approve", "legal,fit,cost,live")
    again = towpath("run", "train_to_prod", "--data", "digit-scenes", *approved, "--out", out)
    tasks = {task["task"].removeprefix("train-pipeline."): task for task in again["tasks"]}
    assert all(tasks[step]["cached"] for step in ("prepare", "train", "evaluate", "quantize", "benchmark"))
    assert [(gate["environment"], gate["outcome"]) for gate in again["gates"]] == [
        (environment, "promote") for environment in ENVIRONMENTS
    ]
    assert list(again["urls"]) == ENVIRONMENTS
    assert tasks["evaluate"]["metrics"]["map50"] >= 0.85
    small = tasks["quantize"]["metrics"]
    assert abs(small["int8_map50"] - small["float32_map50"]) <= 0.02
    records = manifest.read(tasks["prepare"]["outputs"]["records"])
    assert sum(split.examples for split in records.manifest.splits.values()) >= 800
    assert all(len(split.shards) > 1 for split in records.manifest.splits.values())
    evaluated = Path(tasks["evaluate"]["outputs"]["predictions"]).read_text().splitlines()
    for url in again["urls"].values():
        check_answers(url, records, [json.loads(line) for line in evaluated], tmp_path)


def check_answers(url: str, records: manifest.Records, evaluated: list[dict[str, Any]], folder: Path) -> None:
    """An image posted with curl, as base64 JSON and as a file, gives the boxes of the evaluation."""
    for example, line in zip(records.examples("test", 10), evaluated, strict=False):
        assert example.source == line["source"]
        image, request = folder / "image", folder / "request.json"
        image.write_bytes(example.image)
        request.write_text(json.dumps({"instances": [{"b64": base64.b64encode(example.image).decode()}]}))
        model = f"{url}/v1/models/{records.manifest.name}"
        answer = curl(f"{model}:predict", f"@{request}")["predictions"][0]
        boxes = np.array(answer["detection_boxes"])
        labels, scores = answer["detection_class_names"], answer["detection_scores"]
        compare(line, boxes, labels, scores)
        found = curl(f"{model}:detect", f"@{image}")
        size = np.array([found["height"], found["width"]] * 2)
        sides = ("y_min", "x_min", "y_max", "x_max")
        boxes = np.array([[one["box"][side] for side in sides] for one in found["objects"]]) / size
        labels = [one["label"] for one in found["objects"]]
        compare(line, boxes, labels, [one["score"] for one in found["objects"]])


def compare(line: dict[str, Any], boxes: Any, labels: list[str], scores: list[float]) -> None:
    clear = np.array(line["scores"]) >= CLEAR
    count = int(clear.sum())
    assert count > 0
    assert sum(score >= CLEAR for score in scores) == count
    assert labels[:count] == line["labels"][:count]
    assert np.allclose(scores[:count], line["scores"][:count], atol=1e-3)
    assert np.allclose(boxes[:count], line["boxes"][:count], atol=1e-3)


def curl(url: str, data: str) -> Any:
    command = ["curl", "--silent", "--show-error", "--fail-with-body", "--data-binary", data, url]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
