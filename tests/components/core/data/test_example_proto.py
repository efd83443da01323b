"""tf.train.Example without TensorFlow: the bytes are those of TensorFlow's own definition."""

from __future__ import annotations

from google.protobuf import descriptor_pool
from hypothesis import given
from hypothesis import strategies as st

from towpath.components.core.data.example_proto import ExampleProto

_BYTES = st.lists(st.binary(max_size=8), max_size=4)
_FLOATS = st.lists(st.floats(width=32, allow_nan=False), max_size=4)
_INTS = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4)


@given(st.dictionaries(st.text(max_size=5), st.tuples(_BYTES, _FLOATS, _INTS), max_size=3))
def test_features_of_every_kind_come_back(features: dict[str, tuple[list[bytes], list[float], list[int]]]) -> None:
    example = ExampleProto()
    for name, (binary, floats, ints) in features.items():
        example.features.feature[f"b{name}"].bytes_list.value.extend(binary)
        example.features.feature[f"f{name}"].float_list.value.extend(floats)
        example.features.feature[f"i{name}"].int64_list.value.extend(ints)
    found = ExampleProto.FromString(example.SerializeToString()).features.feature
    for name, (binary, floats, ints) in features.items():
        assert list(found[f"b{name}"].bytes_list.value) == binary
        assert list(found[f"f{name}"].float_list.value) == floats
        assert list(found[f"i{name}"].int64_list.value) == ints


def test_the_bytes_follow_tensorflows_field_numbers() -> None:
    """Written out by hand: features = 1, map entry key = 1 and value = 2, bytes, floats, ints = 1, 2, 3, value = 1."""

    def within(number: int, data: bytes) -> bytes:
        return bytes([number << 3 | 2, len(data)]) + data

    lists = (
        (b"a", 1, within(1, b"xy")),
        (b"b", 2, within(1, b"\x00\x00\x80\x3f")),  # 1.0, packed
        (b"c", 3, within(1, b"\x05\x96\x01")),  # 5 and 150, packed
    )
    entries = [within(1, within(1, key) + within(2, within(kind, value))) for key, kind, value in lists]
    found = ExampleProto.FromString(within(1, b"".join(entries))).features.feature
    assert list(found["a"].bytes_list.value) == [b"xy"]
    assert list(found["b"].float_list.value) == [1.0]
    assert list(found["c"].int64_list.value) == [5, 150]
    again = ExampleProto()
    again.features.feature["c"].int64_list.value.extend([5, 150])
    assert again.SerializeToString() == within(1, entries[2])


def test_a_feature_is_of_one_kind() -> None:
    example = ExampleProto()
    example.features.feature["a"].bytes_list.value.append(b"x")
    example.features.feature["a"].int64_list.value.append(1)
    assert example.features.feature["a"].WhichOneof("kind") == "int64_list"
    assert not example.features.feature["a"].bytes_list.value


def test_it_stays_out_of_the_pool_where_tensorflows_lies() -> None:
    assert ExampleProto.DESCRIPTOR.file.pool is not descriptor_pool.Default()
    assert ExampleProto.DESCRIPTOR.full_name != "tensorflow.Example"
