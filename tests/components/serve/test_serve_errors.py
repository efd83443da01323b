"""What the server answers to bad requests: one form, the right status, and never a 5xx."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest
import tiny_models
from live_server import Served, encoded, launch, plain, squares

GOOD = base64.b64encode(squares()).decode()
LIMIT = 20_000


@pytest.fixture(scope="module")
def strict(bundles: tuple[Path, Path]) -> Iterator[Served]:
    """A server with tight limits."""
    limits = ("--max-body-bytes", LIMIT, "--max-instances", 2, "--workers-threads", 1, "--max-waiting", 1)
    with launch(*bundles, *limits) as served:
        yield served


def refused(response: httpx.Response, status: int) -> str:
    """The message of a refusal."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    (key,) = response.json()
    assert key == "error"
    return str(response.json()["error"])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", '{"instances"'),
        (b"{}", '{"instances"'),
        (b'{"instances": []}', "at least one"),
        (b'{"instances": "a"}', '{"instances"'),
        (b'{"instances": [1]}', "Instance 0 is not an image"),
        (b'{"instances": [{"b64": 1}]}', "Instance 0 is not an image"),
        (b'{"instances": [{"image_bytes": "a"}]}', "Instance 0 is not an image"),
        (b'{"instances": [{"b64": "?"}]}', "not base64"),
        (b'{"instances": [{"b64": "\\ud800"}]}', "not base64"),
        (b'{"instances": [{"b64": ""}]}', "empty"),
        (b'{"instances": [{"b64": "aGVsbG8="}]}', "not a valid image"),
        (json.dumps({"instances": [{"b64": GOOD}, {"b64": "aGVsbG8="}]}).encode(), "Instance 1: "),
    ],
)
def test_a_bad_body_is_a_400_that_says_why(server: Served, body: bytes, message: str) -> None:
    assert message in refused(server.client.post("/v1/models/squares:predict", content=body), 400)


def test_a_wrong_upload_is_a_400(server: Served) -> None:
    url = "/v1/models/squares:detect"
    assert "not a valid image" in refused(server.client.post(url, content=b"hello"), 400)
    assert "empty" in refused(server.client.post(url), 400)
    assert "field 'file'" in refused(server.client.post(url, files={"image": ("a.png", squares())}), 400)
    broken = {"content-type": "multipart/form-data; boundary=x"}
    assert "multipart" in refused(server.client.post(url, content=b"no form", headers=broken), 400)
    unbound = {"content-type": "multipart/form-data"}
    assert "multipart" in refused(server.client.post(url, content=b"", headers=unbound), 400)


def test_the_wrong_verb_names_the_right_one(server: Served) -> None:
    assert ":classify" in refused(server.client.post("/v1/models/colours:detect", content=plain(1, 2, 3)), 400)


@pytest.mark.parametrize("path", ["squarez:predict", "squarez:detect", "squarez/versions/7:predict"])
def test_an_unknown_model_is_a_404_with_the_nearest(server: Served, path: str) -> None:
    assert "Did you mean 'squares'?" in refused(server.client.post(f"/v1/models/{path}", content=b"{}"), 404)


def test_unknown_versions_samples_and_paths_are_404(server: Served) -> None:
    for path in ("v1/models/squares/versions/9", "samples/squares/2", "samples/squares/-1", "page/x", "x", "%ff"):
        refused(server.client.get(f"/{path}"), 404)
    for path in ("samples/squares/..%2f..%2fmodel.json", "page/..%2fserver.py", "../../etc/passwd"):
        refused(server.client.get(f"/{path}"), 404)
    refused(server.client.put("/healthz"), 405)


def test_a_large_body_is_a_413_whether_or_not_it_says_its_length(strict: Served) -> None:
    url = "/v1/models/squares"
    for verb in (":detect", ":predict"):
        assert f"{LIMIT:,}" in refused(strict.client.post(url + verb, content=bytes(LIMIT + 1)), 413)
        pieces = (bytes(1000) for _ in range(LIMIT // 1000 + 1))
        refused(strict.client.post(url + verb, content=pieces), 413)
    refused(strict.client.post(f"{url}:detect", files={"file": ("p.png", bytes(LIMIT))}), 413)
    refused(strict.client.post(f"{url}:detect", content=bytes(LIMIT)), 400)


def test_too_many_instances_are_a_400(strict: Served) -> None:
    body = {"instances": [{"b64": GOOD}] * 3}
    assert "3 instances" in refused(strict.client.post("/v1/models/squares:predict", json=body), 400)


def test_a_full_server_refuses_at_once_and_recovers(bundles: tuple[Path, Path]) -> None:
    slow = encoded(np.zeros((5000, 5000, 3), np.uint8))
    with launch(bundles[0], "--workers-threads", 1, "--max-waiting", 1) as served, ThreadPoolExecutor(8) as pool:
        url = "/v1/models/squares:detect"
        answers = list(pool.map(lambda _: served.client.post(url, content=slow), range(8)))
        busy = [answer for answer in answers if answer.status_code != 200]
        assert len(answers) > len(busy) > 0
        for answer in busy:
            assert "waiting" in refused(answer, 429)
            assert int(answer.headers["retry-after"]) >= 1
        assert served.client.post(url, content=squares()).status_code == 200


def test_nan_never_becomes_json(tmp_path: Path) -> None:
    with launch(tiny_models.fragile(tmp_path / "fragile")) as served:
        url = "/v1/models/fragile:classify"
        assert served.client.post(url, content=plain(128, 128, 128)).status_code == 200
        assert "NaN" in refused(served.client.post(url, content=plain(255, 255, 255)), 500)
        assert 'route="classify",status="500"' in served.client.get("/metrics").text


def test_messy_images_are_answered_or_refused(server: Served, shared_data: Path) -> None:
    images = [path for path in (shared_data / "messy_inputs" / "images").rglob("*") if path.is_file()]
    assert len(images) > 100
    for path in images:
        data = path.read_bytes()
        body = {"instances": [{"b64": base64.b64encode(data).decode()}]}
        answers = [
            server.client.post("/v1/models/squares:predict", json=body),
            server.client.post("/v1/models/squares:detect", content=data),
            server.client.post("/v1/models/colours:classify", files={"file": (path.name, data)}),
        ]
        statuses = {answer.status_code for answer in answers}
        assert statuses in ({200}, {400}), (path.name, [answer.text for answer in answers])
        for answer in answers:
            json.loads(answer.text, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
