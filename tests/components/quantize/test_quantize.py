"""Quantize on a classifier that really learned the digits."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from towpath.components.core.errors import BundleError
from towpath.components.core.models import bundle
from towpath.components.core.models.predictor import Predictor
from towpath.components.quantize.config import QuantizeConfig
from towpath.components.quantize.quantize import quantize


def test_int8_keeps_the_accuracy_in_a_quarter_of_the_bytes(digits_records: Path, digits_variants: Path) -> None:
    card = bundle.read(digits_variants).card
    assert set(card.variants) == {"float32", "int8"}
    assert card.variants["int8"].metrics["accuracy"] >= card.variants["float32"].metrics["accuracy"] - 0.02
    assert card.variants["int8"].bytes < 0.4 * card.variants["float32"].bytes
    assert card.variants["int8"].calibration == 50


def test_every_engine_gives_the_same_answer(digits_variants: Path) -> None:
    loaded = bundle.read(digits_variants)
    images = [loaded.sample_bytes(sample) for sample in loaded.card.samples]
    by_engine = {name: Predictor(loaded, name)(images) for name in ("saved_model", "float32", "int8")}
    for name, tolerance in (("float32", 1e-5), ("int8", 0.1)):
        for one, reference in zip(by_engine[name], by_engine["saved_model"], strict=True):
            assert one.scores is not None
            assert reference.scores is not None
            assert np.abs(one.scores - reference.scores).max() < tolerance


def test_a_model_that_answers_with_nan_is_refused(digits_records: Path, digits_model: Path, tmp_path: Path) -> None:
    import tensorflow as tf

    broken = tmp_path / "broken"
    shutil.copytree(digits_model, broken)
    loaded = tf.saved_model.load(str(broken / "1"))
    raw = loaded.signatures["raw"]
    spec = tf.TensorSpec([None, 32, 32, 3], tf.float32, name="image")
    poisoned = tf.function(lambda image: {"scores": raw(image=image)["scores"] * float("nan")}, input_signature=[spec])
    tf.saved_model.save(loaded, str(tmp_path / "poisoned"), signatures={"raw": poisoned.get_concrete_function()})
    shutil.rmtree(broken / "1")
    shutil.move(str(tmp_path / "poisoned"), broken / "1")
    with pytest.raises(BundleError, match="NaN"):
        quantize(digits_records, broken, tmp_path / "out", QuantizeConfig(calibration=4))
    assert not (tmp_path / "out").exists()


def test_a_model_without_weights_is_refused(digits_records: Path, digits_model: Path, tmp_path: Path) -> None:
    claims = tmp_path / "claims"
    shutil.copytree(digits_model, claims)
    card = json.loads((claims / "model.json").read_text())
    card["parameters"] *= 100
    (claims / "model.json").write_text(json.dumps(card))
    with pytest.raises(BundleError, match="without weights"):
        quantize(digits_records, claims, tmp_path / "out", QuantizeConfig(calibration=4))
    assert not (tmp_path / "out").exists()
