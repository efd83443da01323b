"""The local backend: for each environment one live server on a stable port and at most one candidate beside it.

Commands write the desired state into the environment's folder, see that its supervisor runs, and wait for its report.
So what a killed command asked for is brought about all the same, and any of these calls can be repeated without harm.
"""

from __future__ import annotations

import contextlib
import dataclasses
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from ... import files, progress
from ...errors import ConfigError, DataError, MissingError, RetryError, TowpathError
from ...home import home
from ..base import READY_SECONDS, ROLES, Deployment, Role, ServedModel, Status, holds
from . import store
from .store import LocalState, Server

LOCK_SECONDS = 60.0  # that a command waits for another one that works on the same environment
SUPERVISOR_SECONDS = 30.0  # that a supervisor may take to begin, on a busy machine
STOP_SECONDS = 45.0  # more than a server's drain
POLL_SECONDS = 0.05


def start_candidate(
    environment: str, models: Sequence[ServedModel], ready_seconds: float = READY_SECONDS
) -> Deployment:
    """Starts a server beside the live one, on a port of its own. The same models again: the same server.

    Raises:
        RetryError: it did not get ready in time, or another command keeps the environment locked.
        DataError: it ended, as do ConfigError and MissingError say; the end of its log is in the message.
    """
    with _locked(environment) as where:
        before = store.read_desired(where)
        models = _ordered(models)
        port = before.port or _free_port()
        _set_desired(where, before, candidate=models, port=port, running=True, ready_seconds=ready_seconds)
        try:
            return _await(environment, where, "candidate")
        except TowpathError:
            _set_desired(where, store.read_desired(where), candidate=before.candidate, running=before.running)
            raise


def promote_candidate(environment: str, name: str, version: str, port: int | None = None) -> Deployment:
    """Puts the candidate's version of one model into the live server; all others stay as they are.

    The new live server is ready before the old one is told to drain, so there is always one that takes connections. A
    client that keeps a connection open may find it closed, and asks again on a new one.

    Args:
        environment: whose candidate it is.
        name: of the model.
        version: of the model.
        port: fixed port of the live server; None keeps the one it has.

    Raises:
        ConfigError: neither candidate nor live server holds that version.
        RetryError: the new server did not come up, as do others of `start_candidate` say; the old one keeps serving.
    """
    with _locked(environment) as where:
        before = store.read_desired(where)
        if not holds(before.live, name, version):
            if not holds(before.candidate, name, version):
                raise ConfigError(f"'{environment}' has no candidate {name}@{version}.", "Deploy it first.")
            kept = before.live or before.candidate
            chosen = [model for model in before.candidate if model.name == name]
            live = _ordered([*(model for model in kept if model.name != name), *chosen])
            _set_desired(where, before, live=live, candidate=(), port=port or before.port, running=True)
        try:
            return _await(environment, where, "live")
        except TowpathError:
            _set_desired(
                where, store.read_desired(where), live=before.live, candidate=before.candidate, port=before.port
            )
            raise


def stop_candidate(environment: str) -> None:
    """Stops the candidate, if there is one; the live server is not touched."""
    with _locked(environment) as where:
        wanted = store.read_desired(where)
        if wanted.candidate:
            # With nothing live, there is nothing left to supervise.
            _set_desired(where, wanted, candidate=(), running=wanted.running and bool(wanted.live))


def start(environment: str) -> Deployment:
    """Starts the live server with the models that it held last, unless it runs.

    Raises:
        ConfigError: nothing was ever promoted to this environment.
        RetryError: it does not come up, as do others of `start_candidate` say.
    """
    with _locked(environment) as where:
        wanted = store.read_desired(where)
        if not wanted.live:
            raise ConfigError(f"Nothing serves in '{environment}'.", "Promote a model to it first.")
        if not wanted.running:
            _set_desired(where, wanted, running=True)
        return _await(environment, where, "live")


def stop(environment: str | None = None) -> list[str]:
    """Stops the servers of one environment, or of all, and names those that were running.

    What they held stays noted; `start` or the next promotion brings it back.
    """
    stopped = []
    for name in [environment] if environment else _environments():
        if not store.folder(name).is_dir():
            continue
        with _locked(name) as where:
            running = store.supervisor_pid(where) is not None or bool(store.servers(where))
            wanted = store.read_desired(where)
            if wanted.running:
                _set_desired(where, wanted, candidate=(), running=False)
            deadline = time.monotonic() + STOP_SECONDS
            while store.supervisor_pid(where) is not None and time.monotonic() < deadline:
                time.sleep(POLL_SECONDS)
            # Servers whose supervisor was killed.
            store.end(store.servers(where), STOP_SECONDS)
            stopped += [name] if running else []
    return stopped


