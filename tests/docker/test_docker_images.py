"""The images as an engine builds and runs them: how large, as whom, and whether they answer as this process does."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from docker_engine import DOCKER

import towpath
from towpath.components.core.models import bundle
from towpath.components.core.models.predictor import Predictor

LARGEST_SERVE = 450e6  # bytes; the base image that engine-up makes is half of it
LOCKED_DOWN = ("--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges")

pytestmark = pytest.mark.engine


def _docker(*words: object) -> str:
    return subprocess.run([DOCKER, *map(str, words)], check=True, stdout=subprocess.PIPE, text=True).stdout


@contextlib.contextmanager
def _container(*words: object) -> Iterator[str]:
    """Runs a container in the background; it is gone at the end of the `with`."""
    name = f"towpath-test-{uuid.uuid4().hex}"
    _docker("run", "--detach", "--name", name, *LOCKED_DOWN, *words)
    try:
        yield name
    finally:
        _docker("rm", "--force", name)


def _log_until(name: str, pattern: str) -> re.Match[str]:
    """Follows a container's log until a line matches, or it ends."""
    lines = []
    with subprocess.Popen(
        [DOCKER, "logs", "--follow", name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as log:
        assert log.stdout is not None
        try:
            for line in log.stdout:
                lines.append(line)
                if found := re.search(pattern, line):
                    return found
        finally:
            log.terminate()
    raise AssertionError("".join(lines))


def test_the_serve_image_is_small_and_not_root(serve_image: str) -> None:
    (result,) = json.loads(_docker("image", "inspect", serve_image))
    assert result["Size"] <= LARGEST_SERVE
    assert result["Config"]["User"] == "10001:10001"
    assert result["Config"]["Labels"]["org.opencontainers.image.version"] == towpath.__version__
    assert list(result["Config"]["ExposedPorts"]) == ["8501/tcp"]
    script = "id -u; touch /opt/towpath/x 2>/dev/null && echo writable; command -v gcc cc /opt/towpath/bin/pip"
    done = subprocess.run(
        [DOCKER, "run", "--rm", "--network", "none", "--entrypoint", "sh", serve_image, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert done.stdout.split() == ["10001"]


def test_the_serve_image_answers_as_this_process_does(serve_image: str, tiny_detector: Path) -> None:
    tiny = bundle.read(tiny_detector)
    image = tiny.sample_bytes(tiny.card.samples[0])
    (expected,) = Predictor(tiny)([image])
    assert expected.detections is not None
    mounted = (f"{tiny_detector}:/models/current:ro", serve_image, "/models/current", "--version", "3", "--port", "0")
    with _container("--network", "host", "--volume", *mounted) as name:
        url = _log_until(name, r"Serving at (http://127\.0\.0\.1:\d+)")[1]
        with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
            assert client.get("/readyz").status_code == 200
            answer = client.post("/v1/models/squares:detect", content=image).raise_for_status().json()
        _docker("stop", name)
        assert _docker("inspect", "--format", "{{.State.ExitCode}}", name).strip() == "0"
    assert answer["version"] == "3"
    assert [one["label"] for one in answer["objects"]] == [tiny.card.classes[one] for one in expected.detections.labels]
    boxes = [[one["box"][side] for side in ("y_min", "x_min", "y_max", "x_max")] for one in answer["objects"]]
    np.testing.assert_allclose(boxes, expected.detections.boxes * 256, atol=1e-3)
    np.testing.assert_allclose([one["score"] for one in answer["objects"]], expected.detections.scores, atol=1e-3)


def test_the_engine_sees_that_the_server_is_healthy(serve_image: str, tiny_detector: Path) -> None:
    with _container("--network", "none", "--volume", f"{tiny_detector}:/models/current:ro", serve_image) as name:
        command = [DOCKER, "events", "--since", "0", "--filter", f"container={name}", "--filter", "event=health_status"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as events:
            assert events.stdout is not None
            try:
                assert "health_status: healthy" in events.stdout.readline()
            finally:
                events.terminate()


def test_a_server_without_a_model_says_so_and_ends(serve_image: str) -> None:
    done = subprocess.run(
        [DOCKER, "run", "--rm", "--network", "none", *LOCKED_DOWN, serve_image], capture_output=True, text=True
    )
    assert done.returncode == 3
    assert "/models/current: there is no model.json" in done.stderr


def test_the_core_image_holds_the_command_and_kfps_executor(core_image: str) -> None:
    script = "id -u; towpath --version; python -m kfp.dsl.executor_main --help >/dev/null && python -c 'import mlflow'"
    result = _docker("run", "--rm", "--network", "none", core_image, "sh", "-ec", script)
    assert result.split() == ["10001", "towpath", towpath.__version__]
