from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from towpath.components.core.models import bundle
from towpath.components.core.release import decisions, registry

pytestmark = pytest.mark.slow


@pytest.fixture
def tracking_server(tmp_path: Path) -> Iterator[str]:
    """MLflow's own server, as a team would run it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    options += [
        "--backend-store-uri",
        f"sqlite:///{tmp_path}/team.db",
        "--artifacts-destination",
        str(tmp_path / "team"),
    ]
    with (tmp_path / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "mlflow", "server", *options],
            stdout=log,
            stderr=log,
            cwd=tmp_path,
            start_new_session=True,
        )
        try:
            deadline = time.monotonic() + 120
            while not _answers(f"http://127.0.0.1:{port}/health"):
                assert time.monotonic() < deadline, (tmp_path / "server.log").read_text()
                threading.Event().wait(0.2)
            yield f"http://127.0.0.1:{port}"
        finally:
            # The server's own children do not all follow SIGTERM.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(30)


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, trust_env=False, timeout=2).status_code == 200
    except httpx.HTTPError:
        return False


def test_a_bundle_goes_to_a_server_and_comes_back(
    make_classifier: Callable[..., Path], tracking_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", tracking_server)
    found = bundle.read(make_classifier())
    made = registry.register(found, {"accuracy": 0.9})
    assert registry.register(found, {"accuracy": 0.9}) == made
    registry.set_deployed_version("colours", "1", "demo")
    registry.approve("colours", "1", "legal", "Ann")
    decisions.end(decisions.begin("promote", "colours", "1", "demo", None, ["good"]), {"a.b": 1.0}, {"x.md": "# x\n"})

    monkeypatch.setenv("TOWPATH_HOME", str(tmp_path / "another machine"))
    there = registry.get("colours", "demo")
    assert tmp_path / "another machine" in there.bundle.parents
    assert bundle.read(there.bundle).digest == found.digest
    assert (there.metrics, set(there.approvals)) == ({"accuracy": 0.9}, {"legal"})
    assert [event.version for event in decisions.history("demo")] == ["1"]
