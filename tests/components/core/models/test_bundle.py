"""The bundle: its card comes back as it went, and what would lead out of it is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from towpath.components.core.errors import BundleError, ConfigError
from towpath.components.core.models import bundle
from towpath.components.core.models.anchors import AnchorSpec
from towpath.components.core.models.bundle import ModelCard, Sample, Variant, VisionSpec
from towpath.components.core.models.detection import PostProcess

CARD = ModelCard(
    name="pets",
    task="detection",
    classes=("cat", "a dog, ünïcode"),
    vision=VisionSpec(64, "letterbox", "small", AnchorSpec(levels=(3, 4), ratios=(1.0,)), PostProcess(0.1, 0.4, 7, 9)),
    parameters=1234,
    metrics={"loss": 0.25},
    training={"epochs": 3, "name": None},
    records_digest="abc",
    packages={"keras": "3.15.0"},
    variants={"float32": Variant("litert", "model.tflite", 5, {"map": 0.5}), "int8": Variant("litert", "m", 2, {}, 9)},
    samples=(Sample("a.png", (0, 1), ((0.0, 0.25, 0.5, 1.0), (0.1, 0.2, 0.3, 0.4))), Sample("b.png", ())),
)
CLASSIFIER = ModelCard("digits", "classification", ("0", "1"), VisionSpec(32, "crop", "small"), 10)


def changed(folder: Path, **fields: Any) -> None:
    """Writes CARD with other fields; None removes one."""
    bundle.write(CARD, folder)
    path = folder / bundle.FILE
    value = {**json.loads(path.read_text()), **fields}
    path.write_text(json.dumps({key: item for key, item in value.items() if item is not None}))


@pytest.mark.parametrize("card", [CARD, CLASSIFIER], ids=lambda card: card.name)
def test_a_card_comes_back_as_it_went(tmp_path: Path, card: ModelCard) -> None:
    bundle.write(card, tmp_path)
    found = bundle.read(tmp_path)
    assert found.card == card
    assert found.folder == tmp_path
    assert bundle.read(str(tmp_path)) == found


def test_the_paths_of_a_bundle_lie_in_it(tmp_path: Path, tiny_models: ModuleType) -> None:
    found = bundle.read(tiny_models.detector(tmp_path / "a", samples=((b"image", Sample("one.png", (0,))),)))
    assert found.saved_model == tmp_path / "a" / "1"
    assert found.variant_file("float32") == tmp_path / "a" / "variants" / "float32" / "model.tflite"
    assert found.variant_file("float32").stat().st_size == found.card.variants["float32"].bytes
    assert found.sample_bytes(found.card.samples[0]) == b"image"


def test_a_samples_boxes_are_an_array_of_four_columns() -> None:
    assert CARD.samples[0].box_array.dtype == np.float32
    assert np.allclose(CARD.samples[0].box_array, [[0, 0.25, 0.5, 1], [0.1, 0.2, 0.3, 0.4]])
    assert CARD.samples[1].box_array.shape == (0, 4)


def test_the_digest_names_the_model_and_not_its_place(tmp_path: Path, tiny_models: ModuleType) -> None:
    one = bundle.read(tiny_models.classifier(tmp_path / "one"))
    other = bundle.read(tiny_models.classifier(tmp_path / "other"))
    assert one.digest == other.digest
    bundle.write(replace(other.card, training={"epochs": 2}), other.folder)
    assert one.digest != bundle.read(other.folder).digest


def test_an_unknown_variant_names_the_nearest(tmp_path: Path) -> None:
    bundle.write(CARD, tmp_path)
    with pytest.raises(ConfigError, match="int4") as raised:
        bundle.read(tmp_path).variant_file("int4")
    assert "'int8'" in str(raised.value.hint)


def test_a_bundle_without_variants_is_named(tmp_path: Path) -> None:
    bundle.write(CLASSIFIER, tmp_path)
    with pytest.raises(ConfigError) as raised:
        bundle.read(tmp_path).variant_file("int8")
    assert str(tmp_path) in raised.value.message
    assert "quantize" in str(raised.value.hint)


def test_a_folder_without_a_card_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(BundleError) as raised:
        bundle.read(tmp_path)
    assert str(tmp_path) in raised.value.message
    assert raised.value.hint


@pytest.mark.parametrize(
    "fields",
    [
        {"format_version": bundle.FORMAT_VERSION + 1},
        {"format_version": None},
        {"name": None},
        {"vision": None},
        {"vision": {"input_size": 64}},
        {
            "vision": {
                "input_size": 64,
                "resize_mode": "crop",
                "backbone": "s",
                "anchors": {"levels": [3]},
                "post": None,
            }
        },
        {"unheard_of": 1},
        {"variants": {"int8": {"engine": "litert"}}},
        {"samples": [{"file": "a.png"}]},
        {"samples": 3},
    ],
)
def test_a_card_that_does_not_fit_is_named(tmp_path: Path, fields: dict[str, Any]) -> None:
    changed(tmp_path, **fields)
    with pytest.raises(BundleError) as raised:
        bundle.read(tmp_path)
    assert str(tmp_path / bundle.FILE) in raised.value.message


@pytest.mark.parametrize("name", ["../a", "/etc/passwd", "a/b", "..", ".", "", "a/", "a/../b"])
@pytest.mark.parametrize("place", ["variant", "file", "sample"])
def test_a_path_that_leaves_its_folder_is_refused(tmp_path: Path, name: str, place: str) -> None:
    variant = {"engine": "litert", "file": "model.tflite", "bytes": 1, "metrics": {}, "calibration": 0}
    fields: dict[str, dict[str, Any]] = {
        "variant": {"variants": {name: variant}},
        "file": {"variants": {"int8": {**variant, "file": name}}},
        "sample": {"samples": [{"file": name, "labels": [], "boxes": []}]},
    }
    changed(tmp_path, **fields[place])
    with pytest.raises(BundleError) as raised:
        bundle.read(tmp_path)
    assert f"'{name}'" in raised.value.message
