"""Training on real digits, from records to a bundle that the other steps take; and killed in the middle."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from towpath.components.core import files
from towpath.components.core.data import manifest
from towpath.components.core.errors import ConfigError, RecordsError
from towpath.components.core.models import bundle
from towpath.components.core.models.predictor import Predictor
from towpath.components.prepare.config import PrepareConfig
from towpath.components.prepare.prepare import prepare
from towpath.components.train import checkpoint
from towpath.components.train.config import TrainConfig
from towpath.components.train.families import FAMILIES
from towpath.components.train.train import train

TINY = TrainConfig(epochs=2, batch_size=8, pyramid_channels=16, head_depth=1, samples=4)


@pytest.fixture(scope="session")
def scenes(once: Callable[..., Path]) -> Path:
    return once("scenes", lambda out: prepare("digit-scenes", out, PrepareConfig(scenes=60, min_shards=2)))


@pytest.fixture(scope="session")
def trained(once: Callable[..., Path], scenes: Path) -> Path:
    return once("detector", lambda out: train(scenes, out, TINY))


def test_a_detector_is_trained_and_its_bundle_says_what_it_is(trained: Path, scenes: Path) -> None:
    card = bundle.read(trained).card
    metrics = card.metrics
    assert (card.name, card.task, len(card.classes), card.vision.input_size) == ("digit-scenes", "detection", 10, 160)
    assert card.records_digest == manifest.read(scenes).digest
    assert metrics["epochs"] == 2
    assert metrics["images_per_second"] > 0
    assert card.training["batch_size"] == 8
    assert not list(trained.parent.glob("*.partial"))


def test_samples_are_images_of_the_test_split_with_their_answers(trained: Path, scenes: Path) -> None:
    loaded = bundle.read(trained)
    first = next(manifest.read(scenes).examples("test"))
    sample = loaded.card.samples[0]
    assert len(loaded.card.samples) == 4
    assert loaded.sample_bytes(sample) == first.image
    assert np.allclose(sample.box_array, first.boxes)
    assert sample.labels == tuple(first.labels)


def test_the_graphs_own_answer_is_the_predictors(trained: Path) -> None:
    import tensorflow as tf

    loaded = bundle.read(trained)
    predictor = Predictor(loaded)
    serving = tf.saved_model.load(str(loaded.saved_model)).signatures["serving_default"]
    for sample in loaded.card.samples:
        prepared = predictor.prepare(loaded.sample_bytes(sample))
        found = predictor.run([prepared])[0].detections
        answer = {name: np.asarray(value)[0] for name, value in serving(image=prepared.image[None]).items()}
        assert found is not None
        count = int(answer["num_detections"])
        assert count == len(found.scores)
        assert np.allclose(np.sort(answer["detection_scores"][:count]), np.sort(found.scores), atol=1e-5)


class Stop(Exception):
    """Ends a training in the middle."""


def test_an_interrupted_training_resumes_and_ends_as_an_undisturbed_one(
    digits_records: Path, digits_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = bundle.read(digits_model).card
    config = TrainConfig(**undisturbed.training)
    save = checkpoint.Checkpoints.on_epoch_end

    def save_and_stop(self: checkpoint.Checkpoints, epoch: int, logs: dict[str, float] | None = None) -> None:
        save(self, epoch, logs)
        if epoch == config.epochs - 2:
            raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.Checkpoints, "on_epoch_end", save_and_stop)
        with pytest.raises(Stop):
            train(digits_records, tmp_path / "model", config)
    assert not (tmp_path / "model").exists()
    metrics = train(digits_records, tmp_path / "model", config)
    for name in ("loss", "accuracy", "val_loss", "val_accuracy"):
        assert metrics[name] == pytest.approx(undisturbed.metrics[name], rel=1e-5)


def test_a_checkpoint_of_other_settings_is_not_resumed(tmp_path: Path) -> None:
    import keras

    def compiled() -> keras.Model:
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        return model

    saved = checkpoint.Checkpoints(tmp_path, "of these settings")
    saved.set_model(compiled())
    assert saved.resume(saved.model) == 0
    saved.on_epoch_end(0, {"loss": 0.5})
    assert checkpoint.Checkpoints(tmp_path, "of these settings").resume(compiled()) == 1
    assert checkpoint.Checkpoints(tmp_path, "of others").resume(compiled()) == 0


@pytest.mark.slow
def test_a_training_killed_at_any_moment_goes_on_and_ends_as_an_undisturbed_one(
    trained: Path, scenes: Path, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    program = (
        "import sys; from pathlib import Path; from towpath.components.train.train import train; "
        "from towpath.components.train.config import TrainConfig; import json; "
        "train(Path(sys.argv[1]), Path(sys.argv[2]), TrainConfig(**json.loads(sys.argv[3])))"
    )
    settings = {"epochs": 2, "batch_size": 8, "pyramid_channels": 16, "head_depth": 1, "samples": 4}
    command = [sys.executable, "-c", program, str(scenes), str(out), json.dumps(settings)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    state = files.partial(out) / "checkpoints" / "state.json"
    while process.poll() is None and not state.exists():
        os.sched_yield()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert state.exists()
    assert not out.exists()
    metrics = train(scenes, out, TrainConfig(**settings))  # type: ignore[arg-type]
    undisturbed = bundle.read(trained).card.metrics
    for name in ("loss", "class_loss", "box_loss", "val_loss"):
        assert metrics[name] == pytest.approx(undisturbed[name], rel=1e-5)


@pytest.mark.slow
def test_what_other_settings_left_is_not_resumed(scenes: Path, tmp_path: Path) -> None:
    checkpoints = tmp_path / "model.partial" / "checkpoints"
    checkpoints.mkdir(parents=True)
    state = {"fingerprint": "of something else", "weights": "epoch-0002.weights.h5", "history": [{"loss": 0.0}] * 2}
    files.write_json(checkpoints / "state.json", state)
    settings = TrainConfig(epochs=1, batch_size=8, pyramid_channels=8, head_depth=0, samples=1)
    assert train(scenes, tmp_path / "model", settings)["loss"] > 0


def test_wrong_input_is_named(scenes: Path, tmp_path: Path) -> None:
    with pytest.raises(RecordsError, match=r"no manifest\.json"):
        train(tmp_path, tmp_path / "out", TINY)
    with pytest.raises(ConfigError, match=r"multiple of"):
        train(scenes, tmp_path / "out", TrainConfig(input_size=100))
    with pytest.raises(ConfigError, match=r"has no pretrained weights"):
        train(scenes, tmp_path / "out", TrainConfig(weights="some.h5"))
    broken = tmp_path / "broken"
    shutil.copytree(scenes, broken)
    shard = next(broken.glob("train-*"))
    shard.write_bytes(shard.read_bytes()[:-10])
    with pytest.raises(RecordsError, match=r"bytes, the manifest says"):
        train(broken, tmp_path / "out", TINY)


@pytest.mark.slow
@pytest.mark.parametrize("backbone", [name for name in FAMILIES if name != "small"])
def test_every_backbone_trains_a_step_and_answers(scenes: Path, tmp_path: Path, backbone: str) -> None:
    settings = TrainConfig(backbone=backbone, epochs=1, batch_size=8, pyramid_channels=16, samples=1, input_size=64)
    train(scenes, tmp_path / "model", settings)
    loaded = bundle.read(tmp_path / "model")
    assert Predictor(loaded)([loaded.sample_bytes(loaded.card.samples[0])])[0].detections is not None


@pytest.mark.slow
def test_pretrained_weights_load_from_a_file(shared_data: Path, scenes: Path, tmp_path: Path) -> None:
    weights = shared_data / "weights/mobilenet_v1_0.25_224_imagenet_no_top.weights.h5"
    settings = TrainConfig(
        backbone="mobilenet", width_multiplier=0.25, weights=str(weights), epochs=1, batch_size=8, samples=1
    )
    assert np.isfinite(train(scenes, tmp_path / "model", settings)["loss"])
