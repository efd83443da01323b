"""Evaluate on a classifier that really learned the digits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from towpath.components.core.data import manifest
from towpath.components.core.errors import RecordsError
from towpath.components.evaluate.config import EvaluateConfig
from towpath.components.evaluate.evaluate import PREDICTIONS, REPORT, evaluate
from towpath.components.prepare.config import PrepareConfig
from towpath.components.prepare.prepare import prepare


def test_what_is_measured_is_what_the_predictions_say(digits_records: Path, digits_model: Path, tmp_path: Path) -> None:
    found = evaluate(digits_records, digits_model, tmp_path / "out", EvaluateConfig(images=6))
    lines = [json.loads(line) for line in (tmp_path / "out" / PREDICTIONS).read_text().splitlines()]
    classes = manifest.read(digits_records).manifest.classes
    right = np.mean([classes[int(np.argmax(line["scores"]))] == line["label"] for line in lines])
    assert found.split == "test"
    assert found.scores.metrics["accuracy"] == pytest.approx(right)
    assert found.scores.metrics["accuracy"] > 0.9
    assert found.scores.confusion is not None
    assert found.scores.confusion.sum() == len(lines)
    assert found.scores.metrics["top5"] >= found.scores.metrics["accuracy"]


def test_the_report_stands_alone_and_shows_images(digits_records: Path, digits_model: Path, tmp_path: Path) -> None:
    evaluate(digits_records, digits_model, tmp_path / "out", EvaluateConfig(images=6))
    page = (tmp_path / "out" / REPORT).read_text()
    assert page.count("data:image/jpeg;base64,") == 6
    assert "http" not in page.replace("http-equiv", "")
    assert "<script" not in page


def test_records_of_other_classes_are_refused(digits_model: Path, tmp_path: Path) -> None:
    prepare("digit-scenes", tmp_path / "other", PrepareConfig(scenes=20))
    with pytest.raises(RecordsError, match="classes"):
        evaluate(tmp_path / "other", digits_model, tmp_path / "out", EvaluateConfig())
    assert not (tmp_path / "out").exists()
