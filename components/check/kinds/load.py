"""A short closed-loop test: every connection sends its next image when the last one is answered."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from ...core import config
from ...core.release.check_results import CheckResult
from ..client import AnswerError, Client
from .subject import Kind, Subject

MAX_REQUESTS = 20_000  # whatever the seconds: a check, not a siege


@dataclass(frozen=True)
class Load:
    """Limits of the check.

    Attributes:
        connections: at the same time.
        seconds: that it lasts.
        max_p99_ms: maximum milliseconds for 99 of 100 requests.
        max_errors: maximum of requests that may fail.
    """

    connections: int = 4
    seconds: float = 3.0
    max_p99_ms: float = 2000.0
    max_errors: int = 0

    def __post_init__(self) -> None:
        config.at_least("connections", self.connections, 1)
        config.at_least("seconds", self.seconds, 0.1)
        config.at_least("max_p99_ms", self.max_p99_ms, 1)
        config.at_least("max_errors", self.max_errors, 0)


@dataclass
class Tally:
    """What one connection saw."""

    milliseconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def check(subject: Subject, limits: Load) -> CheckResult:
    """Posts images from several connections for some seconds: requests/s, latencies and errors, held to the limits."""
    images, client = subject.images, subject.client
    if not images:
        return CheckResult("load", False, notes=("the bundle has no sample images to post",))
    stop = threading.Event()  # one connection out of its count ends all

    def connection(number: int) -> Tally:
        tally, client = Tally(), clients[number]
        for turn in range(MAX_REQUESTS // limits.connections):
            _one(client, images[(number + turn) % len(images)], tally)
            if time.monotonic() >= deadline or stop.is_set():
                return tally
        stop.set()
        return tally

    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(client.another()) for _ in range(limits.connections)]
        pool = stack.enter_context(ThreadPoolExecutor(limits.connections))
        begun = time.monotonic()
        deadline = begun + limits.seconds
        tallies = list(pool.map(connection, range(limits.connections)))
    return _result(tallies, limits, time.monotonic() - begun)


def _one(client: Client, image: bytes, tally: Tally) -> None:
    sent = time.monotonic()
    try:
        response = client.post_image(image)
        if response.status_code != 200:
            tally.failures.append(f"answers {response.status_code}: {response.text[:100]}")
            return
    except AnswerError as error:
        tally.failures.append(str(error))
        return
    tally.milliseconds.append((time.monotonic() - sent) * 1000)


def _result(tallies: Sequence[Tally], limits: Load, seconds: float) -> CheckResult:
    latencies = [value for tally in tallies for value in tally.milliseconds]
    failures = [text for tally in tallies for text in tally.failures]
    figures = {"requests_per_second": len(latencies) / seconds, "errors": float(len(failures))}
    notes = []
    if latencies:
        figures["p50_ms"], figures["p99_ms"] = (float(np.percentile(latencies, share)) for share in (50, 99))
        if figures["p99_ms"] > limits.max_p99_ms:
            notes.append(f"p99 {figures['p99_ms']:.0f} ms > {limits.max_p99_ms:.0f} ms")
    else:
        notes.append("no request was answered")
    if len(failures) > limits.max_errors:
        notes.append(f"errors {len(failures)} > {limits.max_errors}, the first: {failures[0]}")
    passed = not notes
    notes.append(f"{limits.connections} connections, {limits.seconds:g} s")
    return CheckResult("load", passed, figures, tuple(notes), seconds)


KIND = Kind(Load, check)
