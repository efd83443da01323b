"""The models of a server: loading, warm-up, and inference in their own threads."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from ..core import config
from ..core.data.images import PAD, ImageError, Placement
from ..core.errors import BundleError, ConfigError
from ..core.models import bundle
from ..core.models.bundle import Bundle
from ..core.models.predictor import Prediction, Predictor, Prepared
from .config import ServeConfig
from .errors import APIError
from .metrics import Phase

T = TypeVar("T")

# The part between slashes and before a colon in a route.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
RETRY_SECONDS = 1


@dataclass(frozen=True)
class Source:
    """A bundle to serve, and its version in the routes."""

    folder: Path
    version: str = "1"


@dataclass(frozen=True)
class Answer:
    """Predictions, one per image, and the seconds that each phase took."""

    predictions: list[Prediction]
    seconds: dict[Phase, float]


@dataclass(frozen=True)
class Model:
    """A loaded model.

    Attributes:
        bundle: its files and card.
        version: from its source.
        predictor: predicts images, in as many threads as the server has.
        metadata: its card as JSON.
    """

    bundle: Bundle
    version: str
    predictor: Predictor
    metadata: str

    @property
    def name(self) -> str:
        """Its name in the routes."""
        return self.bundle.card.name

    def answer(self, images: Sequence[bytes]) -> Answer:
        """Decodes and predicts encoded images in one batch.

        Raises:
            ImageError: for the first that cannot be read; with several images, the message names its index.
            APIError: 500 if the model returns NaN or infinity.
        """
        started = time.perf_counter()
        prepared = [self._prepare(index, data, len(images)) for index, data in enumerate(images)]
        decoded = time.perf_counter()
        predictions = self.predictor.run(prepared)
        if not all(_finite(one) for one in predictions):
            raise APIError(500, f"Model '{self.name}' returned NaN or infinity: its weights are damaged.")
        return Answer(predictions, {"decode": decoded - started, "inference": time.perf_counter() - decoded})

    def _prepare(self, index: int, data: bytes, count: int) -> Prepared:
        try:
            return self.predictor.prepare(data)
        except ImageError as error:
            raise ImageError(f"Instance {index}: {error}" if count > 1 else str(error)) from error


@dataclass
class Models:
    """All models of a server by name, and the threads that they share."""

    config: ServeConfig
    ready: bool = False
    _by_name: dict[str, Model] = field(default_factory=dict)
    _pending: int = 0

    def __post_init__(self) -> None:
        self._threads = ThreadPoolExecutor(self.config.threads, thread_name_prefix="answer")

    def load(self, sources: Sequence[Source]) -> None:
        """Loads and warms up every bundle; then the server is ready.

        Raises:
            ConfigError: no bundle, or two of the same name.
            BundleError: a bundle that does not load or run.
        """
        if not sources:
            raise ConfigError("There is no bundle to serve.", "Name at least one model folder.")
        for source in sources:
            model = _load(source, self.config)
            if model.name in self._by_name:
                first = self._by_name[model.name].bundle.folder
                raise ConfigError(f"{first} and {source.folder} are both called '{model.name}'.", "Serve one of them.")
            _warm_up(model, self.config.threads)
            self._by_name[model.name] = model
        self.ready = True

    def all(self) -> list[Model]:
        """Returns every model, in the order of the sources."""
        self._check_ready()
        return list(self._by_name.values())

    def get(self, name: str, version: str | None = None) -> Model:
        """Returns the model of a route.

        Raises:
            APIError: 404 for an unknown name (with the nearest) or version, 503 while the models are loading.
        """
        self._check_ready()
        model = self._by_name.get(name)
        if model is None:
            raise APIError(404, f"There is no model '{name}' here. {config.nearest(name, self._by_name)}")
        if version is not None and version != model.version:
            raise APIError(404, f"Model '{name}' has no version '{version}' here, but {model.version}.")
        return model

    def has(self, name: str) -> bool:
        """Returns whether a model of that name is loaded."""
        return name in self._by_name

    async def run(self, work: Callable[[], T]) -> T:
        """Runs `work` in a thread, off the event loop.

        Raises:
            APIError: 429 if `max_waiting` requests are already waiting.
        """
        if self._pending >= self.config.threads + self.config.max_waiting:
            headers = {"retry-after": str(RETRY_SECONDS)}
            raise APIError(429, f"The server is busy: {self.config.max_waiting} requests are waiting.", headers)
        self._pending += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._pending -= 1

    def _check_ready(self) -> None:
        if not self.ready:
            raise APIError(503, "The models are still being loaded.", {"retry-after": str(RETRY_SECONDS)})


def _load(source: Source, settings: ServeConfig) -> Model:
    found = bundle.read(source.folder)
    for what, value in (("name", found.card.name), ("version", source.version)):
        if not NAME.fullmatch(value):
            raise ConfigError(
                f"{source.folder}: the {what} '{value}' cannot be part of a URL.", "Use A-Z a-z 0-9 _ . - only."
            )
    try:
        metadata = json.dumps(dataclasses.asdict(found.card), allow_nan=False)
    except ValueError as error:
        raise BundleError(f"{found.folder / bundle.FILE}: it contains a number that is NaN or infinite.") from error
    return Model(found, source.version, Predictor(found, settings.variant, copies=settings.threads), metadata)


def _warm_up(model: Model, copies: int) -> None:
    """Runs every copy of a model once: the first run of each is slow, and a model that cannot run is detected early."""
    card, folder = model.bundle.card, model.bundle.folder
    side = card.vision.input_size
    grey = np.full((side, side, 3), PAD, np.float32)
    try:
        for _ in range(copies):
            outputs = model.predictor.engine(grey[None])
        model.predictor.run([Prepared(grey, Placement(side, side, 1.0, 1.0))])
        model.answer([model.bundle.sample_bytes(sample) for sample in card.samples[:1]])
    except APIError as error:
        raise BundleError(f"{folder}: {error.message}") from error
    except Exception as error:  # each engine raises its own types of errors
        raise BundleError(f"{folder}: the model does not run ({type(error).__name__}: {error}).") from error
    if not all(np.isfinite(values).all() for values in outputs.values()):
        raise BundleError(f"{folder}: the model returns NaN or infinity for a grey image: its weights are damaged.")
    if outputs["scores"].shape[-1] != len(card.classes):
        found = outputs["scores"].shape[-1]
        raise BundleError(f"{folder}: the model scores {found} classes, but its card names {len(card.classes)}.")


def _finite(prediction: Prediction) -> bool:
    if prediction.detections is not None:
        return bool(np.isfinite(prediction.detections.boxes).all())
    return prediction.scores is not None and bool(np.isfinite(prediction.scores).all())
