"""Bad input: one clear message (what, where, what to do), and an exit code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_sets import annotate, image

from towpath.components.core.data import manifest
from towpath.components.core.errors import ConfigError, DataError, RetryError
from towpath.components.prepare.config import PrepareConfig
from towpath.components.prepare.prepare import prepare

SKIP = PrepareConfig(on_bad_image="skip")


def _refused(source: Path, config: PrepareConfig, *parts: str) -> None:
    """The step says all of `parts`, exits with 3 and leaves nothing behind."""
    out = source.parent / "refused"
    with pytest.raises(DataError) as raised:
        prepare(str(source), out, config)
    assert raised.value.exit_code == 3
    for part in parts:
        assert part in str(raised.value)
    assert not out.exists()
    assert not out.with_name("refused.partial").exists()


def test_missing_and_empty_folders(tmp_path: Path) -> None:
    _refused(tmp_path / "nowhere", PrepareConfig(), "nowhere", "does not exist", "digit-scenes")
    (tmp_path / "file").touch()
    _refused(tmp_path / "file", PrepareConfig(), "not a directory")
    (tmp_path / "empty").mkdir()
    _refused(tmp_path / "empty", PrepareConfig(), "the folder is empty", "Pascal VOC")
    for format_ in ("coco", "voc", "folders"):
        _refused(tmp_path / "empty", PrepareConfig(format=format_), str(tmp_path / "empty"))


def test_a_folder_of_no_known_format_is_described(tmp_path: Path) -> None:
    image(tmp_path / "loose" / "a.jpg")
    image(tmp_path / "loose" / "b.jpg")
    (tmp_path / "loose" / "labels.csv").write_text("a.jpg,cat")
    (tmp_path / "loose" / "more").mkdir()
    _refused(tmp_path / "loose", PrepareConfig(), "more/", "2 × .jpg", "1 × .csv")


def test_two_formats_at_once(coco: Path, tmp_path: Path) -> None:
    annotate(coco / "Annotations" / "0.xml")
    choices = "--set prepare.format=coco or --set prepare.format=voc"
    _refused(coco, PrepareConfig(), "COCO JSON (annotations", "Pascal VOC XML", choices)
    assert prepare(str(coco), tmp_path / "out", PrepareConfig(format="coco")).classes == ("dog", "cat")


def test_an_annotation_without_its_image(voc: Path, tmp_path: Path) -> None:
    (voc / "JPEGImages" / "07.jpg").unlink()
    _refused(voc, PrepareConfig(), "Annotations/07.xml", "no image '07'", "prepare.on_bad_image=skip")
    made = prepare(str(voc), tmp_path / "out", SKIP)
    assert [item.file for item in made.skipped] == ["Annotations/07.xml"]
    assert sum(split.examples for split in made.splits.values()) == 29


def test_a_coco_entry_without_its_image(coco: Path, tmp_path: Path) -> None:
    (coco / "val" / "1.jpg").unlink()
    _refused(coco, PrepareConfig(), "1.jpg", "annotations/instances_val.json lists this image", "val")
    assert prepare(str(coco), tmp_path / "out", SKIP).splits["val"].examples == 3


def test_an_unreadable_image(folders: Path, tmp_path: Path) -> None:
    whole = (folders / "cat" / "1.jpg").read_bytes()
    (folders / "cat" / "1.jpg").write_bytes(whole[: len(whole) // 2])
    (folders / "dog" / "0.jpg").write_bytes(b"")
    _refused(folders, PrepareConfig(), "prepare.on_bad_image=skip")
    made = prepare(str(folders), tmp_path / "out", SKIP)
    assert sorted(item.file for item in made.skipped) == ["cat/1.jpg", "dog/0.jpg"]
    assert any("0 bytes" in item.reason for item in made.skipped)
    assert manifest.read(tmp_path / "out").manifest == made


def test_nothing_readable_at_all(folders: Path) -> None:
    for path in folders.rglob("*.jpg"):
        path.write_bytes(b"no image")
    _refused(folders, SKIP, "no image of the split", "can be used")


def test_class_folders_that_differ(folders: Path) -> None:
    root = folders.parent / "split"
    shutil.copytree(folders, root / "train")
    shutil.copytree(folders, root / "val")
    shutil.move(root / "val" / "cat", root / "val" / "cats")
    _refused(root, PrepareConfig(), str(root / "train"), str(root / "val"), "cat, cats")


def test_categories_that_differ(coco: Path) -> None:
    path = coco / "annotations" / "instances_val.json"
    value = json.loads(path.read_text())
    value["categories"][0]["name"] = "lynx"
    path.write_text(json.dumps(value))
    _refused(coco, PrepareConfig(), "instances_train.json", "instances_val.json", "id 7: cat / lynx")


def test_a_class_that_is_never_trained(voc: Path) -> None:
    lists = voc / "ImageSets" / "Main"
    lists.mkdir(parents=True)
    (lists / "train.txt").write_text("00\n01\n")
    (lists / "val.txt").write_text("02\n")
    path = voc / "Annotations" / "02.xml"
    path.write_text(path.read_text().replace("<name>cat", "<name>Cat"))
    _refused(voc, PrepareConfig(), "02.xml", "class 'Cat'", "has cat")
    (lists / "val.txt").write_text("01\n")
    _refused(voc, PrepareConfig(), "train.txt", "val.txt", "'01' is listed twice")
    (lists / "val.txt").write_text("../../secret\n")
    _refused(voc, PrepareConfig(), "val.txt", "not a plain name")
    (lists / "val.txt").write_text("99\n")
    _refused(voc, PrepareConfig(), "Annotations/99.xml", "does not exist")


@pytest.mark.parametrize("name", ["../secret.jpg", "/etc/passwd", "C:\\secret.jpg", "..\\secret.jpg"])
def test_names_that_lead_out_of_the_folder(name: str, coco: Path) -> None:
    image(coco.parent / "secret.jpg")
    path = coco / "annotations" / "instances_val.json"
    value = json.loads(path.read_text())
    value["images"][0]["file_name"] = name
    path.write_text(json.dumps(value))
    _refused(coco, PrepareConfig(), "leads outside the folder", "instances_val.json")


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"images": [], "annotations": 5, "categories": []}',
        '{"images": [], "annotations": [], "categories": []}',
        '{"images": [1], "annotations": [], "categories": [{"id": 1, "name": "a"}]}',
        '{"images": [], "annotations": [], "categories": [{"id": 1}]}',
    ],
)
def test_json_that_is_not_cocos(content: str, coco: Path) -> None:
    path = coco / "annotations" / "instances_val.json"
    path.write_text(content + ' "images" "annotations" "categories"' if content in "{[]" else content)
    _refused(coco, PrepareConfig(format="coco"), "instances_val.json")


def test_faulty_coco_entries(shared_data: Path, tmp_path: Path) -> None:
    root = tmp_path / "faults"
    (root / "annotations").mkdir(parents=True)
    shutil.copy(shared_data / "messy_inputs/annotations/coco/made_here_mixed_faults.json", root / "annotations")
    (root / "images").symlink_to(shared_data / "coco256/train2017")
    _refused(root, PrepareConfig(), "made_here_mixed_faults.json")
    made = prepare(str(root), tmp_path / "out", SKIP)
    reasons = " ".join(item.reason for item in (*made.dropped_boxes, *made.skipped))
    for part in (
        "category 91",
        "outside its image",
        "no box of four numbers",
        "contains NaN or infinity",
        "has a duplicate id",
        "image 999999",
        "the id 9 of 'duplicate_id.jpg'",
        "lists this image",
    ):
        assert part in reasons
    assert sum(split.examples for split in made.splits.values()) == 3
    assert sum(sum(split.objects.values()) for split in made.splits.values()) == 12


def test_odd_voc_files(shared_data: Path, tmp_path: Path) -> None:
    root = tmp_path / "odd"
    shutil.copytree(shared_data / "messy_inputs/annotations/voc_made_here", root / "Annotations")
    made = prepare(str(root), tmp_path / "out", SKIP)
    skipped = {Path(item.file).name: item.reason for item in made.skipped}
    assert set(skipped) == {"entity_bomb.xml", "external_entity.xml", "gb2312_declared.xml", "unclosed.xml"}
    assert "entities" in skipped["entity_bomb.xml"]
    reasons = sorted(item.reason for item in made.dropped_boxes)
    assert len(reasons) == 3  # beyond_image, comma_decimal, nan_coord
    assert any("'81,5'" in reason for reason in reasons)
    clipped = prepare(str(root), tmp_path / "clip", PrepareConfig(on_bad_image="skip", on_bad_box="clip"))
    assert len(clipped.dropped_boxes) == 2


def test_bad_boxes_can_be_refused(voc: Path, tmp_path: Path) -> None:
    annotate(voc / "Annotations" / "03.xml", box=(5, 5, 5, 9))
    annotate(voc / "Annotations" / "04.xml", box=(-1, 0, 41, 30))  # slightly outside: clipped
    _refused(voc, PrepareConfig(on_bad_box="fail"), "03.jpg", "box 0 (x 5 to 5", "no area", "on_bad_box=drop")
    made = prepare(str(voc), tmp_path / "out", PrepareConfig())
    assert len(made.dropped_boxes) == 1
    examples = [e for split in made.splits for e in manifest.read(tmp_path / "out").examples(split)]
    assert next(e.boxes.tolist() for e in examples if "04" in e.source) == [[0, 0, 1, 1]]


def test_an_annotation_of_another_image(voc: Path) -> None:
    annotate(voc / "Annotations" / "03.xml", size=(400, 300))
    _refused(voc, PrepareConfig(), "03.jpg", "400×300", "40×30")


def test_files_for_the_same_split(coco: Path) -> None:
    shutil.copy(coco / "annotations" / "instances_val.json", coco / "annotations" / "instances_val_2.json")
    _refused(coco, PrepareConfig(), "instances_val_2.json", "not clear which splits")


def test_an_out_folder_of_something_else_is_left_alone(folders: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        prepare("digits", folders, PrepareConfig())
    assert raised.value.exit_code == 2
    assert len(list(folders.rglob("*.jpg"))) == 40


def test_a_full_disk_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        pytest.skip("needs the right to mount a small disk")
    try:
        with pytest.raises(RetryError, match="the disk is full") as raised:
            prepare("digit-scenes", disk / "out", PrepareConfig(scenes=200))
        assert raised.value.exit_code == 75
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(10**400),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_json_is_read_or_refused(data: st.DataObject, coco: Path) -> None:
    path = coco / "annotations" / "instances_val.json"
    whole = path.read_text()
    value = json.loads(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        entry = data.draw(st.sampled_from([entry for part in value.values() for entry in part]))
        entry[data.draw(st.sampled_from(sorted(entry)))] = data.draw(_JSON)
    path.write_text(json.dumps(value))
    try:
        prepare(str(coco), coco.parent / "out", SKIP)
    except DataError:
        pass
    finally:
        path.write_text(whole)


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_xml_is_read_or_refused(data: st.DataObject, voc: Path) -> None:
    path = voc / "Annotations" / "03.xml"
    whole = path.read_bytes()
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 6))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(damaged)
    try:
        prepare(str(voc), voc.parent / "out", SKIP)
    except DataError:
        pass
    finally:
        path.write_bytes(whole)


def test_names_that_are_not_utf8(folders: Path, tmp_path: Path) -> None:
    (folders / "cat").rename(folders / os.fsdecode(b"caf\xe9"))
    made = prepare(str(folders), tmp_path / "out", PrepareConfig())
    assert made.classes == ("caf?", "dog")
