"""The decision itself: what an environment's rules require, beside what was found. It changes nothing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..core.release.check_results import Results
from ..core.release.decisions import Event
from ..core.release.environments import Environment
from ..core.release.registry import Version


@dataclass(frozen=True)
class Finding:
    """One rule, and whether it is met. `text` says so with its figures ("map50 0.31 < 0.50")."""

    rule: str
    met: bool
    text: str


def decide(
    rules: Environment, model: Version, results: Results, approved: Collection[str], before: list[Event]
) -> list[Finding]:
    """Holds a version against an environment's rules.

    Args:
        rules: of the environment.
        model: with its evaluated metrics.
        results: of the checks.
        approved: what people have approved.
        before: the model's history in the previous environment; empty where there is none.

    Returns:
        A finding per rule; the version may be promoted when all are met.
    """
    return [
        *_evaluation(rules, model),
        *_previous(rules, model, before),
        *_checks(rules, model, results),
        *(_approval(what, what in approved) for what in rules.approvals),
    ]


def _evaluation(rules: Environment, model: Version) -> list[Finding]:
    found = []
    for metric, minimum in rules.evaluation.get(model.task, {}).items():
        if metric not in model.metrics:
            found.append(Finding("evaluation", False, f"{metric} was not evaluated (minimum {minimum:.2f} required)"))
            continue
        value = model.metrics[metric]
        # More digits where two would make 0.499 look like 0.50.
        digits = 2 if f"{value:.2f}" != f"{minimum:.2f}" else 4
        sign = ">=" if value >= minimum else "<"
        found.append(
            Finding("evaluation", value >= minimum, f"{metric} {value:.{digits}f} {sign} {minimum:.{digits}f}")
        )
    return found


def _previous(rules: Environment, model: Version, before: list[Event]) -> list[Finding]:
    if rules.previous is None:
        return []
    name = f"version {model.version}"
    for event in reversed(before):
        if event.action == "promote" and event.version == model.version:
            return [Finding("previous", True, f"{name} was promoted to {rules.previous} on {event.when}")]
        if event.action == "rollback" and event.version == model.version:
            return [Finding("previous", True, f"{name} serves {rules.previous} again since {event.when}")]
        if event.action == "rollback" and event.previous == model.version:
            return [Finding("previous", False, f"{name} was taken out of {rules.previous} on {event.when}")]
    return [Finding("previous", False, f"{name} has not been in {rules.previous}")]


def _checks(rules: Environment, model: Version, results: Results) -> list[Finding]:
    if (results.name, results.version, results.environment) != (model.name, model.version, rules.name):
        about = f"{results.name} {results.version} in {results.environment}"
        return [Finding("checks", False, f"the results are about {about}, not {model.name} {model.version}")]
    done = {result.check: result for result in results.checks}
    found = []
    for kind in rules.checks:
        if kind not in done:
            found.append(Finding(f"check {kind}", False, f"check {kind} was not run"))
            continue
        passed, notes = done[kind].passed, "; ".join(done[kind].notes)
        text = f"check {kind} {'passed' if passed else 'failed'}"
        found.append(Finding(f"check {kind}", passed, f"{text}: {notes}" if notes else text))
    return found


def _approval(what: str, given: bool) -> Finding:
    text = f"approved: {what}" if given else f"approval missing: {what} (give it with --approve {what})"
    return Finding(f"approval {what}", given, text)
