"""Checks a served version over HTTP: what it is asked, and what its environment's rules ask of the answers."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..core import progress
from ..core.backends.base import backend
from ..core.backends.local.service_state import Server
from ..core.models import bundle
from ..core.models.bundle import Bundle
from ..core.release import environments, registry
from ..core.release.check_results import CheckResult, Results
from ..core.release.environments import Health, Limits, Load, Predictions, Regression, Smoke
from ..core.release.registry import Version
from ..core.task import Task
from . import compare, load_test
from .ask import AnswerError, Service
from .config import CheckConfig

# A PNG's signature and nothing behind it: every decoder tries, none succeeds.
BROKEN_IMAGE = b"\x89PNG\r\n\x1a\n" + b"\0" * 32


def check(name: str, version: str, environment: str, url: str, config: CheckConfig) -> Results:
    """Runs the checks that an environment's rules ask for. A check that fails is a result, not an error.

    Args:
        name, version: in the registry, which gives the sample images and the evaluated metrics.
        environment: whose rules and whose serving version it is held to.
        url: of the server to ask; no other is, but the one that serves the environment now.

    Raises:
        ConfigError: no such environment, model or version.
    """
    rules = environments.find(environments.read(config.environments), environment)
    model = registry.get(name, version)
    known = bundle.read(model.bundle)
    champion = backend(config.backend).live(environment)
    results: list[CheckResult] = []
    with (
        Service(url, name, known.card.task, config.timeout_seconds) as service,
        progress.bar(f"checking {name} for {environment}", len(rules.checks)) as bar,
    ):
        for kind, limits in rules.checks.items():
            if results and not results[0].passed:
                results.append(CheckResult(kind, False, notes=("skipped: the health check failed",)))
            else:
                results.append(_timed(kind, _runner(limits, model, known, url, service, champion, config)))
            bar.advance(note=kind)
    return Results(name, model.version, environment, url, tuple(results))


def _runner(
    limits: Limits,
    model: Version,
    known: Bundle,
    url: str,
    service: Service,
    champion: Server | None,
    config: CheckConfig,
) -> Callable[[], CheckResult]:
    task = known.card.task
    images = [known.sample_bytes(sample) for sample in known.card.samples]
    if isinstance(limits, Health):
        return lambda: health(service, model.version)
    if isinstance(limits, Predictions):
        return lambda: compare.predictions(service, known, model.metrics, limits)
    if isinstance(limits, Regression):
        return lambda: compare.regression(service, known, champion, limits, config.timeout_seconds)
    if isinstance(limits, Smoke):
        return lambda: smoke(service, images)
    return lambda: _load(url, model.name, task, images, limits, config)


def _timed(kind: str, run: Callable[[], CheckResult]) -> CheckResult:
    begun = time.monotonic()
    try:
        result = run()
    except AnswerError as error:
        result = CheckResult(kind, False, notes=(str(error),))
    return CheckResult(kind, result.passed, result.figures, result.notes, round(time.monotonic() - begun, 3))


def health(service: Service, version: str) -> CheckResult:
    """Ready, and the version that it reports is the one that was deployed. Raises: AnswerError."""
    response = service.get("/readyz")
    if response.status_code != 200:
        return CheckResult("health", False, notes=(f"/readyz answers {response.status_code}",))
    models = service.models()
    if service.name not in models:
        there = ", ".join(models) or "none"
        return CheckResult("health", False, notes=(f"the server has no model '{service.name}' (it has: {there})",))
    reported = models[service.name].get("version")
    if reported != version:
        return CheckResult("health", False, notes=(f"the server reports version {reported}, not {version}",))
    return CheckResult("health", True)


def smoke(service: Service, images: list[bytes]) -> CheckResult:
    """An image is answered, a broken one is refused as the sender's fault, and the demo page is there.

    Raises:
        AnswerError: the server does not answer.
    """
    notes = []
    if images:
        status = service.post_image(images[0]).status_code
        if status != 200:
            notes.append(f"a sample image is answered with {status}, not 200")
    else:
        notes.append("the bundle has no sample images to post")
    status = service.post_image(BROKEN_IMAGE).status_code
    if status != 400:
        notes.append(f"a broken image is answered with {status}, not 400")
    page = service.get("/")
    if page.status_code != 200:
        notes.append(f"the demo page is answered with {page.status_code}, not 200")
    return CheckResult("smoke", not notes, notes=tuple(notes))


def _load(url: str, name: str, task: Task, images: list[bytes], limits: Load, config: CheckConfig) -> CheckResult:
    if not images:
        return CheckResult("load", False, notes=("the bundle has no sample images to post",))
    return load_test.load(url, name, task, images, limits, config.timeout_seconds)
