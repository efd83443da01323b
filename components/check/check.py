"""Checks a served version over HTTP: the kinds of checks that its environment's rules ask for, with their limits."""

from __future__ import annotations

import time
from typing import Any

from ..core import progress
from ..core.backends.base import backend
from ..core.models import bundle
from ..core.release import environments, registry
from ..core.release.check_results import CheckResult, Results
from ..core.release.environments import Rules
from .client import AnswerError, Client
from .config import CheckConfig
from .kinds import KINDS, Subject, limits_of


def check(name: str, version: str, environment: str, url: str, rules: Rules, config: CheckConfig) -> Results:
    """Runs the checks that an environment's rules ask for. A check that fails is a result, not an error.

    Args:
        name: of the model in the registry, which gives the sample images and the evaluated metrics.
        version: of the model.
        environment: whose rules and whose serving version it is held to.
        url: of the server to query; no other is, but the one that serves the environment now.
        rules: of all environments.
        config: see CheckConfig.

    Raises:
        ConfigError: no such environment, model or version, or rules that no check understands.
    """
    entry = environments.find(rules, environment)
    limits = limits_of(entry)
    model = registry.get(name, version)
    known = bundle.read(model.bundle)
    champion = backend(entry.backend).live(environment)
    results: list[CheckResult] = []
    with (
        Client(url, name, known.card.task, config.timeout_seconds) as client,
        progress.bar(f"checking {name} for {environment}", len(limits)) as bar,
    ):
        subject = Subject(client, model, known, champion, config.timeout_seconds)
        for kind, limit in limits.items():
            if results and not results[0].passed:
                results.append(CheckResult(kind, False, notes=("skipped: the health check failed",)))
            else:
                results.append(_timed(kind, subject, limit))
            bar.advance(note=kind)
    return Results(name, model.version, environment, url, tuple(results))


def _timed(kind: str, subject: Subject, limits: Any) -> CheckResult:
    begun = time.monotonic()
    try:
        result = KINDS[kind].run(subject, limits)
    except AnswerError as error:
        result = CheckResult(kind, False, notes=(str(error),))
    return CheckResult(kind, result.passed, result.figures, result.notes, round(time.monotonic() - begun, 3))
