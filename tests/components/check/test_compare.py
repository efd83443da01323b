from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from towpath.components.check.ask import Service
from towpath.components.check.compare import regression
from towpath.components.check.matching import matches
from towpath.components.core.backends.local.service_state import ServedModel, Server
from towpath.components.core.models import bundle
from towpath.components.core.release.environments import Regression


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
                self._say({"models": [entry]})

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self._say({"predictions": [{"classes": classes, "scores": [float(c == label) for c in classes]}]})

            def _say(self, value: object) -> None:
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
    held = (ServedModel("colours", "1", ""),)
    red = answering(["red", "green", "blue"], "red")
    blue = answering(["red", "green", "blue", "grey"], "blue")
    champion = Server(0, 0.0, 0, blue, held, "")
    with Service(red, "colours", "classification", 5) as service:
        found = regression(service, known, champion, Regression(0.7), 5)
    assert not found.passed
    assert found.figures == {"agreement": 0.0, "least": 0.7, "better": 1.0, "worse": 1.0}
    assert found.notes == (
        "the classes differ from the champion's (gone: grey)",
        "against version 1: 1 images answered better, 1 worse",
        "agreement 0.00 < 0.70",
    )
    with Service(blue, "colours", "classification", 5) as service:
        assert regression(service, known, champion, Regression(0.7), 5).passed
