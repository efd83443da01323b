"""The server as a process: start, readiness, metrics, drain, takeover, exit codes."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import httpx
import pytest
import tiny_models
from live_server import Served, launch, squares
from prometheus_client.parser import text_string_to_metric_families

from towpath.components.core.models import bundle
from towpath.components.core.models.bundle import Sample
from towpath.components.serve.__main__ import main


def metrics(served: Served) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Every sample of /metrics by name and labels."""
    response = served.client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


def key(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    return name, frozenset(labels.items())


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionError:
        return False
    return True


def test_metrics_count_requests_phases_and_models(bundles: tuple[Path, Path]) -> None:
    with launch(*bundles, "--version", "3", "--version", "4") as served:
        url = "/v1/models"
        for _ in range(3):
            served.client.post(f"{url}/squares:detect", content=squares())
        served.client.post(f"{url}/squares:detect", content=b"x")
        served.client.get(f"{url}/made-up-by-a-stranger")
        found = metrics(served)
    assert found[key("towpath_requests_total", model="squares", route="detect", status="200")] == 3
    assert found[key("towpath_requests_total", model="squares", route="detect", status="400")] == 1
    assert found[key("towpath_requests_total", model="", route="model_status", status="404")] == 1
    for phase in ("decode", "inference", "total"):
        assert found[key("towpath_request_seconds_count", model="squares", phase=phase)] == 3
        assert found[key("towpath_request_seconds_sum", model="squares", phase=phase)] > 0
    info = {"model": "colours", "version": "4", "task": "classification", "variant": "float32"}
    assert found[key("towpath_model_info", **info)] == 1
    assert found[key("towpath_in_flight")] == 0
    assert found[key("process_resident_memory_bytes")] > 1 << 20


def test_a_client_that_leaves_is_counted_and_frees_its_place(server: Served) -> None:
    head = b"POST /v1/models/squares:detect HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as leaving:
        leaving.sendall(head + bytes(10))
        while metrics(server)[key("towpath_in_flight")] != 1:
            pass
    while metrics(server)[key("towpath_in_flight")] != 0:
        pass
    assert metrics(server)[key("towpath_requests_total", model="squares", route="detect", status="499")] == 1


def test_it_lives_before_it_is_ready(tmp_path: Path) -> None:
    folder = tiny_models.detector(tmp_path / "slow", samples=((b"", Sample("gate.png", ())),))
    gate = folder / bundle.SAMPLES / "gate.png"
    gate.unlink()
    os.mkfifo(gate)  # the warm-up waits for what the test writes here
    port = free_port()
    with launch(folder, "--port", port, wait=False) as served:
        with gate.open("wb") as loading:
            while not accepts(port):
                pass
            served.client.base_url = f"http://127.0.0.1:{port}"
            assert served.client.get("/healthz").status_code == 200
            assert served.client.get("/readyz").status_code == 503
            waiting = served.client.post("/v1/models/squares:detect", content=squares())
            assert waiting.status_code == 503
            assert "retry-after" in waiting.headers
            loading.write(squares())
        while served.client.get("/readyz").status_code != 200:
            pass
        assert served.client.post("/v1/models/squares:detect", content=squares()).status_code == 200
        assert served.stop() == 0


def test_sigterm_lets_a_request_in_flight_finish(bundles: tuple[Path, Path]) -> None:
    image = squares((1, 1, 255))
    head = f"POST /v1/models/squares:detect HTTP/1.1\r\nhost: x\r\ncontent-length: {len(image)}\r\n\r\n".encode()
    with launch(bundles[0]) as served, socket.create_connection(("127.0.0.1", served.port)) as slow:
        slow.sendall(head + image[:100])
        while metrics(served)[key("towpath_in_flight")] != 1:
            pass
        stopped = threading.Thread(target=served.stop)
        stopped.start()
        while accepts(served.port):
            pass
        slow.sendall(image[100:])
        answer = b"".join(iter(lambda: slow.recv(65536), b""))
        stopped.join()
        assert served.process.returncode == 0
    assert answer.startswith(b"HTTP/1.1 200")
    assert b'"label": "bright"' in answer


def test_a_new_process_takes_over_a_shared_port(bundles: tuple[Path, Path]) -> None:
    answers: list[httpx.Response] = []
    enough = threading.Event()
    path = "/v1/models/squares:detect"
    fresh = {"connection": "close"}  # a connection a request: each may reach either process

    def keep_asking(client: httpx.Client) -> None:
        while not enough.is_set():
            answers.append(client.post(path, content=squares(), headers=fresh))

    with launch(bundles[0], "--version", "1", "--reuse-port") as old:
        asking = threading.Thread(target=keep_asking, args=(old.client,))
        asking.start()
        try:
            with launch(bundles[0], "--version", "2", "--reuse-port", "--port", old.port) as new:
                assert old.stop() == 0
                after = [new.client.post(path, content=squares(), headers=fresh) for _ in range(20)]
                enough.set()
                asking.join()
        finally:
            enough.set()
            asking.join()
    assert {answer.status_code for answer in answers + after} == {200}
    assert {answer.json()["version"] for answer in after} == {"2"}
    assert answers[0].json()["version"] == "1"
    assert answers[-1].json()["version"] == "2"


def test_the_ready_file_and_the_log_tell_the_address(server: Served) -> None:
    assert server.url == f"http://127.0.0.1:{server.port}"
    assert f"Serving at {server.url}; Ctrl-C stops it.\n" in server.log
    assert server.client.get("/readyz").status_code == 200
    assert server.client.get("/healthz").json() == {"status": "ok"}


def test_an_unloadable_bundle_ends_the_process_with_its_exit_code(tmp_path: Path) -> None:
    with launch(tiny_models.poisoned(tmp_path / "poisoned"), wait=False) as served:
        assert served.process.wait(timeout=60) == 3
    assert "NaN" in "".join(served.log)
    assert "Traceback" not in "".join(served.log)


def test_wrong_arguments_end_with_their_exit_code_and_one_message(
    bundles: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    detector = str(bundles[0])
    damaged = tiny_models.detector(tmp_path / "damaged")
    (damaged / "variants" / "float32" / "model.tflite").write_bytes(b"not a model")
    slashed = tiny_models.detector(tmp_path / "slashed", name="a/b")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        cases = [
            ([str(tmp_path / "nothing")], 3, "there is no model.json"),
            ([str(damaged)], 3, "cannot be loaded"),
            ([str(slashed)], 2, "cannot be part of a URL"),
            ([detector, detector], 2, "both called 'squares'"),
            ([detector, "--version", "1", "--version", "2"], 2, "1 bundles, but 2 versions"),
            ([detector, "--variant", "float33"], 2, "Did you mean 'float32'?"),
            ([detector, "--workers-threads", "0"], 2, "at least 1"),
            ([detector, "--port", "70000"], 2, "at most 65535"),
            ([detector, "--host", "no.such.host.invalid"], 2, "cannot be resolved"),
            ([detector, "--port", str(taken.getsockname()[1])], 75, "the port is already in use"),
        ]
        for arguments, code, message in cases:
            assert main(arguments) == code, arguments
            result = capsys.readouterr().err
            assert message in result
            assert "Traceback" not in result
