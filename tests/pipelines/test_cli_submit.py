"""`towpath submit` against a server that answers as the API of Kubeflow Pipelines (v2beta1) does."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from cli_result import Cli


class Cluster(ThreadingHTTPServer):
    """Keeps what was sent to it. `status` other than 200 is its answer to everything."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.status = 200

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Answer(BaseHTTPRequestHandler):
    server: Cluster

    def do_GET(self) -> None:
        self._answer({"multi_user": False} if "healthz" in self.path else {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        what = self.path.rpartition("/")[2]
        self.server.sent.append((what, body))
        self._answer({"experiment_id": "experiment-1", "run_id": "run-1", "display_name": body["display_name"]})

    def _answer(self, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words: object) -> None:
        """Nothing: a test's output is what the command says."""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_pipeline_is_submitted_with_its_arguments(cli: Cli, cluster: Cluster) -> None:
    result = cli(
        *("submit", "train", "--host", f"{cluster.url}/", "--data", "gs://bucket/images", "--name", "first"),
        *("--set", "train.epochs=2", "--image-prefix", "registry.example.com/ml", "--tag", "7"),
    )
    assert result.code == 0, result.err
    assert result.out == f"train was submitted: {cluster.url}/#/runs/details/run-1\n"
    (_, experiment), (_, run) = cluster.sent
    assert experiment["display_name"] == "towpath"
    assert run["display_name"] == "first"
    assert run["experiment_id"] == "experiment-1"
    assert run["runtime_config"]["parameters"] == {"data": "gs://bucket/images", "train": {"epochs": 2}}
    spec = run["pipeline_spec"]
    assert spec["pipelineInfo"]["name"] == "train-pipeline"
    images = {executor["container"]["image"] for executor in spec["deploymentSpec"]["executors"].values()}
    assert images == {"registry.example.com/ml/train-cpu:7", "registry.example.com/ml/core:7"}
    assert spec["root"]["dag"]["tasks"]["register"]["cachingOptions"] == {}


def test_as_json_without_a_cache(cli: Cli, cluster: Cluster) -> None:
    result = cli("submit", "prepare", "--host", cluster.url, "--data", "digits", "--no-cache", "--json")
    assert json.loads(result.out) == {"run": "run-1", "url": f"{cluster.url}/#/runs/details/run-1"}
    tasks = cluster.sent[1][1]["pipeline_spec"]["root"]["dag"]["tasks"]
    assert not tasks["prepare"]["cachingOptions"].get("enableCache")


def test_arguments_are_checked_first(cli: Cli, cluster: Cluster) -> None:
    assert cli("submit", "train", "--host", cluster.url, "--set", "train.epoch=2").code == 2
    assert cluster.sent == []


def test_a_cluster_that_does_not_answer(cli: Cli) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    result = cli("submit", "prepare", "--data", "digits", "--host", f"http://127.0.0.1:{port}")
    assert result.code == 75
    assert f"Error: http://127.0.0.1:{port} does not answer as a Kubeflow Pipelines API" in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize(("status", "code"), [(503, 75), (403, 2)])
def test_a_cluster_that_refuses(cli: Cli, cluster: Cluster, status: int, code: int) -> None:
    cluster.status = status
    result = cli("submit", "prepare", "--data", "digits", "--host", cluster.url)
    assert result.code == code
    assert f"{cluster.url} answers {status}" in result.err
    assert "Traceback" not in result.err
