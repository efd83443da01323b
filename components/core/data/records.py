"""Records: labelled images as TFRecord shards with the TF Object Detection API's feature keys.

Neither writing nor reading needs TensorFlow. Framing (little endian): uint64 length, masked crc32c of it, data,
masked crc32c of the data. Source: TensorFlow, core/lib/io/record_writer.h.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import google_crc32c
import numpy as np
import numpy.typing as npt
from google.protobuf.message import DecodeError

from ..errors import RecordsError
from .boxes import Boxes
from .example_proto import ExampleProto

_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")
_MASK = 0xA282EAD8
# Longer than any image that prepare accepts: a larger length means a damaged frame.
MAX_RECORD_BYTES = 1 << 30


def _no_boxes() -> Boxes:
    return np.zeros((0, 4), np.float32)


def _no_labels() -> npt.NDArray[np.int64]:
    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class Example:
    """One labelled image.

    Attributes:
        image: the encoded image (JPEG or PNG), upright.
        height: in pixels.
        width: in pixels.
        source: the file that it came from, relative to the source's folder.
        label: index of the image's class (classification); None for detection.
        boxes: [N, 4] float32, (y_min, x_min, y_max, x_max), relative.
        labels: [N] int64, index of each box's class, from 0 (in the shards from 1, like the API's label maps).
        crowd: [N] int64, 1 where a box stands for a crowd (COCO): never trained on, ignored when scored.
        area: [N] float32, the object's area in pixels (COCO's size buckets); empty: the box's own area is used.
        source_id: the image's id in its source, kept for evaluation by other tools.
    """

    image: bytes
    height: int
    width: int
    source: str
    label: int | None = None
    boxes: Boxes = field(default_factory=_no_boxes)
    labels: npt.NDArray[np.int64] = field(default_factory=_no_labels)
    crowd: npt.NDArray[np.int64] = field(default_factory=_no_labels)
    area: npt.NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    source_id: str = ""

    @property
    def format(self) -> str:
        """The encoding, "jpeg" or "png", by the first bytes."""
        return "png" if self.image.startswith(b"\x89PNG") else "jpeg"


def to_bytes(example: Example, classes: tuple[str, ...]) -> bytes:
    """Serialises an example as a tf.train.Example; the same example always gives the same bytes."""
    proto = ExampleProto()
    feature = proto.features.feature
    feature["image/encoded"].bytes_list.value.append(example.image)
    feature["image/format"].bytes_list.value.append(example.format.encode())
    feature["image/filename"].bytes_list.value.append(example.source.encode())
    feature["image/source_id"].bytes_list.value.append((example.source_id or example.source).encode())
    feature["image/height"].int64_list.value.append(example.height)
    feature["image/width"].int64_list.value.append(example.width)
    if example.label is not None:
        feature["image/class/label"].int64_list.value.append(example.label)
        feature["image/class/text"].bytes_list.value.append(classes[example.label].encode())
    else:
        for name, column in zip(("ymin", "xmin", "ymax", "xmax"), example.boxes.T, strict=True):
            feature[f"image/object/bbox/{name}"].float_list.value.extend(column.tolist())
        feature["image/object/class/label"].int64_list.value.extend((example.labels + 1).tolist())
        feature["image/object/class/text"].bytes_list.value.extend(classes[i].encode() for i in example.labels)
        feature["image/object/is_crowd"].int64_list.value.extend(example.crowd.tolist())
        feature["image/object/area"].float_list.value.extend(example.area.tolist())
    data: bytes = proto.SerializeToString(deterministic=True)
    return data


def from_bytes(data: bytes, where: str) -> Example:
    """Inverts `to_bytes`.

    Args:
        data: a serialised tf.train.Example.
        where: shard and index, for the message.

    Returns:
        The example; its `source` and sizes are 0 or empty if the record lacks them.

    Raises:
        RecordsError: not an Example, no image in it, or different numbers of boxes and labels.
    """
    try:
        feature = ExampleProto.FromString(data).features.feature
    except DecodeError as error:
        raise RecordsError(f"{where}: not a tf.train.Example ({error}).") from error
    images = _values(feature, "image/encoded", "bytes_list")
    if not images:
        raise RecordsError(f"{where}: the example has no 'image/encoded'.")
    columns = [_values(feature, f"image/object/bbox/{name}", "float_list") for name in ("ymin", "xmin", "ymax", "xmax")]
    labels = np.array(_values(feature, "image/object/class/label", "int64_list"), np.int64) - 1
    if len({*map(len, columns), len(labels)}) != 1:
        raise RecordsError(f"{where}: {len(columns[0])} boxes, but {len(labels)} labels.")
    label = _values(feature, "image/class/label", "int64_list")
    crowd = np.array(_values(feature, "image/object/is_crowd", "int64_list") or [0] * len(labels), np.int64)
    return Example(
        image=images[0],
        height=_first(feature, "image/height", "int64_list", 0),
        width=_first(feature, "image/width", "int64_list", 0),
        source=_first(feature, "image/filename", "bytes_list", b"").decode(errors="replace"),
        label=int(label[0]) if label else None,
        boxes=np.array(columns, np.float32).T.reshape(-1, 4),
        labels=labels,
        crowd=crowd,
        area=np.array(_values(feature, "image/object/area", "float_list"), np.float32),
        source_id=_first(feature, "image/source_id", "bytes_list", b"").decode(errors="replace"),
    )


def write_record(file: BinaryIO, data: bytes) -> int:
    """Appends one framed record.

    Returns:
        The number of bytes written.
    """
    length = _LENGTH.pack(len(data))
    frame = b"".join((length, _CHECKSUM.pack(_masked(length)), data, _CHECKSUM.pack(_masked(data))))
    return file.write(frame)


def read_records(path: Path) -> Iterator[bytes]:
    """Yields the records of a shard one at a time, each with its checksum verified.

    Raises:
        RecordsError: the shard does not exist, is truncated, or a checksum does not match; names the record.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise RecordsError(f"{path}: the shard cannot be opened ({error.strerror}).") from error
    with file:
        index = 0
        while head := file.read(12):
            where = f"{path}: record {index}"
            if len(head) < 12:
                raise RecordsError(f"{where}: the shard is truncated.", "Prepare the records again.")
            (length,) = _LENGTH.unpack_from(head)
            if _CHECKSUM.unpack_from(head, 8)[0] != _masked(head[:8]) or length > MAX_RECORD_BYTES:
                raise RecordsError(f"{where}: its length field is damaged.", "Prepare the records again.")
            body = file.read(length + 4)
            if len(body) < length + 4:
                raise RecordsError(f"{where}: the shard is truncated.", "Prepare the records again.")
            data = body[:length]
            if _CHECKSUM.unpack_from(body, length)[0] != _masked(data):
                raise RecordsError(f"{where}: its checksum does not match.", "Prepare the records again.")
            yield data
            index += 1


def read_examples(path: Path) -> Iterator[Example]:
    """Yields the examples of a shard one at a time.

    Raises:
        RecordsError: see `read_records` and `from_bytes`.
    """
    for index, data in enumerate(read_records(path)):
        yield from_bytes(data, f"{path}: record {index}")


def _masked(data: bytes) -> int:
    checksum: int = google_crc32c.value(data)
    return ((checksum >> 15 | checksum << 17) + _MASK) & 0xFFFFFFFF


def _values(feature: Any, key: str, kind: str) -> list[Any]:
    # A look-up in a protobuf map adds the key: check first.
    return list(getattr(feature[key], kind).value) if key in feature else []


def _first(feature: Any, key: str, kind: str, default: Any) -> Any:
    values = _values(feature, key, kind)
    return values[0] if values else default
