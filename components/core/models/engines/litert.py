"""LiteRT (TensorFlow Lite): the fastest on a CPU; does not need TensorFlow."""

from __future__ import annotations

import queue
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import native_output
from ...errors import BundleError, MissingError
from . import INPUT, RAW, Outputs


class LiteRTEngine:
    """Runs a LiteRT file, one image per call inside. See `engines.Engine`."""

    def __init__(self, file: Path, threads: int, copies: int) -> None:
        try:
            from ai_edge_litert.interpreter import Interpreter
        except ImportError as error:
            raise MissingError("LiteRT is not installed.", "Install towpath[serve].") from error
        self._free: queue.SimpleQueue[Any] = queue.SimpleQueue()
        try:
            for _ in range(copies):
                with native_output.suppressed():  # it logs its kernels
                    interpreter = Interpreter(model_path=str(file), num_threads=threads)
                self._free.put(interpreter.get_signature_runner(RAW))
        except (OSError, ValueError, RuntimeError) as error:
            raise BundleError(f"{file}: this LiteRT model cannot be loaded ({error}).") from error

    def __call__(self, images: npt.NDArray[np.float32]) -> Outputs:
        """Runs a batch; see `engines.Engine`."""
        runner = self._free.get()
        try:
            single = [{k: v.copy() for k, v in runner(**{INPUT: image[None]}).items()} for image in images]
        finally:
            self._free.put(runner)
        return {name: np.concatenate([outputs[name] for outputs in single]) for name in single[0]}


def load(weights: Path, threads: int, copies: int) -> LiteRTEngine:
    """Loads a variant's file; see `engines.Loader`."""
    return LiteRTEngine(weights, threads, copies)
