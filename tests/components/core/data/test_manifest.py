"""The manifest of a set of records: it comes back as it went, and shards that do not fit it are named."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from towpath.components.core.data import manifest, records
from towpath.components.core.data.manifest import Manifest, Shard, Skipped, Split
from towpath.components.core.data.records import Example
from towpath.components.core.errors import RecordsError

CLASSES = ("cat", "dog")


def shard(folder: Path, name: str, sources: list[str]) -> Shard:
    """A real shard of one-byte images, one a source."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for source in sources:
            records.write_record(file, records.to_bytes(Example(b"x", 3, 4, source, label=0), CLASSES))
    data = path.read_bytes()
    return Shard(name, len(sources), len(data), hashlib.sha256(data).hexdigest())


@pytest.fixture
def pets(tmp_path: Path) -> Manifest:
    """Written to `tmp_path`: three images to train with, in two shards, one to test with, none to validate with."""
    made = Manifest(
        name="pets",
        task="classification",
        classes=CLASSES,
        splits={
            "train": Split(
                (shard(tmp_path, "train-0", ["a", "b"]), shard(tmp_path, "deep/train-1", ["c"])), 3, {"cat": 3}
            ),
            "val": Split((), 0, {}),
            "test": Split((shard(tmp_path, "test-0", ["d"]),), 1, {"cat": 1}),
        },
        skipped=(Skipped("e.png", "empty"),),
        dropped_boxes=(Skipped("a.png", "no area"),),
        source={"format": "folders"},
        config={"seed": 3, "format": "auto"},
        horizontal_flip=False,
    )
    manifest.write(made, tmp_path)
    return made


def changed(folder: Path, **fields: Any) -> None:
    """Rewrites fields of the manifest in `folder`; None removes one."""
    path = folder / manifest.FILE
    value = {**json.loads(path.read_text()), **fields}
    path.write_text(json.dumps({key: item for key, item in value.items() if item is not None}))


def test_a_manifest_comes_back_as_it_went(tmp_path: Path, pets: Manifest) -> None:
    found = manifest.read(tmp_path)
    assert found.manifest == pets
    assert found.folder == tmp_path
    assert manifest.read(str(tmp_path)) == found


def test_examples_come_in_the_shards_order_up_to_the_limit(tmp_path: Path, pets: Manifest) -> None:
    found = manifest.read(tmp_path)
    assert found.shards("train") == [tmp_path / "train-0", tmp_path / "deep" / "train-1"]
    for limit, sources in ((None, "abc"), (9, "abc"), (3, "abc"), (2, "ab"), (1, "a"), (0, "")):
        assert "".join(example.source for example in found.examples("train", limit)) == sources
    assert list(found.examples("val")) == []


def test_a_shard_may_lie_elsewhere(tmp_path: Path, pets: Manifest) -> None:
    elsewhere = shard(tmp_path, "elsewhere/shard", ["f"])
    absolute = replace(elsewhere, path=str(tmp_path / "elsewhere" / "shard"))
    manifest.write(replace(pets, splits={"test": Split((absolute,), 1, {"cat": 1})}), tmp_path / "other")
    assert [example.source for example in manifest.read(tmp_path / "other").examples("test")] == ["f"]


def test_the_digest_names_the_content(tmp_path: Path, pets: Manifest) -> None:
    first = manifest.read(tmp_path).digest
    manifest.write(pets, tmp_path)
    assert manifest.read(tmp_path).digest == first
    manifest.write(replace(pets, horizontal_flip=True), tmp_path)
    assert manifest.read(tmp_path).digest != first


def test_the_first_named_split_with_examples_is_taken(pets: Manifest) -> None:
    assert pets.split("test", "train") == "test"
    assert pets.split("val", "test") == "test"
    assert pets.split("none", "train") == "train"


def test_where_no_named_split_has_examples_those_that_have_are_named(pets: Manifest) -> None:
    with pytest.raises(RecordsError, match=r"pets.*\bval\b.*train, test"):
        pets.split("val")
    with pytest.raises(RecordsError, match="none"):
        replace(pets, splits={"val": Split((), 0, {})}).split("val")


def test_a_missing_shard_is_named(tmp_path: Path, pets: Manifest) -> None:
    (tmp_path / "deep" / "train-1").unlink()
    with pytest.raises(RecordsError) as raised:
        manifest.read(tmp_path)
    assert str(tmp_path / "deep" / "train-1") in raised.value.message


def test_a_shard_of_another_size_is_named_with_both_sizes(tmp_path: Path, pets: Manifest) -> None:
    size = pets.splits["test"].shards[0].bytes
    with (tmp_path / "test-0").open("ab") as file:
        file.write(b"more")
    with pytest.raises(RecordsError) as raised:
        manifest.read(tmp_path)
    for what in (str(tmp_path / "test-0"), f"{size + 4}", f"{size}"):
        assert what in raised.value.message


def test_a_folder_without_a_manifest_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(RecordsError) as raised:
        manifest.read(tmp_path)
    assert str(tmp_path) in raised.value.message
    assert raised.value.hint


@pytest.mark.parametrize(
    "fields",
    [
        {"format_version": manifest.FORMAT_VERSION + 1},
        {"format_version": None},
        {"classes": None},
        {"skipped": None},
        {"unheard_of": 1},
        {"splits": {"train": {"shards": [{"path": "a"}], "examples": 1, "objects": {}}}},
        {"splits": {"train": {"examples": 1, "objects": {}}}},
        {"skipped": [3]},
    ],
)
def test_a_manifest_that_does_not_fit_is_named(tmp_path: Path, pets: Manifest, fields: dict[str, Any]) -> None:
    changed(tmp_path, **fields)
    with pytest.raises(RecordsError) as raised:
        manifest.read(tmp_path)
    assert str(tmp_path / manifest.FILE) in raised.value.message
