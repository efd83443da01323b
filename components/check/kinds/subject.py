"""What every kind of check is given: the server to query, and what is known about the version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ...core.backends.base import Deployment
from ...core.models.bundle import Bundle
from ...core.release.check_results import CheckResult
from ...core.release.registry import Version
from ..client import Client

L = TypeVar("L")


@dataclass(frozen=True)
class Subject:
    """A served version under check.

    Attributes:
        client: queries the server.
        model: the version, with its evaluated metrics.
        bundle: its bundle, with sample images and their known answers.
        champion: the deployment that serves the environment now; None where none does.
        timeout: seconds for one answer.
    """

    client: Client
    model: Version
    bundle: Bundle
    champion: Deployment | None
    timeout: float

    @property
    def images(self) -> list[bytes]:
        """The bundle's sample images, encoded."""
        return [self.bundle.sample_bytes(sample) for sample in self.bundle.card.samples]


@dataclass(frozen=True)
class Kind(Generic[L]):
    """A kind of check.

    Attributes:
        limits: its dataclass: fields, defaults and what they refuse are what environments.yaml may say.
        run: holds a subject to them; may raise AnswerError, which fails the check.
    """

    limits: Callable[..., L]
    run: Callable[[Subject, L], CheckResult]


AnyKind = Kind[Any]
