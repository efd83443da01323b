"""Real data of each format, and small sets whose answer is known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tiny_sets import annotate, image

from towpath.components.core.data import manifest
from towpath.components.core.data.records import Example
from towpath.components.core.files import tree_digest
from towpath.components.prepare.config import PrepareConfig
from towpath.components.prepare.prepare import prepare
from towpath.components.prepare.splits import named


def _examples(out: Path) -> dict[str, Example]:
    read = manifest.read(out)
    return {example.source: example for split in read.manifest.splits for example in read.examples(split)}


def test_bccd(shared_data: Path, tmp_path: Path) -> None:
    made = prepare(str(shared_data / "bccd"), tmp_path / "out", PrepareConfig())
    assert (made.name, made.source["format"], made.classes) == ("bccd", "Pascal VOC", ("Platelets", "RBC", "WBC"))
    assert {name: split.examples for name, split in made.splits.items()} == {"train": 205, "val": 87, "test": 72}
    assert sum(sum(split.objects.values()) for split in made.splits.values()) == 4888 - 2
    assert sorted(Path(item.file).stem for item in made.dropped_boxes) == ["BloodImage_00338", "BloodImage_00343"]
    assert all("has no area" in item.reason for item in made.dropped_boxes)
    for source, example in _examples(tmp_path / "out").items():
        assert example.image == (shared_data / "bccd" / source).read_bytes()


def test_coco256(shared_data: Path, tmp_path: Path) -> None:
    made = prepare(str(shared_data / "coco256"), tmp_path / "out", PrepareConfig())
    assert (made.source["format"], len(made.classes), made.classes[0], made.classes[79]) == (
        "COCO JSON",
        80,
        "person",
        "toothbrush",
    )
    assert {name: split.examples for name, split in made.splits.items()} == {"train": 128, "val": 128}
    assert [sum(split.objects.values()) for split in made.splits.values()] == [939, 898]
    read = manifest.read(tmp_path / "out")
    train = {int(example.source_id): example for example in read.examples("train")}
    assert sum(int(example.crowd.sum()) for example in train.values()) == 10
    assert sum(len(example.boxes) == 0 for example in train.values()) == 2
    truth = json.loads((shared_data / "coco256/annotations/instances_train2017.json").read_text())
    names = {entry["id"]: entry["name"] for entry in truth["categories"]}
    for key, example in train.items():
        wanted = [entry for entry in truth["annotations"] if entry["image_id"] == key]
        assert [made.classes[label] for label in example.labels] == [names[entry["category_id"]] for entry in wanted]
        sides = np.array([example.height, example.width] * 2, np.float32)
        xywh = np.array([entry["bbox"] for entry in wanted], np.float32).reshape(-1, 4)
        yxyx = np.concatenate([xywh[:, 1::-1], xywh[:, 1::-1] + xywh[:, :1:-1]], axis=1)
        np.testing.assert_allclose(example.boxes * sides, yxyx, atol=0.02)
        np.testing.assert_allclose(example.area, [entry["area"] for entry in wanted], rtol=1e-5)


def test_flowers(shared_data: Path, tmp_path: Path) -> None:
    made = prepare(str(shared_data / "flowers"), tmp_path / "out", PrepareConfig())
    assert (made.task, made.source["format"]) == ("classification", "one folder per class")
    assert made.classes == ("daisy", "dandelion", "roses", "sunflowers", "tulips")
    assert made.splits["train"].objects == dict.fromkeys(made.classes, 80)
    assert made.splits["val"].objects == dict.fromkeys(made.classes, 20)
    for source, example in _examples(tmp_path / "out").items():
        assert source.split("/")[1] == made.classes[example.label if example.label is not None else -1]


def test_voc_and_coco_of_the_same_images_agree(shared_data: Path, tmp_path: Path) -> None:
    toy = shared_data / "metric_golden/toy_8_formats"
    (tmp_path / "voc").mkdir()
    (tmp_path / "coco").mkdir()
    for link, target in (
        ("voc/Annotations", toy / "gts/pascalvoc_format"),
        ("voc/JPEGImages", toy / "images"),
        ("coco/annotations", toy / "gts/coco_format_v2"),
        ("coco/images", toy / "images"),
    ):
        (tmp_path / link).symlink_to(target)
    made = {}
    for name in ("voc", "coco"):
        made[name] = prepare(str(tmp_path / name), tmp_path / f"{name}-out", PrepareConfig())
        assert sum(sum(split.objects.values()) for split in made[name].splits.values()) == 273
    assert set(made["voc"].classes) == {*made["coco"].classes}
    voc, coco = _examples(tmp_path / "voc-out"), _examples(tmp_path / "coco-out")
    assert len(voc) == len(coco) == 100
    for source, example in voc.items():
        other = coco[source.replace("JPEGImages", "images")]
        first = sorted(
            (made["voc"].classes[label], *box)
            for label, box in zip(example.labels, example.boxes.tolist(), strict=True)
        )
        second = sorted(
            (made["coco"].classes[label], *box) for label, box in zip(other.labels, other.boxes.tolist(), strict=True)
        )
        assert [item[0] for item in first] == [item[0] for item in second]
        np.testing.assert_allclose([item[1:] for item in first], [item[1:] for item in second], atol=1e-6)


def test_sparse_ids_become_classes_in_order(coco: Path, tmp_path: Path) -> None:
    made = prepare(str(coco), tmp_path / "out", PrepareConfig())
    assert made.classes == ("dog", "cat")
    example = _examples(tmp_path / "out")["train/0.jpg"]
    assert (example.labels.tolist(), example.area.tolist(), example.source_id) == ([1], [150], "0")
    np.testing.assert_allclose(example.boxes, [[0.1, 0.1, 0.6, 0.6]], atol=1e-6)
    assert len(_examples(tmp_path / "out")["val/3.jpg"].boxes) == 0


def test_without_splits_the_content_decides(folders: Path, tmp_path: Path) -> None:
    first = prepare(str(folders), tmp_path / "first", PrepareConfig())
    assert first.source["splits"].startswith("by content")
    assert set(first.splits) == {"train", "val", "test"}
    before = {
        source: split
        for split in first.splits
        for source in [example.source for example in manifest.read(tmp_path / "first").examples(split)]
    }
    for seed in range(100, 110):
        image(folders / "cat" / f"new-{seed}.jpg", seed=seed)
    (folders / "dog" / "copy.jpg").write_bytes((folders / "dog" / "0.jpg").read_bytes())
    prepare(str(folders), tmp_path / "second", PrepareConfig())
    read = manifest.read(tmp_path / "second")
    after = {example.source: split for split in read.manifest.splits for example in read.examples(split)}
    assert before.items() <= after.items()
    assert after["dog/copy.jpg"] == after["dog/0.jpg"]


def test_the_same_input_gives_the_same_bytes(voc: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        prepare(str(voc), tmp_path / name, PrepareConfig())
    assert tree_digest(tmp_path / "a") == tree_digest(tmp_path / "b")
    prepare(str(voc), tmp_path / "a", PrepareConfig(seed=1))  # replaces what was there
    assert tree_digest(tmp_path / "a") != tree_digest(tmp_path / "b")


def test_large_splits_are_cut_by_size(folders: Path, tmp_path: Path) -> None:
    made = prepare(str(folders), tmp_path / "out", PrepareConfig(shard_mb=0.01, min_shards=1))
    assert len(made.splits["train"].shards) > 4
    assert sum(shard.examples for shard in made.splits["train"].shards) == made.splits["train"].examples


def test_split_lists_and_lists_of_trainval(voc: Path, tmp_path: Path) -> None:
    lists = voc / "ImageSets" / "Main"
    lists.mkdir(parents=True)
    (lists / "trainval.txt").write_text("\n".join(f"{number:02d}" for number in range(20)))
    (lists / "test.txt").write_text("\n".join(f"{number:02d}" for number in range(20, 25)) + "\n")
    made = prepare(str(voc), tmp_path / "out", PrepareConfig())
    assert {name: split.examples for name, split in made.splits.items()} == {"train": 20, "test": 5}


def test_boxes_turn_with_an_image_that_was_annotated_unturned(tmp_path: Path) -> None:
    for orientation in (1, 5, 6, 7, 8):
        root = tmp_path / str(orientation)
        for size, name in (((40, 30), "stored"), ((30, 40), "shown")):
            image(root / f"{name}.jpg", orientation=orientation)
            annotate(root / f"{name}.xml", box=(4, 3, 24, 18), size=size if orientation > 1 else (40, 30))
        prepare(str(root), root.with_suffix(".out"), PrepareConfig())
        examples = _examples(root.with_suffix(".out"))
        shown, stored = examples["shown.jpg"], examples["stored.jpg"]
        wanted = {
            1: (3, 4, 18, 24),
            5: (4, 3, 24, 18),
            6: (4, 30 - 18, 24, 30 - 3),
            7: (40 - 24, 30 - 18, 40 - 4, 30 - 3),
            8: (40 - 24, 3, 40 - 4, 18),
        }[orientation]
        sides = np.array([stored.height, stored.width] * 2)
        np.testing.assert_allclose(stored.boxes[0] * sides, wanted, atol=1e-4)
        np.testing.assert_allclose(shown.boxes[0] * sides, (3, 4, 18, 24), atol=1e-4)


@pytest.mark.parametrize(
    ("name", "splits"),
    [
        ("instances_train2017", {"train"}),
        ("instances_val2017_from_yolo", {"val"}),
        ("valid", {"val"}),
        ("Test", {"test"}),
        ("latest", set()),
        ("evaluation", set()),
        ("train_and_val", {"train", "val"}),
    ],
)
def test_splits_are_read_from_names(name: str, splits: set[str]) -> None:
    assert named(name) == splits
