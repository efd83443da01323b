"""Records: what is written is what is read, by us and by TensorFlow; what is damaged is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.components.core.data import records
from towpath.components.core.data.records import Example
from towpath.components.core.errors import RecordsError

CLASSES = ("cat", "dog", "a name with spaces, ünïcode")
_SIDES = st.floats(0, 1, width=32)


@st.composite
def _detections(draw: st.DrawFn) -> Example:
    count = draw(st.integers(0, 5))
    return Example(
        image=draw(st.binary(min_size=1, max_size=50)),
        height=draw(st.integers(1, 2**31)),
        width=draw(st.integers(1, 2**31)),
        source=draw(st.text(max_size=10)),
        boxes=np.array([[draw(_SIDES) for _ in range(4)] for _ in range(count)], np.float32).reshape(-1, 4),
        labels=np.array([draw(st.integers(0, 2)) for _ in range(count)], np.int64),
        crowd=np.array([draw(st.integers(0, 1)) for _ in range(count)], np.int64),
        area=np.array([draw(st.floats(0, 1e9, width=32)) for _ in range(count)], np.float32),
        source_id=draw(st.text(min_size=1, max_size=10)),
    )


def _same(a: Example, b: Example) -> None:
    for name in ("image", "height", "width", "source", "label", "source_id"):
        assert getattr(a, name) == getattr(b, name)
    for name in ("boxes", "labels", "crowd", "area"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@given(_detections())
def test_a_detection_comes_back_as_it_went(example: Example) -> None:
    data = records.to_bytes(example, CLASSES)
    assert data == records.to_bytes(example, CLASSES)
    _same(records.from_bytes(data, "here"), example)


@given(st.integers(0, 2), st.binary(min_size=1))
def test_a_labelled_image_comes_back_as_it_went(label: int, image: bytes) -> None:
    example = Example(image, 3, 4, "a.png", label, source_id="7")
    _same(records.from_bytes(records.to_bytes(example, CLASSES), "here"), example)


def _shard(path: Path, payloads: list[bytes]) -> Path:
    with path.open("wb") as file:
        assert sum(records.write_record(file, data) for data in payloads) == sum(len(data) + 16 for data in payloads)
    return path


PAYLOADS = [b"", b"one", bytes(range(256)) * 500]


def test_a_shard_comes_back_as_it_went(tmp_path: Path) -> None:
    assert list(records.read_records(_shard(tmp_path / "a", PAYLOADS))) == PAYLOADS
    assert list(records.read_records(_shard(tmp_path / "empty", []))) == []


def test_every_flipped_bit_is_found(tmp_path: Path) -> None:
    whole = _shard(tmp_path / "a", [b"first", b"second"]).read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        (tmp_path / "a").write_bytes(damaged)
        with pytest.raises(RecordsError, match=r"a: record [01]"):
            list(records.read_records(tmp_path / "a"))


def test_every_cut_is_found(tmp_path: Path) -> None:
    whole = _shard(tmp_path / "a", [b"first", b"second"]).read_bytes()
    for length in set(range(1, len(whole))) - {16 + len(b"first")}:
        (tmp_path / "a").write_bytes(whole[:length])
        with pytest.raises(RecordsError, match="truncated"):
            list(records.read_records(tmp_path / "a"))


def test_what_is_no_example_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordsError, match=r"a: record 0: not a tf.train.Example"):
        list(records.read_examples(_shard(tmp_path / "a", [b"\xff\xff"])))
    with pytest.raises(RecordsError, match="no 'image/encoded'"):
        list(records.read_examples(_shard(tmp_path / "b", [b""])))
    with pytest.raises(RecordsError, match="cannot be opened"):
        list(records.read_examples(tmp_path / "nowhere"))


@pytest.mark.slow
def test_tensorflow_reads_and_writes_the_same(tmp_path: Path) -> None:
    import tensorflow as tf

    example = Example(
        b"image",
        3,
        4,
        "a.jpg",
        boxes=np.array([[0.1, 0.2, 0.3, 0.4]], np.float32),
        labels=np.array([2]),
        crowd=np.array([1]),
        area=np.array([5], np.float32),
    )
    data = records.to_bytes(example, CLASSES)
    ours = _shard(tmp_path / "ours", [*PAYLOADS, data])
    read = [item.numpy() for item in tf.data.TFRecordDataset(str(ours))]
    assert read == [*PAYLOADS, data]
    feature = tf.train.Example.FromString(read[-1]).features.feature
    assert list(feature["image/object/class/label"].int64_list.value) == [3]
    assert feature["image/object/class/text"].bytes_list.value[0].decode() == CLASSES[2]
    np.testing.assert_allclose(feature["image/object/bbox/xmin"].float_list.value, [0.2], rtol=1e-6)
    with tf.io.TFRecordWriter(str(tmp_path / "theirs")) as writer:
        for payload in read:
            writer.write(payload)
    assert (tmp_path / "theirs").read_bytes() == ours.read_bytes()
