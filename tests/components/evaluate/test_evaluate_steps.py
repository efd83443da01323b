"""Evaluate, quantize and benchmark on a classifier that really learned the digits."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from towpath.components.benchmark.benchmark import benchmark, price_per_hour
from towpath.components.benchmark.config import BenchmarkConfig
from towpath.components.core.data import manifest
from towpath.components.core.errors import BundleError, ConfigError, RecordsError
from towpath.components.core.models import bundle
from towpath.components.core.models.predictor import Predictor
from towpath.components.evaluate.config import EvaluateConfig
from towpath.components.evaluate.evaluate import PREDICTIONS, REPORT, evaluate
from towpath.components.prepare.config import PrepareConfig
from towpath.components.prepare.prepare import prepare
from towpath.components.quantize.config import QuantizeConfig
from towpath.components.quantize.quantize import quantize
from towpath.components.train.config import TrainConfig
from towpath.components.train.train import train


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("digits") / "records"
    prepare("digits", out, PrepareConfig())
    return out


@pytest.fixture(scope="module")
def model(digits: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("model") / "model"
    train(digits, out, TrainConfig(epochs=5, batch=32))
    return out


@pytest.fixture(scope="module")
def quantized(digits: Path, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("quantized") / "model"
    quantize(digits, model, out, QuantizeConfig(calibration=50))
    return out


def test_what_is_measured_is_what_the_predictions_say(digits: Path, model: Path, tmp_path: Path) -> None:
    found = evaluate(digits, model, tmp_path / "out", EvaluateConfig(images=6))
    lines = [json.loads(line) for line in (tmp_path / "out" / PREDICTIONS).read_text().splitlines()]
    classes = manifest.read(digits).manifest.classes
    right = np.mean([classes[int(np.argmax(line["scores"]))] == line["label"] for line in lines])
    assert found.split == "test"
    assert found.scores.metrics["accuracy"] == pytest.approx(right)
    assert found.scores.metrics["accuracy"] > 0.9
    assert found.scores.confusion is not None
    assert found.scores.confusion.sum() == len(lines)
    assert found.scores.metrics["top5"] >= found.scores.metrics["accuracy"]


def test_the_report_stands_alone_and_shows_images(digits: Path, model: Path, tmp_path: Path) -> None:
    evaluate(digits, model, tmp_path / "out", EvaluateConfig(images=6))
    page = (tmp_path / "out" / REPORT).read_text()
    assert page.count("data:image/jpeg;base64,") == 6
    assert "http" not in page.replace("http-equiv", "")
    assert "<script" not in page


def test_int8_keeps_the_accuracy_in_a_quarter_of_the_bytes(digits: Path, quantized: Path) -> None:
    card = bundle.read(quantized).card
    assert set(card.variants) == {"float32", "int8"}
    assert card.variants["int8"].metrics["accuracy"] >= card.variants["float32"].metrics["accuracy"] - 0.02
    assert card.variants["int8"].bytes < 0.4 * card.variants["float32"].bytes
    assert card.variants["int8"].calibration == 50


def test_every_engine_gives_the_same_answer(quantized: Path) -> None:
    loaded = bundle.read(quantized)
    images = [loaded.sample_bytes(sample) for sample in loaded.card.samples]
    by_engine = {name: Predictor(loaded, name)(images) for name in ("saved_model", "float32", "int8")}
    for name, tolerance in (("float32", 1e-5), ("int8", 0.1)):
        for one, reference in zip(by_engine[name], by_engine["saved_model"], strict=True):
            assert one.scores is not None
            assert reference.scores is not None
            assert np.abs(one.scores - reference.scores).max() < tolerance


def test_the_benchmark_measures_every_variant(quantized: Path) -> None:
    found = benchmark(quantized, BenchmarkConfig(seconds=0.2))
    assert set(found.speeds) == {"float32", "int8"}
    for speed in found.speeds.values():
        assert 0 < speed.p50_ms <= speed.p99_ms
        assert speed.images_per_dollar == pytest.approx(speed.images_per_second * 3600 / 0.097, rel=0.01)


@pytest.mark.parametrize(
    ("rate", "dollars", "expected"),
    # Rows of Gigster's table: images/s, $/hour, images/$ in thousands (their rounding).
    [(1.53, 0.28, 20), (18.93, 2.67, 26), (4.80, 0.64, 27), (118.5, 8.19, 52)],
)
def test_images_a_dollar_is_the_decks_arithmetic(tmp_path: Path, rate: float, dollars: float, expected: int) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(f"machines:\n  theirs: {{dollars_per_hour: {dollars}}}\n")
    price = price_per_hour(BenchmarkConfig(prices=str(prices), machine="theirs"))
    assert rate * 3600 / price / 1000 == pytest.approx(expected, abs=0.6)


def test_wrong_prices_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="n2-standard-2"):
        price_per_hour(BenchmarkConfig(machine="n2-standart-2"))
    (tmp_path / "prices.yaml").write_text("machines: [1, 2]")
    with pytest.raises(ConfigError, match=r"no machine|no prices"):
        price_per_hour(BenchmarkConfig(prices=str(tmp_path / "prices.yaml")))
    with pytest.raises(ConfigError, match="cannot be read"):
        price_per_hour(BenchmarkConfig(prices=str(tmp_path / "absent.yaml")))


def test_records_of_other_classes_are_refused(model: Path, tmp_path: Path) -> None:
    prepare("digit-scenes", tmp_path / "other", PrepareConfig(scenes=20))
    with pytest.raises(RecordsError, match="classes"):
        evaluate(tmp_path / "other", model, tmp_path / "out", EvaluateConfig())
    assert not (tmp_path / "out").exists()


def test_a_model_that_answers_with_nan_is_refused(digits: Path, model: Path, tmp_path: Path) -> None:
    import tensorflow as tf

    broken = tmp_path / "broken"
    shutil.copytree(model, broken)
    loaded = tf.saved_model.load(str(broken / "1"))
    raw = loaded.signatures["raw"]
    spec = tf.TensorSpec([None, 32, 32, 3], tf.float32, name="image")
    poisoned = tf.function(lambda image: {"scores": raw(image=image)["scores"] * float("nan")}, input_signature=[spec])
    tf.saved_model.save(loaded, str(tmp_path / "poisoned"), signatures={"raw": poisoned.get_concrete_function()})
    shutil.rmtree(broken / "1")
    shutil.move(str(tmp_path / "poisoned"), broken / "1")
    with pytest.raises(BundleError, match="NaN"):
        quantize(digits, broken, tmp_path / "out", QuantizeConfig(calibration=4))
    assert not (tmp_path / "out").exists()


def test_a_model_without_weights_is_refused(digits: Path, model: Path, tmp_path: Path) -> None:
    claims = tmp_path / "claims"
    shutil.copytree(model, claims)
    card = json.loads((claims / "model.json").read_text())
    card["parameters"] *= 100
    (claims / "model.json").write_text(json.dumps(card))
    with pytest.raises(BundleError, match="without weights"):
        quantize(digits, claims, tmp_path / "out", QuantizeConfig(calibration=4))
    assert not (tmp_path / "out").exists()
