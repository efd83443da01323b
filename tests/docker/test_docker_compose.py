"""The compose file brought up: what the pipeline's container hands over is what the environments serve."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from towpath.components.core.models import bundle

# In place of `towpath run`, which takes minutes: a model that came as far as staging.
PIPELINE = """
services:
  pipeline:
    image: {image}
    command:
      - sh
      - -ec
      - |
        python -c "
        from towpath.components.core.models import bundle
        from towpath.components.core.release import registry
        version = registry.register(bundle.read('/bundle'), {{'map50': 0.9}})
        for environment in ('demo', 'app-demo', 'staging'):
            registry.set_deployed_version(version.name, version.version, environment)
        "
        python /opt/export_environments.py /models
    volumes: ["{bundle}:/bundle:ro"]
"""
PORTS = {"demo": 8501, "app-demo": 8502, "staging": 8503}

pytestmark = pytest.mark.engine

Compose = Callable[..., str]


@pytest.fixture
def compose(
    root: Path, base: str, serve_image: str, core_image: str, tiny_detector: Path, tmp_path: Path
) -> Iterator[Compose]:
    """Gives compose commands to a project of its own, which is gone at the end."""
    override = tmp_path / "pipeline.yaml"
    override.write_text(PIPELINE.format(image=core_image, bundle=tiny_detector))
    project = f"towpath{uuid.uuid4().hex}"
    files = ["--file", root / "docker" / "compose.yaml", "--file", override]

    def run(*words: str) -> str:
        command = ["docker-compose", "--project-name", project, *files, *words]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "BASE": base})
        assert done.returncode == 0, done.stderr
        return done.stdout

    yield run
    run("down", "--volumes")


def test_environments_serve_what_they_hold_and_end_where_they_hold_nothing(
    compose: Compose, tiny_detector: Path
) -> None:
    compose("up", "--detach", "--no-build")
    tiny = bundle.read(tiny_detector)
    image = tiny.sample_bytes(tiny.card.samples[0])
    answers = []
    for environment, port in PORTS.items():
        # Until the models are loaded; each try takes as long as Python's start.
        ready = "import urllib.request as w; w.urlopen('http://127.0.0.1:8501/readyz', timeout=2)"
        wait = f'for _ in $(seq 60); do python -c "{ready}" 2>/dev/null && exit 0; done; exit 1'
        compose("exec", "-T", environment, "sh", "-c", wait)
        url = f"http://127.0.0.1:{port}/v1/models/squares:detect"
        answer = httpx.post(url, content=image, timeout=60, trust_env=False).raise_for_status().json()
        answers.append((answer["version"], answer["objects"]))
    assert answers == [answers[0]] * 3
    assert answers[0][0] == "1"
    assert [one["label"] for one in answers[0][1]] == ["bright", "dark"]
    assert "no model is deployed to prod" in compose("logs", "--no-color", "prod")
    running = compose("ps", "--services", "--filter", "status=running").split()
    assert set(running) == set(PORTS)
