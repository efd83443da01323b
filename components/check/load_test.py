"""A short closed-loop test: every connection sends its next image when the last one is answered."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from ..core.release.check_results import CheckResult
from ..core.release.environments import Load
from ..core.task import Task
from .ask import AnswerError, Service

MAX_REQUESTS = 20_000  # whatever the seconds: a check, not a siege


@dataclass
class Tally:
    """What one connection saw."""

    milliseconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def load(url: str, name: str, task: Task, images: Sequence[bytes], limits: Load, timeout: float) -> CheckResult:
    """Posts images from several connections for some seconds.

    Returns:
        Requests a second, latencies and errors, held to the limits.
    """
    stop = threading.Event()  # one connection out of its count ends all

    def connection(number: int) -> Tally:
        tally, service = Tally(), services[number]
        for turn in range(MAX_REQUESTS // limits.connections):
            _one(service, images[(number + turn) % len(images)], tally)
            if time.monotonic() >= deadline or stop.is_set():
                return tally
        stop.set()
        return tally

    with contextlib.ExitStack() as stack:
        services = [stack.enter_context(Service(url, name, task, timeout)) for _ in range(limits.connections)]
        pool = stack.enter_context(ThreadPoolExecutor(limits.connections))
        begun = time.monotonic()
        deadline = begun + limits.seconds
        tallies = list(pool.map(connection, range(limits.connections)))
    return _result(tallies, limits, time.monotonic() - begun)


def _one(service: Service, image: bytes, tally: Tally) -> None:
    sent = time.monotonic()
    try:
        response = service.post_image(image)
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
        if figures["p99_ms"] > limits.p99_ms:
            notes.append(f"p99 {figures['p99_ms']:.0f} ms > {limits.p99_ms:.0f} ms")
    else:
        notes.append("no request was answered")
    if len(failures) > limits.errors:
        notes.append(f"errors {len(failures)} > {limits.errors}, the first: {failures[0]}")
    passed = not notes
    notes.append(f"{limits.connections} connections, {limits.seconds:g} s")
    return CheckResult("load", passed, figures, tuple(notes), seconds)
