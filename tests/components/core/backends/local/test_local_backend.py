from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from towpath.components.core.backends.base import Deployment, ServedModel
from towpath.components.core.backends.local import backend, store
from towpath.components.core.backends.local.store import Server
from towpath.components.core.errors import ConfigError, DataError

pytestmark = pytest.mark.usefixtures("running")


def until(what: Callable[[], object], seconds: float = 30) -> None:
    """Looks again and again until it is so."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        threading.Event().wait(0.05)


def served(folder: Path, version: str = "1", name: str = "colours") -> ServedModel:
    return ServedModel(name, version, str(folder))


def versions(url: str) -> dict[str, str]:
    models = httpx.get(f"{url}/v1/models", trust_env=False).json()["models"]
    return {model["name"]: model["version"] for model in models}


def go_live(environment: str, *models: ServedModel) -> Deployment:
    backend.start_candidate(environment, models)
    backend.promote_candidate(environment, models[0].name, models[0].version)
    server = backend.live(environment)
    assert server
    return server


def process(environment: str) -> Server:
    """The live server's process, as the supervisor reports it."""
    server = store.read_state(store.folder(environment)).live
    assert server
    return server


def test_a_candidate_changes_nothing_that_users_see(make_classifier: Callable[..., Path]) -> None:
    folder = make_classifier()
    live = go_live("demo", served(folder))
    candidate = backend.start_candidate("demo", [served(folder, "2")])

    assert versions(candidate.url) == {"colours": "2"}
    assert candidate.url != live.url
    assert versions(live.url) == {"colours": "1"}
    assert backend.start_candidate("demo", [served(folder, "2")]) == candidate  # the same again: the same server

    backend.stop_candidate("demo")
    until(lambda: backend.candidate("demo") is None)
    assert backend.live("demo") == live


def test_no_request_fails_while_a_candidate_becomes_live(make_classifier: Callable[..., Path]) -> None:
    folder = make_classifier()
    url = go_live("demo", served(folder)).url
    failures: list[str] = []
    seen: list[str] = []
    stop = threading.Event()

    def ask(keep_alive: bool) -> None:
        headers = {} if keep_alive else {"Connection": "close"}
        with httpx.Client(trust_env=False, timeout=20, verify=False, headers=headers) as client:
            while not stop.is_set():
                try:
                    seen.append(version(client, keep_alive))
                except (httpx.HTTPError, ValueError) as error:
                    failures.append(repr(error))

    def version(client: httpx.Client, keep_alive: bool) -> str:
        try:
            answer = client.get(f"{url}/v1/models")
        except (httpx.RemoteProtocolError, httpx.ReadError):
            # A server may close an idle connection while the next request is on its way: clients that keep connections
            # have to ask again (RFC 9112, section 9.3.1). A new connection never fails.
            if not keep_alive:
                raise
            answer = client.get(f"{url}/v1/models")
        return str(answer.json()["models"][0]["version"])

    threads = [threading.Thread(target=ask, args=(number == 0,)) for number in range(3)]
    for thread in threads:
        thread.start()
    try:
        for newer in ("2", "3"):
            backend.start_candidate("demo", [served(folder, newer)])
            assert backend.promote_candidate("demo", "colours", newer).url == url
            until(lambda newer=newer: seen[-3:] == [newer] * 3)  # type: ignore[misc]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert set(seen) == {"1", "2", "3"}


def test_promoting_one_model_keeps_the_other(make_classifier: Callable[..., Path]) -> None:
    a, b = served(make_classifier("a"), "1", "a"), served(make_classifier("b"), "1", "b")
    go_live("demo", a)
    newer = ServedModel("a", "2", a.bundle)
    backend.start_candidate("demo", [a, b])
    backend.promote_candidate("demo", "b", "1")
    backend.start_candidate("demo", [newer, b])
    live = backend.promote_candidate("demo", "a", "2")
    assert versions(live.url) == {"a": "2", "b": "1"}


def test_a_killed_server_is_started_again(make_classifier: Callable[..., Path]) -> None:
    before = go_live("demo", served(make_classifier()))
    killed = process("demo").pid
    os.kill(killed, signal.SIGKILL)
    until(lambda: backend.live("demo") is not None and process("demo").pid != killed)
    after = backend.live("demo")
    assert after
    assert (after.url, process("demo").restarts) == (before.url, 1)
    assert versions(after.url) == {"colours": "1"}
    (status,) = backend.status()
    assert status.detail == f"process {process('demo').pid}, restarted 1 times"


def test_a_killed_supervisor_leaves_the_server_and_the_next_takes_it_over(make_classifier: Callable[..., Path]) -> None:
    folder = make_classifier()
    before = go_live("demo", served(folder))
    where = store.folder("demo")
    first = store.supervisor_pid(where)
    assert first
    os.kill(first, signal.SIGKILL)
    until(lambda: store.supervisor_pid(where) is None)
    assert backend.healthy(before)

    assert backend.start("demo").url == before.url
    assert backend.live("demo") == before
    assert store.supervisor_pid(where) not in (None, first)


def test_servers_of_a_killed_supervisor_are_stopped(make_classifier: Callable[..., Path]) -> None:
    go_live("demo", served(make_classifier()))
    before = process("demo")
    where = store.folder("demo")
    supervisor = store.supervisor_pid(where)
    assert supervisor
    os.kill(supervisor, signal.SIGKILL)
    assert backend.stop("demo") == ["demo"]
    assert not before.alive
    assert store.servers(where) == []
    assert backend.status() == []


def test_a_process_that_took_over_the_id_is_not_ours(make_classifier: Callable[..., Path], own_home: Path) -> None:
    where = store.folder("demo")
    where.mkdir(parents=True)
    model = served(make_classifier())
    stale = Server(os.getpid(), 1.0, 1, "http://127.0.0.1:1", (model,), "2020-01-01T00:00:00+00:00")
    store.write(where, store.State(0, os.getpid(), live=stale))
    assert backend.live("demo") is None
    assert backend.stop("demo") == []
    assert versions(go_live("demo", model).url) == {"colours": "1"}


def test_stop_and_start_keep_port_and_models(make_classifier: Callable[..., Path]) -> None:
    before = go_live("demo", served(make_classifier()))
    server = process("demo")
    (status,) = backend.status()
    assert (status.deployment, status.healthy, status.detail) == (before, True, f"process {server.pid}")
    assert backend.stop() == ["demo"]
    assert backend.status() == []
    assert not server.alive
    assert backend.start("demo").url == before.url
    assert versions(before.url) == {"colours": "1"}


def test_a_bundle_that_does_not_load_says_why_and_leaves_the_rest(
    make_classifier: Callable[..., Path], tmp_path: Path
) -> None:
    live = go_live("demo", served(make_classifier()))
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"exit code 3(.|\n)*there is no model.json"):
        backend.start_candidate("demo", [served(tmp_path / "empty", "2")])
    assert backend.candidate("demo") is None
    assert backend.live("demo") == live
    assert versions(live.url) == {"colours": "1"}


def test_promoting_what_is_no_candidate_is_refused(own_home: Path) -> None:
    with pytest.raises(ConfigError, match="no candidate colours@2"):
        backend.promote_candidate("demo", "colours", "2")
    with pytest.raises(ConfigError, match="not an environment's name"):
        backend.start("../demo")
    with pytest.raises(ConfigError, match="Nothing serves in 'demo'"):
        backend.start("demo")
