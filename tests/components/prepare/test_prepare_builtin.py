"""The sets that need no download."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from towpath.components.core.config import load
from towpath.components.core.data import manifest
from towpath.components.core.data.boxes import areas, pairwise_iou
from towpath.components.core.errors import ConfigError
from towpath.components.prepare.config import PrepareConfig
from towpath.components.prepare.prepare import prepare
from towpath.components.prepare.readers import builtin

SMALL = PrepareConfig(scenes=120)


def test_digits_are_all_there(tmp_path: Path) -> None:
    made = prepare("digits", tmp_path / "out", PrepareConfig())
    assert (made.name, made.task, made.classes) == ("digits", "classification", tuple("0123456789"))
    assert sum(split.examples for split in made.splits.values()) == 1797
    assert all(len(split.shards) == 4 and min(split.objects.values()) > 10 for split in made.splits.values())
    example = next(manifest.read(tmp_path / "out").examples("test"))
    assert (example.format, example.height, example.width) == ("png", 32, 32)
    assert example.label is not None
    assert f"/{example.label}-" in example.source


def test_scenes_hold_digits_that_can_be_seen(tmp_path: Path) -> None:
    made = prepare("digit-scenes", tmp_path / "out", SMALL)
    assert made.task == "detection"
    assert {name: split.examples for name, split in made.splits.items()} == {"train": 100, "val": 10, "test": 10}
    assert len(made.splits["train"].shards) == 4
    for example in manifest.read(tmp_path / "out").examples("train"):
        assert 1 <= len(example.boxes) == len(example.labels) <= 6
        assert ((example.boxes >= 0) & (example.boxes <= 1)).all()
        assert (areas(example.boxes * 160) > 50).all()
        assert pairwise_iou(example.boxes, example.boxes)[~np.eye(len(example.boxes), dtype=bool)].max(initial=0) < 0.1
        grey = np.asarray(Image.open(io.BytesIO(example.image)).convert("L"), np.float32)
        for y_min, x_min, y_max, x_max in (example.boxes * 160).round().astype(int):
            assert grey[y_min:y_max, x_min:x_max].max() > np.median(grey) + 20


def test_boxes_are_tight_around_the_ink() -> None:
    ink = np.zeros((8, 8), np.float32)
    ink[2:5, 3:4] = 1
    assert builtin._Placed(1, ink, 10, 20).box_px == (12, 23, 15, 24)


def test_no_digit_is_in_two_splits() -> None:
    seen = {split: {ink.tobytes() for _, ink in digits} for split, digits in builtin._digits().items()}
    assert not seen["train"] & seen["val"]
    assert not seen["train"] & seen["test"]
    assert not seen["val"] & seen["test"]


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        prepare("digit-scenes", tmp_path / name, PrepareConfig(scenes=60, seed=seed))
    digests = [manifest.read(tmp_path / name).digest for name in "abc"]
    assert digests[0] == digests[1] != digests[2]
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_a_wrong_setting_is_named() -> None:
    with pytest.raises(ConfigError, match=r"Unknown setting 'prepare.scene'. Did you mean 'scenes'") as raised:
        load(PrepareConfig, {"scene": 5}, "prepare")
    assert raised.value.exit_code == 2
    with pytest.raises(ConfigError, match=r"'scenes' is 3: it must be at least 20"):
        load(PrepareConfig, {"scenes": 3}, "prepare")


def test_it_needs_no_tensorflow() -> None:
    code = "import sys; import towpath.components.prepare.prepare; assert 'tensorflow' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_component_runs_the_step(tmp_path: Path) -> None:
    from kfp.dsl import Dataset

    from towpath.components.prepare.component import prepare as component

    records = Dataset(uri=str(tmp_path / "records"))
    component.python_func(records=records, data="digit-scenes", config={"scenes": 24.0})
    assert records.metadata["train_examples"] == manifest.read(tmp_path / "records").manifest.splits["train"].examples
    assert records.metadata["task"] == "detection"


@pytest.mark.parametrize("name", ["digits", "digit-scenes"])
def test_the_manifest_says_that_digits_must_not_be_mirrored(name: str, tmp_path: Path) -> None:
    assert not prepare(name, tmp_path / "out", PrepareConfig(scenes=20)).horizontal_flip
