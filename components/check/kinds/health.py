"""The server is ready and reports the version that was deployed."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.release.check_results import CheckResult
from .subject import Kind, Subject


@dataclass(frozen=True)
class Health:
    """It has no limits."""


def check(subject: Subject, limits: Health) -> CheckResult:
    """Asks for readiness and the version.

    Raises:
        AnswerError: the server does not answer.
    """
    client, version = subject.client, subject.model.version
    response = client.get("/readyz")
    if response.status_code != 200:
        return CheckResult("health", False, notes=(f"/readyz answers {response.status_code}",))
    models = client.models()
    if client.name not in models:
        existing = ", ".join(models) or "none"
        return CheckResult("health", False, notes=(f"the server has no model '{client.name}' (it has: {existing})",))
    reported = models[client.name].get("version")
    if reported != version:
        return CheckResult("health", False, notes=(f"the server reports version {reported}, not {version}",))
    return CheckResult("health", True)


KIND = Kind(Health, check)
