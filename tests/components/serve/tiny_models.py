"""Real LiteRT models written by hand: they answer from brightness or colour, so a test knows the right answer.

Building them takes milliseconds and no TensorFlow: the flatbuffer is put together from LiteRT's own schema.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import numpy.typing as npt
from ai_edge_litert import schema_py_generated as schema

from towpath.components.core.models import bundle
from towpath.components.core.models.anchors import AnchorSpec
from towpath.components.core.models.bundle import ModelCard, Sample, Variant, VisionSpec
from towpath.components.core.models.detection import PostProcess

CELL = 8
SIDE = 64
_TYPES = {"float32": schema.TensorType.FLOAT32, "int32": schema.TensorType.INT32}


def detector(folder: Path, name: str = "squares", samples: tuple[tuple[bytes, Sample], ...] = ()) -> Path:
    """A detector on a 64×64 input: an 8×8 cell is "bright" above about 210 of 255, "dark" below about 45."""
    cells = (SIDE // CELL) ** 2
    graph = _Graph(SIDE)
    mean = np.full((1, CELL, CELL, 3), 1 / (CELL * CELL * 3), np.float32)
    # sigmoid((mean - 210) / 10) and sigmoid((45 - mean) / 10)
    logits = graph.conv(graph.image, np.concatenate([mean / 10, -mean / 10]), np.array([-21, 4.5], np.float32), CELL)
    scores = graph.reshape(graph.logistic(logits), (1, cells, 2))
    none = np.zeros((4, CELL, CELL, 3), np.float32)
    box_deltas = graph.reshape(graph.conv(graph.image, none, np.zeros(4, np.float32), CELL), (1, cells, 4))
    card = ModelCard(
        name=name,
        task="detection",
        classes=("bright", "dark"),
        vision=VisionSpec(
            SIDE,
            "letterbox",
            "by hand",
            AnchorSpec(levels=(3,), size=1.0, scales=(1.0,), ratios=(1.0,)),
            PostProcess(score_threshold=0.05, max_detections=20),
        ),
        parameters=0,
    )
    return _bundle(folder, card, graph.model({"scores": scores, "box_deltas": box_deltas}), samples)


def classifier(folder: Path, name: str = "colours", samples: tuple[tuple[bytes, Sample], ...] = ()) -> Path:
    """A classifier on a 32×32 input: softmax of the mean of each channel, "red", "green" or "blue"."""
    graph = _Graph(32)
    kernel = np.zeros((3, 32, 32, 3), np.float32)
    for channel in range(3):
        kernel[channel, :, :, channel] = 1 / (32 * 32 * 50)
    logits = graph.reshape(graph.conv(graph.image, kernel, np.zeros(3, np.float32), 32), (1, 3))
    card = ModelCard(
        name=name,
        task="classification",
        classes=("red", "green", "blue"),
        vision=VisionSpec(32, "crop", "by hand"),
        parameters=0,
    )
    return _bundle(folder, card, graph.model({"scores": graph.softmax(logits)}), samples)


def fragile(folder: Path) -> Path:
    """A classifier that answers grey, but overflows to infinity, and so to NaN, on white."""
    graph = _Graph(32)
    kernel = np.full((3, 32, 32, 3), 2e38 / (127.5 * 32 * 32 * 3), np.float32)
    logits = graph.reshape(graph.conv(graph.image, kernel, np.zeros(3, np.float32), 32), (1, 3))
    card = ModelCard("fragile", "classification", ("a", "b", "c"), VisionSpec(32, "crop", "by hand"), 0)
    return _bundle(folder, card, graph.model({"scores": graph.softmax(logits)}), ())


def poisoned(folder: Path) -> Path:
    """A classifier whose every answer is NaN."""
    graph = _Graph(32)
    kernel = np.zeros((3, 32, 32, 3), np.float32)
    logits = graph.reshape(graph.conv(graph.image, kernel, np.full(3, np.nan, np.float32), 32), (1, 3))
    card = ModelCard("poisoned", "classification", ("a", "b", "c"), VisionSpec(32, "crop", "by hand"), 0)
    return _bundle(folder, card, graph.model({"scores": graph.softmax(logits)}), ())


def _bundle(folder: Path, card: ModelCard, model: bytes, samples: tuple[tuple[bytes, Sample], ...]) -> Path:
    file = folder / bundle.VARIANTS / "float32" / "model.tflite"
    file.parent.mkdir(parents=True)
    file.write_bytes(model)
    (folder / bundle.SAMPLES).mkdir()
    for data, sample in samples:
        (folder / bundle.SAMPLES / sample.file).write_bytes(data)
    known = {
        "variants": {"float32": Variant("litert", "model.tflite", len(model), {})},
        "samples": tuple(sample for _, sample in samples),
    }
    bundle.write(ModelCard(**{**card.__dict__, **known}), folder)
    return folder


class _Graph:
    """The few operators that the models above need."""

    def __init__(self, side: int) -> None:
        self._buffers = [schema.BufferT()]
        self._tensors: list[Any] = []
        self._operators: list[Any] = []
        self._codes: list[int] = []
        self.image = self._tensor("image", (1, side, side, 3))

    def conv(self, source: int, kernel: npt.NDArray[np.float32], bias: npt.NDArray[np.float32], stride: int) -> int:
        """Kernel [out, h, w, in], stride as large as the kernel: one output a cell."""
        options = schema.Conv2DOptionsT()
        options.padding, options.strideH, options.strideW = schema.Padding.VALID, stride, stride
        inputs = [source, self._constant(kernel), self._constant(bias)]
        side = self._tensors[source].shape[1] // stride
        kind = schema.BuiltinOptions.Conv2DOptions
        return self._operator(schema.BuiltinOperator.CONV_2D, inputs, (1, side, side, len(kernel)), kind, options)

    def logistic(self, source: int) -> int:
        return self._operator(schema.BuiltinOperator.LOGISTIC, [source], self._shape(source))

    def softmax(self, source: int) -> int:
        options = schema.SoftmaxOptionsT()
        options.beta = 1.0
        kind = schema.BuiltinOptions.SoftmaxOptions
        return self._operator(schema.BuiltinOperator.SOFTMAX, [source], self._shape(source), kind, options)

    def reshape(self, source: int, shape: tuple[int, ...]) -> int:
        inputs = [source, self._constant(np.array(shape, np.int32))]
        options = schema.ReshapeOptionsT()
        options.newShape = list(shape)
        kind = schema.BuiltinOptions.ReshapeOptions
        return self._operator(schema.BuiltinOperator.RESHAPE, inputs, shape, kind, options)

    def model(self, outputs: dict[str, int]) -> bytes:
        """The file, with the signature "raw"."""
        graph = schema.SubGraphT()
        graph.tensors, graph.operators = self._tensors, self._operators
        graph.inputs, graph.outputs = [self.image], list(outputs.values())
        signature = schema.SignatureDefT()
        signature.signatureKey, signature.subgraphIndex = "raw", 0
        signature.inputs = [self._named("image", self.image)]
        signature.outputs = [self._named(name, tensor) for name, tensor in outputs.items()]
        model = schema.ModelT()
        model.version, model.subgraphs, model.buffers, model.signatureDefs = 3, [graph], self._buffers, [signature]
        model.operatorCodes = [self._code(code) for code in self._codes]
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())

    def _operator(
        self, code: int, inputs: list[int], shape: tuple[int, ...], kind: int = 0, options: object | None = None
    ) -> int:
        if code not in self._codes:
            self._codes.append(code)
        operator = schema.OperatorT()
        operator.opcodeIndex, operator.inputs = self._codes.index(code), inputs
        operator.outputs = [self._tensor(f"t{len(self._tensors)}", shape)]
        operator.builtinOptionsType, operator.builtinOptions = kind, options
        self._operators.append(operator)
        return len(self._tensors) - 1

    def _constant(self, value: npt.NDArray[Any]) -> int:
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(value.tobytes(), np.uint8)
        self._buffers.append(buffer)
        return self._tensor(f"t{len(self._tensors)}", value.shape, len(self._buffers) - 1, str(value.dtype))

    def _tensor(self, name: str, shape: tuple[int, ...], buffer: int = 0, kind: str = "float32") -> int:
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.buffer, tensor.type = name, list(shape), buffer, _TYPES[kind]
        self._tensors.append(tensor)
        return len(self._tensors) - 1

    def _shape(self, tensor: int) -> tuple[int, ...]:
        return tuple(self._tensors[tensor].shape)

    @staticmethod
    def _code(code: int) -> Any:
        made = schema.OperatorCodeT()
        made.deprecatedBuiltinCode = made.builtinCode = code
        made.version = 1
        return made

    @staticmethod
    def _named(name: str, tensor: int) -> Any:
        named = schema.TensorMapT()
        named.name, named.tensorIndex = name, tensor
        return named
