"""The bundle's own sample images, held against their known answers."""

from __future__ import annotations

from dataclasses import dataclass

from ...core import config
from ...core.release.check_results import CheckResult
from .matching import right_answers
from .subject import Kind, Subject

EVALUATED = {"detection": "map50", "classification": "accuracy"}


@dataclass(frozen=True)
class Predictions:
    """Limits of the check.

    Attributes:
        min_fraction_of_eval: minimum share of right answers, as a fraction of the evaluated metric (map50, accuracy).
    """

    min_fraction_of_eval: float = 0.5

    def __post_init__(self) -> None:
        config.at_least("min_fraction_of_eval", self.min_fraction_of_eval, 0)


def check(subject: Subject, limits: Predictions) -> CheckResult:
    """The share of objects found (IoU ≥ 0.5, score ≥ 0.3) or of labels right.

    Raises:
        AnswerError: the server does not answer as it should.
    """
    card, metrics = subject.bundle.card, subject.model.metrics
    if not card.samples:
        return CheckResult("predictions", False, notes=("the bundle has no sample images",))
    metric = EVALUATED[card.task]
    if metric not in metrics:
        return CheckResult("predictions", False, notes=(f"the registry has no '{metric}' for this version",))
    right = total = 0
    for sample in card.samples:
        answer = subject.client.predict(subject.bundle.sample_bytes(sample))
        found = right_answers(answer, sample, card.classes)
        right, total = right + found[0], total + found[1]
    if not total:
        return CheckResult("predictions", True, notes=("the sample images show no object",))
    share, minimum = right / total, limits.min_fraction_of_eval * metrics[metric]
    notes = [f"{right} of {total} {'objects found' if card.task == 'detection' else 'labels right'}"]
    if share < minimum:
        of_eval = f"{limits.min_fraction_of_eval:g} of {metric} {metrics[metric]:.2f}"
        notes.append(f"share {share:.2f} < {minimum:.2f} ({of_eval})")
    figures = {"share": share, "minimum": minimum, "images": float(len(card.samples))}
    return CheckResult("predictions", share >= minimum, figures, tuple(notes))


KIND = Kind(Predictions, check)
