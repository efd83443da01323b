from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from towpath.components.check.client import Client
from towpath.components.check.kinds import Subject, regression
from towpath.components.check.kinds.matching import matches
from towpath.components.check.kinds.regression import Regression
from towpath.components.core.backends.base import Deployment, ServedModel
from towpath.components.core.models import bundle
from towpath.components.core.release.check_results import CheckResult
from towpath.components.core.release.registry import Version


def test_boxes_match_once_and_within_their_class() -> None:
    one = np.array([[0, 0, 0.5, 0.5]], np.float32)
    two = np.array([[0, 0, 0.5, 0.5], [0, 0, 0.5, 0.4]], np.float32)
    none = np.zeros((0, 4), np.float32)
    assert matches(one, ["a"], two, ["a", "a"]) == 1
    assert matches(two, ["a", "b"], two, ["b", "a"]) == 2
    assert matches(one, ["a"], one, ["b"]) == 0
    assert matches(one, ["a"], one + np.float32(0.3), ["a"]) == 0
    assert matches(none, [], one, ["a"]) == 0


@pytest.fixture
def answering() -> Iterator[Callable[[list[str], str], str]]:
    """A server that gives the same label to every image, to compare with."""
    servers = []

    def start(classes: list[str], label: str) -> str:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                entry = {"name": "colours", "version": "1", "task": "classification", "classes": classes}
                self._reply({"models": [entry]})

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self._reply({"predictions": [{"classes": classes, "scores": [float(c == label) for c in classes]}]})

            def _reply(self, value: object) -> None:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(value).encode())

            def log_message(self, *_: object) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


def test_regression_tells_answers_and_classes_apart(
    make_classifier: Callable[..., Path], answering: Callable[[list[str], str], str]
) -> None:
    known = bundle.read(make_classifier())
    model = Version("colours", "2", "classification", "", known.folder, {}, {}, {})
    red = answering(["red", "green", "blue"], "red")
    blue = answering(["red", "green", "blue", "grey"], "blue")
    champion = Deployment("demo", "live", blue, (ServedModel("colours", "1", ""),), "")

    def found(url: str) -> CheckResult:
        with Client(url, "colours", "classification", 5) as client:
            return regression.check(Subject(client, model, known, champion, 5), Regression(0.7))

    different = found(red)
    assert not different.passed
    assert different.figures == {"agreement": 0.0, "minimum": 0.7, "better": 1.0, "worse": 1.0}
    assert different.notes == (
        "the classes differ from the champion's (gone: grey)",
        "against version 1: 1 images answered better, 1 worse",
        "agreement 0.00 < 0.70",
    )
    assert found(blue).passed
