"""Inference engines, one file per engine. All take and return the same arrays."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ... import config
from ...errors import BundleError
from ..bundle import Bundle

# The signature of raw outputs: "scores" [N, A, C] and "box_deltas" [N, A, 4] of a detector, "scores" [N, C] of a
# classifier.
RAW = "raw"
INPUT = "image"
SAVED_MODEL = "saved_model"
# Name in a variant's card -> the module here with its `load`; imported on demand.
ENGINES = {"litert": "litert", SAVED_MODEL: "saved_model"}

Outputs = dict[str, npt.NDArray[np.float32]]


class Engine(Protocol):
    """Runs a model. Safe to call from several threads at once."""

    def __call__(self, images: npt.NDArray[np.float32]) -> Outputs:
        """Runs a batch.

        Args:
            images: [N, side, side, 3] float32 in 0..255.

        Returns:
            Output name -> [N, …] float32.
        """


class Loader(Protocol):
    """The `load` of an engine's module."""

    def __call__(self, weights: Path, threads: int, copies: int) -> Engine:
        """Loads weights.

        Args:
            weights: a variant's file, or the SavedModel's folder.
            threads: threads that one call may use.
            copies: calls that may run at the same time.

        Raises:
            BundleError: weights that do not load.
            MissingError: the engine is not installed.
        """


def variant_of(bundle: Bundle, variant: str | None) -> str:
    """Returns the variant that `load` takes.

    Where none is named: "float32" if the bundle has it, since LiteRT is several times faster than TensorFlow on a CPU,
    otherwise the SavedModel.
    """
    if variant is not None:
        return variant
    return "float32" if "float32" in bundle.card.variants else SAVED_MODEL


def load(bundle: Bundle, variant: str | None = None, threads: int = 1, copies: int = 1) -> Engine:
    """Loads the engine for a bundle.

    Args:
        bundle: the model.
        variant: a variant's name, or "saved_model"; None: see `variant_of`.
        threads: threads that one call may use.
        copies: calls that may run at the same time.

    Returns:
        The engine, ready to run.

    Raises:
        ConfigError: no such variant.
        BundleError: weights that do not load, or an engine that this version of Towpath does not have.
        MissingError: the engine is not installed.
    """
    name = variant_of(bundle, variant)
    if name == SAVED_MODEL:
        return _loader(SAVED_MODEL)(bundle.saved_model, threads, copies)
    weights = bundle.variant_file(name)
    engine = bundle.card.variants[name].engine
    if engine not in ENGINES:
        raise BundleError(
            f"{weights}: this version of Towpath has no engine '{engine}'.", config.nearest(engine, ENGINES)
        )
    return _loader(engine)(weights, threads, copies)


def _loader(engine: str) -> Loader:
    loader: Loader = importlib.import_module(f".{ENGINES[engine]}", __name__).load
    return loader
