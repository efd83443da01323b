"""A bundle's answers to a split of records, and their score. Evaluation and quantization share it."""

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
    """Answers every image of a split and scores the answers. Memory holds two batches, whatever the split's size.

    Args:
        predictor: the model.
        records: with labels of the model's classes.
        split: "test", "val" or "train".
        what: the work's name beside the progress bar.
        seen: called with every example and its answer, in the shards' order.

    Raises:
        RecordsError: damaged records. ImageError: an image in them that cannot be read.
    """
    classes = predictor.card.classes
    detection, classification = DetectionScorer(classes), ClassificationScorer(classes)
    with progress.bar(what, records.manifest.splits[split].examples) as bar:
        for example, prediction in answers(predictor, records, split):
            if prediction.detections is not None:
                detection.add(example, prediction.detections)
            elif prediction.scores is not None and example.label is not None:
                classification.add(example.label, prediction.scores)
            if seen is not None:
                seen(example, prediction)
            bar.advance()
    return (detection if predictor.card.task == "detection" else classification).scores()


def answers(predictor: Predictor, records: Records, split: str) -> Iterator[tuple[Example, Prediction]]:
    """Every example of a split with the model's answer. The next batch is decoded while one is run."""
    examples = records.examples(split)
    with ThreadPoolExecutor(os.cpu_count()) as pool:

        def start() -> list[tuple[Example, Future[Prepared]]]:
            return [(one, pool.submit(predictor.prepare, one.image)) for one in islice(examples, BATCH)]

        ahead = start()
        while ahead:
            batch, ahead = ahead, start()
            prepared = [future.result() for _, future in batch]
            yield from zip((example for example, _ in batch), predictor.run(prepared), strict=True)
