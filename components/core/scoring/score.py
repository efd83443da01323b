"""Scores a bundle on a split of records. Evaluation and quantization share it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice

from .. import progress
from ..data.manifest import Records
from ..data.records import Example
from ..models.predictor import Prediction, Predictor, Prepared
from .metrics import ClassificationScorer, DetectionScorer, Scores

BATCH = 16

Seen = Callable[[Example, Prediction], None]


def score(predictor: Predictor, records: Records, split: str, what: str, seen: Seen | None = None) -> Scores:
    """Predicts every image of a split and scores the predictions. Memory holds two batches, whatever the split's size.

    Args:
        predictor: the model.
        records: labelled with the model's classes.
        split: "test", "val" or "train".
        what: the label of the progress bar.
        seen: called with every example and its prediction, in the shards' order.

    Returns:
        The metrics.

    Raises:
        RecordsError: damaged records.
        ImageError: an image in them that cannot be read.
    """
    classes = predictor.card.classes
    detection, classification = DetectionScorer(classes), ClassificationScorer(classes)
    with progress.bar(what, records.manifest.splits[split].examples) as bar:
        for example, prediction in predictions(predictor, records, split):
            if prediction.detections is not None:
                detection.add(example, prediction.detections)
            elif prediction.scores is not None and example.label is not None:
                classification.add(example.label, prediction.scores)
            if seen is not None:
                seen(example, prediction)
            bar.advance()
    return (detection if predictor.card.task == "detection" else classification).scores()


def predictions(predictor: Predictor, records: Records, split: str) -> Iterator[tuple[Example, Prediction]]:
    """Yields every example of a split with the model's prediction. The next batch is decoded while one is run."""
    examples = records.examples(split)
    with ThreadPoolExecutor(os.cpu_count()) as pool:

        def start() -> list[tuple[Example, Future[Prepared]]]:
            return [(one, pool.submit(predictor.prepare, one.image)) for one in islice(examples, BATCH)]

        ahead = start()
        while ahead:
            batch, ahead = ahead, start()
            prepared = [future.result() for _, future in batch]
            yield from zip((example for example, _ in batch), predictor.run(prepared), strict=True)
