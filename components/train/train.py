"""Training: records in, a bundle out."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import time
from dataclasses import dataclass
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any

from ..core import config as configs
from ..core import files, progress
from ..core.data import manifest
from ..core.data.manifest import Records
from ..core.errors import ConfigError, MissingError
from ..core.models import anchors as anchor_math
from ..core.models import bundle
from ..core.models.anchors import AnchorSpec
from ..core.models.detection import PostProcess
from .config import TrainConfig
from .hardware import Devices, devices

log = logging.getLogger(__name__)

RECORDED_PACKAGES = ("towpath", "tensorflow", "tensorflow-cpu", "keras", "numpy")


def train(records: Path, out: Path, config: TrainConfig) -> dict[str, float]:
    """Trains a model on the records' training split and writes its bundle.

    After each epoch a checkpoint is written to `<out>.partial`; an interrupted training that is started again with the
    same records and config resumes from it, and ends with the metrics of all epochs.

    Args:
        records: folder of the records.
        out: the bundle's folder; it appears when all is done.
        config: see TrainConfig.

    Returns:
        Metrics of training: losses of the last epoch, epochs, seconds, images_per_second.

    Raises:
        RecordsError: records that are damaged or have no training split.
        ConfigError: invalid settings, or a loss that is NaN or infinite.
        MissingError: TensorFlow is not installed.
        RetryError: the disk is full.
    """
    try:
        import tensorflow as tf
    except ImportError as error:
        raise MissingError("TensorFlow is not installed.", "Install towpath[train] or towpath[train-gpu].") from error
    data = manifest.read(records)
    data.manifest.split("train")
    tf.keras.utils.set_random_seed(config.seed)
    where = devices()
    plan = _plan(data, config, where)
    log.info("%s, float32, %d images per step, %d steps per epoch", where.what, plan.global_batch, plan.steps)
    fingerprint = hashlib.sha256(f"{data.digest}{json.dumps(configs.dump(config))}".encode()).hexdigest()
    work = files.partial(out)
    model, metrics = _fit(plan, work / "checkpoints", fingerprint)
    samples = _samples(plan)
    card = _card(plan, model, metrics, tuple(sample for sample, _ in samples))
    finished = work / "bundle"
    _write(model, card, samples, finished)
    files.publish(finished, out)
    shutil.rmtree(work)  # the checkpoints
    return metrics


@dataclass(frozen=True)
class Plan:
    """Everything that is decided before training starts.

    Attributes:
        data: the records.
        config: the settings.
        where: the devices.
        input_size: side of the model's input in pixels.
        anchors: of a detector; None for a classifier.
        global_batch: images per step, all devices together.
        steps: per epoch.
    """

    data: Records
    config: TrainConfig
    where: Devices
    input_size: int
    anchors: AnchorSpec | None
    global_batch: int
    steps: int


def _plan(data: Records, config: TrainConfig, where: Devices) -> Plan:
    from . import auto_config

    size = config.input_size or auto_config.input_size(data)
    anchors = None
    if data.manifest.task == "detection":
        anchors = auto_config.anchors(data, size)
        anchor_math.make(anchors, size)  # rejects an invalid input size before anything is built
    batch = config.batch_size * where.replicas
    steps = max(1, data.manifest.splits["train"].examples // batch)
    return Plan(data, config, where, size, anchors, batch, steps)


def _build(plan: Plan) -> Any:
    from . import models

    classes = len(plan.data.manifest.classes)
    if plan.anchors is not None:
        model: Any = models.retinanet(plan.config, plan.input_size, classes, plan.anchors)
    else:
        model = models.classifier(plan.config, plan.input_size, classes)
    total = plan.steps * plan.config.epochs
    return models.compiled(model, plan.data.manifest.task, plan.config, plan.where.replicas, total)


def _inputs(plan: Plan) -> Any:
    from .input_pipeline import InputConfig

    config = plan.config
    return InputConfig(
        task=plan.data.manifest.task,
        size=plan.input_size,
        resize_mode=_resize_mode(plan),
        batch_size=plan.global_batch,
        seed=config.seed,
        horizontal_flip=plan.data.manifest.horizontal_flip
        if config.horizontal_flip is None
        else config.horizontal_flip,
        scale_jitter=config.scale_jitter,
        anchors=None if plan.anchors is None else anchor_math.make(plan.anchors, plan.input_size),
    )


def _resize_mode(plan: Plan) -> Any:
    return "letterbox" if plan.data.manifest.task == "detection" else "crop"


def _fit(plan: Plan, folder: Path, fingerprint: str) -> tuple[Any, dict[str, float]]:
    from . import input_pipeline
    from .checkpoint import Checkpoints

    checkpoints = Checkpoints(folder, fingerprint)
    with plan.where.strategy.scope():
        model = _build(plan)
        done = checkpoints.resume(model)
    if done:
        log.info("resuming after epoch %d of %d", done, plan.config.epochs)
    options = _inputs(plan)
    epochs = plan.config.epochs
    batches = input_pipeline.training(plan.data.shards("train"), options, plan.steps, done, epochs)
    held = plan.data.manifest.splits.get("val")
    validation = None
    if held is not None and held.examples:
        validation = input_pipeline.validation(plan.data.shards("val"), options, held.examples)
    started = time.perf_counter()
    with progress.bar("training", plan.steps * epochs, plan.steps * done) as bar:
        if done < epochs:
            model.fit(
                batches,
                epochs=epochs,
                initial_epoch=done,
                steps_per_epoch=plan.steps,
                validation_data=validation,
                shuffle=False,  # the input pipeline shuffles
                callbacks=[_watch(bar), checkpoints],
                verbose=0,
            )
    seconds = time.perf_counter() - started
    metrics = dict(checkpoints.history[-1]) if checkpoints.history else {}
    trained = plan.steps * plan.global_batch * (epochs - done)
    metrics |= {"epochs": float(epochs), "images_per_second": round(trained / seconds, 2), "seconds": round(seconds, 2)}
    return model, metrics


def _watch(bar: progress.Bar) -> Any:
    import keras
    import numpy as np

    class Watch(keras.callbacks.Callback):  # type: ignore[misc]  # keras has no types
        """Advances the bar, and stops training at a loss that is NaN or infinite."""

        def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
            loss = float((logs or {}).get("loss", 0.0))
            if not np.isfinite(loss):
                raise ConfigError(f"The loss is {loss} at step {batch} of this epoch.", "Lower train.learning_rate.")
            bar.advance(note=f"loss {loss:.3f}")

    return Watch()


def _card(plan: Plan, model: Any, metrics: dict[str, float], samples: tuple[bundle.Sample, ...]) -> bundle.ModelCard:
    data = plan.data.manifest
    return bundle.ModelCard(
        name=plan.config.name or data.name,
        task=data.task,
        classes=data.classes,
        vision=bundle.VisionSpec(
            plan.input_size,
            _resize_mode(plan),
            plan.config.backbone,
            plan.anchors,
            PostProcess() if plan.anchors is not None else None,
        ),
        parameters=int(model.count_params()),
        metrics=metrics,
        training=configs.dump(plan.config),
        records_digest=plan.data.digest,
        packages=_versions(),
        samples=samples,
    )


def _write(model: Any, card: bundle.ModelCard, samples: list[tuple[bundle.Sample, bytes]], folder: Path) -> None:
    from . import export

    with files.translate_os_errors(folder):
        export.saved_model(model, card, folder)
        (folder / bundle.SAMPLES).mkdir(exist_ok=True)
        for sample, data in samples:
            files.write_bytes(folder / bundle.SAMPLES / sample.file, data)
        bundle.write(card, folder)


def _samples(plan: Plan) -> list[tuple[bundle.Sample, bytes]]:
    """Returns labelled images that training did not see."""
    split = plan.data.manifest.split("test", "val", "train")
    samples = []
    for index, example in enumerate(islice(plan.data.examples(split), plan.config.samples)):
        labels = example.labels[example.crowd == 0] if example.label is None else [example.label]
        boxes = tuple(tuple(map(float, box)) for box in example.boxes[example.crowd == 0])
        name = f"{index:02d}.{'jpg' if example.format == 'jpeg' else 'png'}"
        samples.append((bundle.Sample(name, tuple(map(int, labels)), boxes), example.image))  # type: ignore[arg-type]
    return samples


def _versions() -> dict[str, str]:
    versions = {}
    for name in RECORDED_PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions
