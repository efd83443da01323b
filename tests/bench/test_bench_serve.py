"""What HTTP costs: the server's requests a second beside the bare predictor's images a second."""

from __future__ import annotations

import contextlib
import os
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import httpx
import numpy as np
import pytest
from bench_table import show

from towpath.components.core.models import bundle
from towpath.components.core.models.predictor import Prediction, Predictor

# Each is measured so often by turns, for so long.
ROUNDS = 3
SECONDS = 1.5
CONNECTIONS = (1, 8)
# As a phone's app would send it: 640×480, JPEG.
HEIGHT, WIDTH = 480, 640
CELL = WIDTH // 8
ROUTE = "/v1/models/squares:detect"
PLACES = [(row, column) for row in range(6) for column in range(8)]
IMAGES = len(PLACES)


@dataclass
class Measured:
    """Answers by image, what each took in ms, and the rate of each round."""

    rates: list[float] = field(default_factory=list)
    taken: list[float] = field(default_factory=list)
    answers: list[tuple[int, object]] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)

    def row(self, name: str, bare: float) -> tuple[object, ...]:
        """Of the table."""
        p50, p99 = np.percentile(self.taken, (50, 99))
        spread = f"{self.rate:.0f} ({min(self.rates):.0f}-{max(self.rates):.0f})"
        return name, spread, float(p50), float(p99), self.rate / bare


def measure(into: Measured, threads: int, ask: Callable[[int, int], object]) -> None:
    """Calls `ask(thread, image)` from several threads at once, for SECONDS after a call each to warm up."""
    taken: list[list[float]] = [[] for _ in range(threads)]
    answers: list[list[tuple[int, object]]] = [[] for _ in range(threads)]
    ready = threading.Barrier(threads + 1)
    failed: list[BaseException] = []

    def work(thread: int) -> None:
        try:
            ask(thread, 0)
            ready.wait()
            end = time.perf_counter() + SECONDS
            number = thread
            while (begun := time.perf_counter()) < end:
                answers[thread].append((number % IMAGES, ask(thread, number % IMAGES)))
                taken[thread].append(time.perf_counter() - begun)
                number += 1
        except BaseException as error:
            failed.append(error)
            ready.abort()

    workers = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
    for worker in workers:
        worker.start()
    with contextlib.suppress(threading.BrokenBarrierError):  # a worker failed: see below
        ready.wait()
    begun = time.perf_counter()
    for worker in workers:
        worker.join()
    seconds = time.perf_counter() - begun
    assert not failed, failed
    into.taken += [one * 1000 for some in taken for one in some]
    into.rates.append(sum(map(len, taken)) / seconds)
    into.answers += [one for some in answers for one in some]


def made_images(encoded: Callable[..., bytes]) -> list[bytes]:
    """Images of a soft grey slope with one bright square, each at another place."""
    slope = np.linspace(90, 150, WIDTH, dtype=np.float32)[None, :, None] + np.zeros((HEIGHT, 1, 3), np.float32)
    images = []
    for row, column in PLACES:
        pixels = slope.astype(np.uint8)
        pixels[row * CELL : (row + 1) * CELL, column * CELL : (column + 1) * CELL] = 255
        images.append(encoded(pixels, "jpeg"))
    return images


def check_boxes(image: int, boxes: np.ndarray) -> None:
    """The best box, in pixels, is the square that was drawn."""
    row, column = PLACES[image]
    assert np.allclose(boxes[0], np.array([row, column, row + 1, column + 1]) * CELL, atol=0.1)


@pytest.mark.bench
def test_the_server_beside_the_bare_predictor(tmp_path: Path, tiny_models: ModuleType, live_server: ModuleType) -> None:
    folder = tiny_models.detector(tmp_path / "squares")
    images = made_images(live_server.encoded)
    cores = len(os.sched_getaffinity(0))

    predictor = Predictor(bundle.read(folder), copies=cores)
    bare, floor, over = Measured(), Measured(), {connections: Measured() for connections in CONNECTIONS}
    with live_server.launch(folder) as served, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(httpx.Client(base_url=served.url, timeout=60)) for _ in range(max(CONNECTIONS))]
        for _ in range(ROUNDS):
            measure(bare, cores, lambda _, image: predictor([images[image]])[0])
            measure(floor, max(CONNECTIONS), lambda thread, _: clients[thread].get("/healthz"))
            for connections, measured in over.items():
                measure(measured, connections, lambda thread, image: clients[thread].post(ROUTE, content=images[image]))

    for image, answer in bare.answers:
        assert isinstance(answer, Prediction)
        assert answer.detections is not None
        check_boxes(image, answer.detections.boxes * [HEIGHT, WIDTH, HEIGHT, WIDTH])
    for _, answer in floor.answers:
        assert isinstance(answer, httpx.Response)
        assert answer.status_code == 200
    for image, answer in (one for measured in over.values() for one in measured.answers):
        assert isinstance(answer, httpx.Response)
        assert answer.status_code == 200
        box = answer.json()["objects"][0]["box"]
        check_boxes(image, np.array([[box[side] for side in ("y_min", "x_min", "y_max", "x_max")]]))

    show(
        "The server beside the bare predictor",
        f"A detector of one convolution on 64×64, {WIDTH}×{HEIGHT} JPEGs, decoded and answered one by one; medians of "
        f"{ROUNDS} rounds\nof {SECONDS} s, lowest and highest in brackets. The client's threads share the cores with "
        "the server:\n/healthz, which does no work, tells what client and HTTP take by themselves.",
        ("what", "a second", "p50 ms", "p99 ms", "of bare"),
        [
            bare.row(f"Predictor, {cores} threads", bare.rate),
            floor.row(f"/healthz, connections: {max(CONNECTIONS)}", bare.rate),
            *(measured.row(f"server, connections: {count}", bare.rate) for count, measured in over.items()),
        ],
    )
