"""tf.train.Example as a protobuf message, without TensorFlow.

Field numbers as in TensorFlow's core/example/feature.proto and example.proto. The message lives in its own pool,
so that it does not clash with TensorFlow's when both are in one process.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_Field = descriptor_pb2.FieldDescriptorProto
_PACKAGE = "towpath.example"


def _message() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="towpath/example.proto", package=_PACKAGE, syntax="proto3")
    for name, kind in (
        ("BytesList", _Field.TYPE_BYTES),
        ("FloatList", _Field.TYPE_FLOAT),
        ("Int64List", _Field.TYPE_INT64),
    ):
        _field(file.message_type.add(name=name), "value", 1, kind, repeated=True)
    feature = file.message_type.add(name="Feature")
    feature.oneof_decl.add(name="kind")
    for number, name in enumerate(("bytes_list", "float_list", "int64_list"), start=1):
        type_name = "".join(part.capitalize() for part in name.split("_"))
        _field(feature, name, number, _Field.TYPE_MESSAGE, type_name).oneof_index = 0
    features = file.message_type.add(name="Features")
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    _field(entry, "key", 1, _Field.TYPE_STRING)
    _field(entry, "value", 2, _Field.TYPE_MESSAGE, "Feature")
    _field(features, "feature", 1, _Field.TYPE_MESSAGE, "Features.FeatureEntry", repeated=True)
    _field(file.message_type.add(name="Example"), "features", 1, _Field.TYPE_MESSAGE, "Features")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.Example"))


def _field(message: Any, name: str, number: int, kind: Any, type_name: str = "", repeated: bool = False) -> Any:
    label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
    field = message.field.add(name=name, number=number, type=kind, label=label)
    if type_name:
        field.type_name = f".{_PACKAGE}.{type_name}"
    return field


ExampleProto = _message()