def live(environment: str) -> Deployment | None:
    """The live server that answers for an environment now, or None."""
    return _deployed(environment, "live")


def candidate(environment: str) -> Deployment | None:
    """The candidate that waits for a decision, or None."""
    return _deployed(environment, "candidate")


def desired(environment: str) -> LocalState:
    """What an environment is to serve, whether it runs at this moment or not."""
    return store.read_desired(store.folder(environment))


def healthy(deployment: Deployment) -> bool:
    """Whether the server says that it is ready, within two seconds."""
    import httpx

    if not deployment.url:
        return False
    try:  # plain http: no certificates to read
        return httpx.get(f"{deployment.url}/readyz", timeout=2, trust_env=False, verify=False).status_code == 200
    except httpx.HTTPError:
        return False


def status() -> list[Status]:
    """Every server that runs or is meant to run, by environment."""
    found = []
    for environment in _environments():
        wanted = desired(environment)
        state = store.read_state(store.folder(environment))
        for role in ROLES:
            server = state.server(role)
            if server and server.alive:
                deployment = _deployment(environment, role, server)
                restarts = f", restarted {server.restarts} times" if server.restarts else ""
                found.append(Status(deployment, healthy(deployment), f"process {server.pid}{restarts}"))
            elif wanted.running and wanted.models(role):
                url = f"http://127.0.0.1:{wanted.port}" if role == "live" else ""
                down = Deployment(environment, role, url, wanted.models(role), "")
                found.append(Status(down, False, "down, being restarted"))
    return found


def _deployed(environment: str, role: Role) -> Deployment | None:
    server = store.read_state(store.folder(environment)).server(role)
    return _deployment(environment, role, server) if server and server.alive else None


def _deployment(environment: str, role: Role, server: Server) -> Deployment:
    return Deployment(environment, role, server.url, server.models, server.since)


def _environments() -> list[str]:
    return sorted(path.name for path in (home() / "services").glob("*") if path.is_dir())


def _ordered(models: Sequence[ServedModel]) -> tuple[ServedModel, ...]:
    return tuple(sorted(models, key=lambda model: model.name))


def _set_desired(where: Path, before: LocalState, **changes: object) -> None:
    wanted = dataclasses.replace(before, **changes, generation=before.generation + 1)  # type: ignore[arg-type]
    if dataclasses.replace(wanted, generation=before.generation) != before:
        store.write(where, wanted)


def _await(environment: str, where: Path, role: Role) -> Deployment:
    """Waits until the supervisor reports the wanted server of that role as ready."""
    wanted = store.read_desired(where)
    deadline = time.monotonic() + wanted.ready_seconds + SUPERVISOR_SECONDS
    with progress.bar(f"starting the {role} server of '{environment}'", 1) as bar:
        while time.monotonic() < deadline:
            _supervise(where)
            state = store.read_state(where)
            server = state.server(role)
            if state.generation == wanted.generation:
                if server and server.models == wanted.models(role) and server.alive:
                    bar.advance()
                    return _deployment(environment, role, server)
                if role in state.errors:
                    raise _failure(environment, *state.errors[role])
            time.sleep(POLL_SECONDS)
    raise RetryError(f"'{environment}': the {role} server is not ready.", f"See {where / store.LOG}.")


def _failure(environment: str, text: str, code: int) -> TowpathError:
    kinds: dict[int, type[TowpathError]] = {2: ConfigError, 3: DataError, 4: MissingError}
    return kinds.get(code, RetryError)(f"'{environment}': {text}")


def _supervise(where: Path) -> None:
    """Sees that a supervisor runs; one that was killed is replaced, and its servers are taken over."""
    if store.supervisor_pid(where) is not None:
        return
    command = [sys.executable, "-m", f"{__package__}.supervisor", str(where)]
    with (where / store.LOG).open("ab") as log:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    deadline = time.monotonic() + SUPERVISOR_SECONDS
    while store.supervisor_pid(where) is None:
        if time.monotonic() > deadline:
            raise RetryError(f"{where}: the supervisor did not start.", f"See {where / store.LOG}.")
        time.sleep(POLL_SECONDS)


@contextlib.contextmanager
def _locked(environment: str) -> Iterator[Path]:
    """One command at a time works on an environment."""
    where = store.folder(environment)
    with files.locked(where / store.COMMAND_LOCK, f"'{environment}'", LOCK_SECONDS):
        yield where


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
