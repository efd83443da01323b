"""TensorFlow's SavedModel: GPUs, TPUs, and bundles without variants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...errors import BundleError, MissingError
from . import INPUT, RAW, Outputs


class SavedModelEngine:
    """Runs a SavedModel's raw signature. See `engines.Engine`."""

    def __init__(self, folder: Path) -> None:
        try:
            import tensorflow as tf
        except ImportError as error:
            raise MissingError("TensorFlow is not installed.", "Install towpath[train].") from error
        try:
            self._model = tf.saved_model.load(str(folder))
            self._call = self._model.signatures[RAW]
        except (OSError, KeyError, ValueError) as error:
            raise BundleError(f"{folder}: this SavedModel cannot be loaded ({error}).") from error
        self._constant = tf.constant

    def __call__(self, images: npt.NDArray[np.float32]) -> Outputs:
        """Runs a batch; see `engines.Engine`."""
        outputs = self._call(**{INPUT: self._constant(images)})
        return {name: np.asarray(value) for name, value in outputs.items()}


def load(weights: Path, threads: int, copies: int) -> SavedModelEngine:
    """Loads a SavedModel; see `engines.Loader`. TensorFlow shares one model and its thread pool between calls."""
    return SavedModelEngine(weights)
