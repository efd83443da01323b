"""Quantization: LiteRT variants of a bundle, each scored on the same split before it is added."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..core import files, progress
from ..core.data import images, manifest
from ..core.data.manifest import Records
from ..core.errors import BundleError, MissingError, RecordsError
from ..core.models import bundle
from ..core.models.bundle import Bundle, Variant
from ..core.models.engines import INPUT, RAW
from ..core.models.predictor import Predictor
from ..core.scoring.metrics import headline
from ..core.scoring.score import score
from .config import QuantizeConfig

LITERT_FILE = "model.tflite"
FLOAT32, INT8 = "float32", "int8"
BYTES_PER_WEIGHT = {FLOAT32: 4, INT8: 1}
# Batch normalisation is folded, so a valid file may be slightly smaller than its weights, but not half of them.
MIN_SIZE = 0.5


@dataclass(frozen=True)
class Quantized:
    """The result of quantization.

    Attributes:
        variants: name -> size and score, as in the new bundle's card.
    """

    variants: dict[str, Variant]

    @property
    def metrics(self) -> dict[str, float]:
        """Flat metrics: "int8_map50", "int8_megabytes" …"""
        figures = {}
        for name, variant in self.variants.items():
            main = headline(variant.metrics)
            figures[f"{name}_{main}"] = variant.metrics[main]
            figures[f"{name}_megabytes"] = round(variant.bytes / 1e6, 3)
        return figures

    @property
    def table(self) -> str:
        """A Markdown table."""
        main = headline(self.variants[FLOAT32].metrics)
        base = self.variants[FLOAT32].metrics[main]
        lines = [f"| variant | {main} | against float32 | MB |", "|---|---:|---:|---:|"]
        for name, variant in self.variants.items():
            value = variant.metrics[main]
            lines.append(f"| {name} | {value:.4f} | {value - base:+.4f} | {variant.bytes / 1e6:.2f} |")
        return "\n".join(lines) + "\n"


def quantize(records: Path, model: Path, out: Path, config: QuantizeConfig) -> Quantized:
    """Writes a bundle with LiteRT variants: float32, and full int8 with float32 in and out.

    Args:
        records: folder of the records; the training split calibrates, the test (or val) split scores.
        model: folder of the bundle, which is not changed.
        out: the new bundle's folder; it appears when all is done.
        config: see QuantizeConfig.

    Returns:
        The variants with their sizes and scores.

    Raises:
        BundleError: a variant that has no weights or returns NaN or infinity; nothing is written then.
        RecordsError: records that are damaged, or whose classes are not the model's.
        MissingError: TensorFlow is not installed.

    Source of the int8 scheme: Jacob et al. 2018, Quantization and Training of Neural Networks, section 2.
    """
    data, source = manifest.read(records), bundle.read(model)
    if data.manifest.classes != source.card.classes:
        raise RecordsError(
            "The records' classes are not the model's.", "Use the records that the model was trained on."
        )
    split = data.manifest.split(*([config.split] if config.split else ("test", "val")))
    work = files.partial(out)
    shutil.rmtree(work, ignore_errors=True)
    with files.translate_os_errors(work):
        shutil.copytree(source.folder, work, symlinks=False)
        for name, content in _convert(source, data, config).items():
            files.write_bytes(work / bundle.VARIANTS / name / LITERT_FILE, content)
    calibrated = {FLOAT32: 0, INT8: config.calibration}
    for name, calibration in calibrated.items():
        variant = _checked(Bundle(work, source.card), name, data, split)
        source = _with_variant(source, name, dataclasses.replace(variant, calibration=calibration))
        bundle.write(source.card, work)
    files.publish(work, out)
    return Quantized(source.card.variants)


def _convert(source: Bundle, data: Records, config: QuantizeConfig) -> dict[str, bytes]:
    try:
        import tensorflow as tf
    except ImportError as error:
        raise MissingError("TensorFlow is not installed.", "Install towpath[train].") from error
    side = source.card.vision.input_size
    loaded = tf.saved_model.load(str(source.saved_model))
    raw = loaded.signatures[RAW]
    # A fixed batch size of one: with a dynamic one the graph has shape arithmetic that fast kernels do not support.
    spec = tf.TensorSpec([1, side, side, 3], tf.float32, name=INPUT)
    one = tf.function(lambda image: raw(image=image), input_signature=[spec]).get_concrete_function()

    def sample() -> Iterator[list[Any]]:
        with progress.bar("calibrating int8", config.calibration) as bar:
            for example in islice(data.examples("train"), config.calibration):
                decoded, size = images.decode(example.image, side, source.card.vision.resize_mode)
                yield [images.fit_to(decoded, size, side, source.card.vision.resize_mode)[0][None]]
                bar.advance()

    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(loaded, folder, signatures={RAW: one})

        def convert(prepare: Any) -> bytes:
            converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=[RAW])
            prepare(converter)
            with contextlib.redirect_stdout(io.StringIO()):  # the converter prints its file names
                content: bytes = converter.convert()
            return content

        def int8(converter: Any) -> None:
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
            converter.representative_dataset = sample
            converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]

        return {FLOAT32: convert(lambda _: None), INT8: convert(int8)}


def _checked(work: Bundle, name: str, data: Records, split: str) -> Variant:
    """Scores a variant.

    Raises:
        BundleError: it has no weights, or returns NaN or infinity.
    """
    file = work.folder / bundle.VARIANTS / name / LITERT_FILE
    size = file.stat().st_size
    expected = work.card.parameters * BYTES_PER_WEIGHT[name]
    if size < expected * MIN_SIZE:
        raise BundleError(
            f"Variant {name} has {size:,} bytes, its {work.card.parameters:,} weights need about {expected:,}: "
            "it was converted without weights."
        )
    candidate = _with_variant(work, name, _litert(size, {}))
    predictor = Predictor(candidate, name)
    for sample in work.card.samples:
        outputs = predictor.engine(predictor.prepare(work.sample_bytes(sample)).image[None])
        for output, values in outputs.items():
            if not np.isfinite(values).all():
                raise BundleError(f"Variant {name} returns NaN or infinity in '{output}' for sample {sample.file}.")
    return _litert(size, score(predictor, data, split, f"scoring {name}").metrics)


def _litert(size: int, metrics: dict[str, float]) -> Variant:
    return Variant("litert", LITERT_FILE, size, metrics)


def _with_variant(source: Bundle, name: str, variant: Variant) -> Bundle:
    card = dataclasses.replace(source.card, variants={**source.card.variants, name: variant})
    return Bundle(source.folder, card)
