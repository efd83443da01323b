"""The bundle: a trained model with everything that a server needs.

model.json         task, classes, input, anchors, post-processing, training, digests: everything but the weights
1/                 a SavedModel in TensorFlow Serving's layout
variants/NAME/     the file of a smaller or faster variant
samples/           a few images with known answers, for checks and the demo page
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import config, files
from ..data import images
from ..data.boxes import Boxes
from ..errors import BundleError, ConfigError
from ..task import Task
from .anchors import AnchorSpec
from .detection import PostProcess

FILE = "model.json"
FORMAT_VERSION = 1
SAVED_MODEL = "1"
VARIANTS = "variants"
SAMPLES = "samples"


@dataclass(frozen=True)
class Variant:
    """A smaller or faster variant of the model.

    Attributes:
        engine: what runs it, a name of `engines.ENGINES` ("litert").
        file: its file in variants/NAME/.
        bytes: size of the file.
        metrics: its scores on the split that the evaluation used.
        calibration: number of calibration examples; 0 where it needs none.
    """

    engine: str
    file: str
    bytes: int
    metrics: dict[str, float]
    calibration: int = 0


@dataclass(frozen=True)
class Sample:
    """An image with a known answer. Boxes are relative, labels index the classes."""

    file: str
    labels: tuple[int, ...]
    boxes: tuple[tuple[float, float, float, float], ...] = ()

    @property
    def box_array(self) -> Boxes:
        """[N, 4] float32, relative."""
        return np.array(self.boxes, np.float32).reshape(-1, 4)


@dataclass(frozen=True)
class VisionSpec:
    """The part of a model card that is specific to vision models.

    Attributes:
        input_size: side of its square input, pixels; the model takes float32 [N, side, side, 3] in 0..255.
        resize_mode: how an image is fitted into that square, see `images.fit_to`.
        backbone: its name in TrainConfig.
        anchors: of a detector; None for a classifier.
        post: a detector's post-processing; None for a classifier.
    """

    input_size: int
    resize_mode: images.ResizeMode
    backbone: str
    anchors: AnchorSpec | None = None
    post: PostProcess | None = None


@dataclass(frozen=True)
class ModelCard:
    """Everything in model.json.

    Attributes:
        name: of the model, as the registry and the server's routes call it.
        task: what it predicts.
        classes: names; a label is an index into them.
        vision: what is specific to vision models.
        parameters: number of weights.
        precision: of the SavedModel's weights.
        metrics: of training (loss, epochs, images/s …).
        training: the config that trained it.
        records_digest: identifies the content of the records.
        packages: package -> version that it was trained with.
        variants: smaller or faster variants, by name.
        samples: images with known answers.
        format_version: of model.json.
    """

    name: str
    task: Task
    classes: tuple[str, ...]
    vision: VisionSpec
    parameters: int
    precision: str = "float32"
    metrics: dict[str, float] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    records_digest: str = ""
    packages: dict[str, str] = field(default_factory=dict)
    variants: dict[str, Variant] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()
    format_version: int = FORMAT_VERSION


@dataclass(frozen=True)
class Bundle:
    """A bundle's card and its folder."""

    folder: Path
    card: ModelCard

    @property
    def digest(self) -> str:
        """sha256 of all its files: the same digest is the same model."""
        return files.tree_digest(self.folder)

    @property
    def saved_model(self) -> Path:
        """The SavedModel's folder."""
        return self.folder / SAVED_MODEL

    def variant_file(self, name: str) -> Path:
        """Returns the file of a variant.

        Raises:
            ConfigError: the bundle has no such variant; the message names the nearest.
        """
        if name not in self.card.variants:
            if not self.card.variants:
                raise ConfigError(
                    f"The bundle {self.folder} has no variants.", "Create some with `towpath run quantize`."
                )
            raise ConfigError(f"The bundle has no variant '{name}'.", config.nearest(name, self.card.variants))
        return self.folder / VARIANTS / name / self.card.variants[name].file

    def sample_bytes(self, sample: Sample) -> bytes:
        """Returns the encoded image of a sample."""
        return (self.folder / SAMPLES / sample.file).read_bytes()


def write(card: ModelCard, folder: Path) -> None:
    """Writes model.json into a bundle's folder."""
    files.write_json(folder / FILE, dataclasses.asdict(card))


def read(folder: str | Path) -> Bundle:
    """Reads a bundle's card.

    Raises:
        BundleError: no bundle, another format version, a field that is missing or wrong, or a path outside the bundle.
    """
    folder = Path(folder)
    hint = "Pass the model folder that `towpath run train` wrote."
    card = files.read_versioned(folder / FILE, FORMAT_VERSION, _card, BundleError, hint)
    files_of_variants = (variant.file for variant in card.variants.values())
    for name in (*card.variants, *files_of_variants, *(sample.file for sample in card.samples)):
        if Path(name).name != name or name in ("", ".", ".."):
            raise BundleError(f"{folder / FILE}: '{name}' is not a plain file name.")
    return Bundle(folder, card)


def _card(value: Mapping[str, Any]) -> ModelCard:
    samples = tuple(
        Sample(item["file"], tuple(item["labels"]), tuple(tuple(box) for box in item["boxes"]))
        for item in value["samples"]
    )
    return ModelCard(
        **{
            **value,
            "classes": tuple(value["classes"]),
            "vision": _vision(value["vision"]),
            "variants": {name: Variant(**variant) for name, variant in value["variants"].items()},
            "samples": samples,
        }
    )


def _vision(value: Mapping[str, Any]) -> VisionSpec:
    anchors, post = value["anchors"], value["post"]
    if anchors:
        anchors = AnchorSpec(
            tuple(anchors["levels"]), anchors["size"], tuple(anchors["scales"]), tuple(anchors["ratios"])
        )
    return VisionSpec(**{**value, "anchors": anchors, "post": PostProcess(**post) if post else None})
