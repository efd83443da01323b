"""Inference with a bundle: decode, fit, run, post-process. Evaluation, checks, benchmark and server share it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..data import images
from ..errors import BundleError
from . import anchors, detection, engines
from .bundle import Bundle
from .detection import Detections


@dataclass(frozen=True)
class Prepared:
    """A preprocessed image.

    Attributes:
        image: [side, side, 3] float32 in 0..255, the model's input.
        place: where the original image lies in it.
    """

    image: npt.NDArray[np.float32]
    place: images.Placement


@dataclass(frozen=True)
class Prediction:
    """The prediction for one image.

    Attributes:
        height: of the image, upright, in pixels.
        width: of the image, upright, in pixels.
        detections: objects, relative to the image; None for classification.
        scores: classification: [C] float32, one probability per class; None for detection.
    """

    height: int
    width: int
    detections: Detections | None = None
    scores: npt.NDArray[np.float32] | None = None


class Predictor:
    """Runs inference with a bundle. Thread-safe.

    Args:
        bundle: the model.
        variant: see `engines.load`.
        threads: see `engines.load`.
        copies: see `engines.load`.
    """

    def __init__(self, bundle: Bundle, variant: str | None = None, threads: int = 1, copies: int = 1) -> None:
        self.bundle = bundle
        self.card = bundle.card
        self._vision = bundle.card.vision
        self.variant = engines.variant_of(bundle, variant)
        self.engine = engines.load(bundle, self.variant, threads, copies)
        if self.card.task == "detection":
            if self._vision.anchors is None or self._vision.post is None:
                raise BundleError(f"{bundle.folder}: a detector without anchors or post-processing.")
            self._anchors = anchors.make(self._vision.anchors, self._vision.input_size)

    def prepare(self, data: bytes) -> Prepared:
        """Decodes and fits one encoded image.

        Raises:
            ImageError: the image cannot be read.
        """
        pixels, size = images.decode(data, self._vision.input_size, self._vision.resize_mode)
        return Prepared(*images.fit_to(pixels, size, self._vision.input_size, self._vision.resize_mode))

    def run(self, prepared: Sequence[Prepared]) -> list[Prediction]:
        """Predicts prepared images in one batch."""
        if not prepared:
            return []
        outputs = self.engine(np.stack([one.image for one in prepared]))
        return [self._answer(index, one.place, outputs) for index, one in enumerate(prepared)]

    def __call__(self, images: Sequence[bytes]) -> list[Prediction]:
        """Predicts encoded images.

        Raises:
            ImageError: for the first that cannot be read.
        """
        return self.run([self.prepare(data) for data in images])

    def _answer(self, index: int, place: images.Placement, outputs: engines.Outputs) -> Prediction:
        if self._vision.post is None:
            return Prediction(place.height, place.width, scores=outputs["scores"][index])
        found = detection.postprocess(
            outputs["scores"][index], outputs["box_deltas"][index], self._anchors, self._vision.post
        )
        inside = Detections(place.to_image(found.boxes), found.scores, found.labels)
        return Prediction(place.height, place.width, detections=inside)
