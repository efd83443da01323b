"""Inference engines: what runs a bundle's weights. All take and give the same arrays."""

from __future__ import annotations

import queue
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ... import native_output
from ...errors import BundleError, MissingError
from ..bundle import Bundle

# The SavedModel's signature of raw outputs: "scores" [N, A, C] and "box_deltas" [N, A, 4] of a detector, "scores" [N, C]
# of a classifier.
RAW = "raw"
INPUT = "image"
SAVED_MODEL = "saved_model"

Outputs = dict[str, npt.NDArray[np.float32]]


class Engine(Protocol):
    """Runs a model. Safe to call from several threads at once."""

    name: str

    def __call__(self, images: npt.NDArray[np.float32]) -> Outputs:
        """Args: images [N, side, side, 3] float32 in 0..255. Returns: output name -> [N, …] float32."""


def load(bundle: Bundle, variant: str | None = None, threads: int = 1, copies: int = 1) -> Engine:
    """The engine for a bundle.

    Args:
        bundle: the model.
        variant: a variant's name, or "saved_model"; None takes "float32" where the bundle has it, since LiteRT is
            several times faster than TensorFlow on a CPU, and the SavedModel where it has not.
        threads: threads that one call may use (LiteRT).
        copies: calls that may run at the same time (LiteRT).

    Raises:
        ConfigError: no such variant. BundleError: weights that do not load. MissingError: the engine is not installed.
    """
    if variant is None:
        variant = "float32" if "float32" in bundle.card.variants else SAVED_MODEL
    if variant == SAVED_MODEL:
        return SavedModelEngine(bundle.saved_model)
    return LiteRTEngine(bundle.variant_file(variant), variant, threads, copies)


class SavedModelEngine:
    """TensorFlow: GPUs, TPUs, and bundles without variants."""

    def __init__(self, folder: Path) -> None:
        try:
            import tensorflow as tf
        except ImportError as error:
            raise MissingError("TensorFlow is not installed.", "Install towpath[train].") from error
        self.name = SAVED_MODEL
        try:
            self._model = tf.saved_model.load(str(folder))
            self._call = self._model.signatures[RAW]
        except (OSError, KeyError, ValueError) as error:
            raise BundleError(f"{folder}: this SavedModel cannot be loaded ({error}).") from error
        self._constant = tf.constant

    def __call__(self, images: npt.NDArray[np.float32]) -> Outputs:
        outputs = self._call(**{INPUT: self._constant(images)})
        return {name: np.asarray(value) for name, value in outputs.items()}


class LiteRTEngine:
    """LiteRT (TensorFlow Lite): the fastest on a CPU, and no TensorFlow needed. One image a call inside."""

    def __init__(self, file: Path, name: str, threads: int, copies: int) -> None:
        try:
            from ai_edge_litert.interpreter import Interpreter
        except ImportError as error:
            raise MissingError("LiteRT is not installed.", "Install towpath[serve].") from error
        self.name = name
        self._free: queue.SimpleQueue[Any] = queue.SimpleQueue()
        try:
            for _ in range(copies):
                with native_output.suppressed():  # it announces its kernels
                    interpreter = Interpreter(model_path=str(file), num_threads=threads)
                self._free.put(interpreter.get_signature_runner(RAW))
        except (OSError, ValueError, RuntimeError) as error:
            raise BundleError(f"{file}: this LiteRT model cannot be loaded ({error}).") from error

    def __call__(self, images: npt.NDArray[np.float32]) -> Outputs:
        runner = self._free.get()
        try:
            single = [{k: v.copy() for k, v in runner(**{INPUT: image[None]}).items()} for image in images]
        finally:
            self._free.put(runner)
        return {name: np.concatenate([outputs[name] for outputs in single]) for name in single[0]}
