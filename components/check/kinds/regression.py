"""The same images to the candidate and to the version that serves now."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core import config
from ...core.release.check_results import CheckResult
from ..client import Answer, AnswerError, Client
from .matching import matches, right_answers
from .subject import Kind, Subject


@dataclass(frozen=True)
class Regression:
    """Limits of the check.

    Attributes:
        min_agreement: minimum share of answers that are the same.
    """

    min_agreement: float = 0.7

    def __post_init__(self) -> None:
        config.at_least("min_agreement", self.min_agreement, 0)


def check(subject: Subject, limits: Regression) -> CheckResult:
    """The share of answers that agree.

    Raises:
        AnswerError: one of the servers does not answer as it should.
    """
    card, champion = subject.bundle.card, subject.champion
    serving = {model.name: model.version for model in champion.models} if champion else {}
    if champion is None or card.name not in serving:
        return CheckResult("regression", True, notes=("no champion: nothing of this model serves here yet",))
    with Client(champion.url, card.name, card.task, subject.timeout) as theirs:
        entry = theirs.models().get(card.name, {})
        notes = _differences(entry, list(card.classes), card.task)
        if entry.get("task") != card.task or not card.samples:
            notes += [] if card.samples else ["the bundle has no sample images"]
            return CheckResult("regression", False, notes=tuple(notes))
        agreements, better, worse = [], 0, 0
        for sample in card.samples:
            data = subject.bundle.sample_bytes(sample)
            candidate, current = _predict(subject.client, data, "candidate"), _predict(theirs, data, "champion")
            agreements.append(_agreement(candidate, current))
            change = right_answers(candidate, sample, card.classes)[0] - right_answers(current, sample, card.classes)[0]
            better, worse = better + (change > 0), worse + (change < 0)
    agreement = float(np.mean(agreements))
    notes.append(f"against version {serving[card.name]}: {better} images answered better, {worse} worse")
    if agreement < limits.min_agreement:
        notes.append(f"agreement {agreement:.2f} < {limits.min_agreement:.2f}")
    figures = {"agreement": agreement, "minimum": limits.min_agreement, "better": float(better), "worse": float(worse)}
    return CheckResult("regression", agreement >= limits.min_agreement, figures, tuple(notes))


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


def _predict(client: Client, data: bytes, who: str) -> Answer:
    try:
        return client.predict(data)
    except AnswerError as error:
        raise AnswerError(f"the {who}: {error}") from error


def _agreement(ours: Answer, theirs: Answer) -> float:
    """1 where both say the same, 0 where they have nothing in common."""
    if ours.detections is None or theirs.detections is None:
        return float(ours.names == theirs.names)
    total = len(ours.names) + len(theirs.names)
    if not total:
        return 1.0
    return 2 * matches(ours.detections.boxes, ours.names, theirs.detections.boxes, theirs.names) / total


KIND = Kind(Regression, check)
