"""The checks that look at answers: against known ones, and against those of the version that serves now."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.backends.local.service_state import Server
from ..core.models.bundle import Bundle, Sample
from ..core.release.check_results import CheckResult
from ..core.release.environments import Predictions, Regression
from .ask import Answer, AnswerError, Service
from .matching import matches

EVALUATED = {"detection": "map50", "classification": "accuracy"}


def predictions(service: Service, bundle: Bundle, metrics: dict[str, float], limits: Predictions) -> CheckResult:
    """The bundle's own sample images: the share of objects found (IoU ≥ 0.5, score ≥ 0.3) or of labels right.

    Raises:
        AnswerError: the server does not answer as it should.
    """
    samples = bundle.card.samples
    if not samples:
        return CheckResult("predictions", False, notes=("the bundle has no sample images",))
    metric = EVALUATED[bundle.card.task]
    if metric not in metrics:
        return CheckResult("predictions", False, notes=(f"the registry has no '{metric}' for this version",))
    right = total = 0
    for sample in samples:
        found = _right(service.predict(bundle.sample_bytes(sample)), sample, bundle.card.classes)
        right, total = right + found[0], total + found[1]
    if not total:
        return CheckResult("predictions", True, notes=("the sample images show no object",))
    share, least = right / total, limits.of_evaluated * metrics[metric]
    notes = [f"{right} of {total} {'objects found' if bundle.card.task == 'detection' else 'labels right'}"]
    if share < least:
        notes.append(f"share {share:.2f} < {least:.2f} ({limits.of_evaluated:g} of {metric} {metrics[metric]:.2f})")
    figures = {"share": share, "least": least, "images": float(len(samples))}
    return CheckResult("predictions", share >= least, figures, tuple(notes))


def regression(
    service: Service, bundle: Bundle, champion: Server | None, limits: Regression, timeout: float
) -> CheckResult:
    """The same images to the candidate and to the version that serves now: the share of answers that agree.

    Raises:
        AnswerError: one of the servers does not answer as it should.
    """
    card = bundle.card
    held = {model.name: model.version for model in champion.models} if champion else {}
    if champion is None or card.name not in held:
        return CheckResult("regression", True, notes=("no champion: nothing of this model serves here yet",))
    with Service(champion.url, card.name, card.task, timeout) as serving:
        entry = serving.models().get(card.name, {})
        notes = _differences(entry, list(card.classes), card.task)
        if entry.get("task") != card.task or not card.samples:
            notes += [] if card.samples else ["the bundle has no sample images"]
            return CheckResult("regression", False, notes=tuple(notes))
        agreements, better, worse = [], 0, 0
        for sample in card.samples:
            data = bundle.sample_bytes(sample)
            ours, theirs = _asked(service, data, "candidate"), _asked(serving, data, "champion")
            agreements.append(_agreement(ours, theirs))
            change = _right(ours, sample, card.classes)[0] - _right(theirs, sample, card.classes)[0]
            better, worse = better + (change > 0), worse + (change < 0)
    agreement = float(np.mean(agreements))
    notes.append(f"against version {held[card.name]}: {better} images answered better, {worse} worse")
    if agreement < limits.agreement:
        notes.append(f"agreement {agreement:.2f} < {limits.agreement:.2f}")
    figures = {"agreement": agreement, "least": limits.agreement, "better": float(better), "worse": float(worse)}
    return CheckResult("regression", agreement >= limits.agreement, figures, tuple(notes))


def _differences(entry: dict[str, object], classes: list[str], task: str) -> list[str]:
    """What a user of the API would stumble over, whatever the answers."""
    if entry.get("task") != task:
        return [f"the champion's task is {entry.get('task')}, not {task}"]
    theirs = entry.get("classes")
    if theirs == classes or not isinstance(theirs, list):
        return []
    added = [name for name in classes if name not in theirs]
    gone = [str(name) for name in theirs if name not in classes]
    if not added and not gone:
        return ["the classes are the champion's in another order"]
    changes = [f"new: {', '.join(added)}"] * bool(added) + [f"gone: {', '.join(gone)}"] * bool(gone)
    return [f"the classes differ from the champion's ({'; '.join(changes)})"]


def _asked(service: Service, data: bytes, who: str) -> Answer:
    try:
        return service.predict(data)
    except AnswerError as error:
        raise AnswerError(f"the {who}: {error}") from error


def _right(answer: Answer, sample: Sample, classes: Sequence[str]) -> tuple[int, int]:
    """Right answers, and how many there are to give."""
    names = [classes[label] for label in sample.labels]
    if answer.detections is None:
        return int(answer.names[0] in names), 1
    return matches(sample.box_array, names, answer.detections.boxes, answer.names), len(names)


def _agreement(ours: Answer, theirs: Answer) -> float:
    """1 where both say the same, 0 where they have nothing in common."""
    if ours.detections is None or theirs.detections is None:
        return float(ours.names == theirs.names)
    total = len(ours.names) + len(theirs.names)
    if not total:
        return 1.0
    return 2 * matches(ours.detections.boxes, ours.names, theirs.detections.boxes, theirs.names) / total
