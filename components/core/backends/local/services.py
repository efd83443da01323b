"""Local services: for each environment one live server on a stable port and at most one candidate beside it.

Commands write what they want into the environment's folder, see that its supervisor runs, and wait for its report; so a
command that is killed leaves a wish that the supervisor fulfils, and any of these calls can be repeated without harm.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ... import files, progress
from ...errors import ConfigError, DataError, MissingError, RetryError, TowpathError
from ...home import home
from . import service_state
from .service_state import READY_SECONDS, ROLES, Role, ServedModel, Server, Wanted

LOCK_SECONDS = 60.0  # that a command waits for another one that works on the same environment
SUPERVISOR_SECONDS = 30.0  # that a supervisor may take to begin, on a busy machine
STOP_SECONDS = 45.0  # more than a server's drain
LOOK = 0.05  # seconds between looks at the supervisor's report


@dataclass(frozen=True)
class Service:
    """A line of `towpath services`.

    Args:
        role: "live" or "candidate".
        pid: None where the server is down and being started again.
        since: when it got ready, UTC, ISO 8601; "" where it is down.
        restarts: after it died, since it was first wanted.
        healthy: answers /readyz now.
    """

    environment: str
    role: Role
    url: str
    models: tuple[ServedModel, ...]
    pid: int | None
    since: str
    restarts: int
    healthy: bool


def start_candidate(environment: str, models: Sequence[ServedModel], ready_seconds: float = READY_SECONDS) -> str:
    """Starts a server beside the live one, on a port of its own. The same models again: the same server.

    Returns:
        Its URL, once it is ready.

    Raises:
        RetryError: it did not get ready in time, or another command keeps the environment locked.
        DataError, ConfigError, MissingError: it ended; the end of its log is in the message.
    """
    with _locked(environment) as where:
        before = service_state.read_wanted(where)
        models = _ordered(models)
        port = before.port or _free_port()
        _want(where, before, candidate=models, port=port, running=True, ready_seconds=ready_seconds)
        try:
            return _await(environment, where, "candidate").url
        except TowpathError:
            _want(where, service_state.read_wanted(where), candidate=before.candidate, running=before.running)
            raise


def promote_candidate(environment: str, name: str, version: str, port: int | None = None) -> str:
    """Puts the candidate's version of one model into the live server; all others stay as they are.

    The new live server is ready before the old one is told to drain, so there is always one that takes connections. A
    client that keeps a connection open may find it closed, and asks again on a new one.

    Args:
        port: fixed port of the live server; None keeps the one it has.

    Returns:
        The live server's URL.

    Raises:
        ConfigError: neither candidate nor live server holds that version.
        RetryError and others as `start_candidate`: the new server did not come up; the old one goes on serving.
    """
    with _locked(environment) as where:
        before = service_state.read_wanted(where)
        if not _holds(before.live, name, version):
            if not _holds(before.candidate, name, version):
                raise ConfigError(f"'{environment}' has no candidate {name}@{version}.", "Deploy it first.")
            kept = before.live or before.candidate
            chosen = [model for model in before.candidate if model.name == name]
            live = _ordered([*(model for model in kept if model.name != name), *chosen])
            _want(where, before, live=live, candidate=(), port=port or before.port, running=True)
        try:
            return _await(environment, where, "live").url
        except TowpathError:
            _want(
                where, service_state.read_wanted(where), live=before.live, candidate=before.candidate, port=before.port
            )
            raise


def stop_candidate(environment: str) -> None:
    """Stops the candidate, if there is one; the live server is not touched."""
    with _locked(environment) as where:
        wanted = service_state.read_wanted(where)
        if wanted.candidate:
            # With nothing live, there is nothing left to supervise.
            _want(where, wanted, candidate=(), running=wanted.running and bool(wanted.live))


def start(environment: str) -> str:
    """Starts the live server with the models that it held last, unless it runs. Returns: its URL, once it is ready.

    Raises:
        ConfigError: nothing was ever promoted to this environment. RetryError and others as `start_candidate`.
    """
    with _locked(environment) as where:
        wanted = service_state.read_wanted(where)
        if not wanted.live:
            raise ConfigError(f"Nothing serves in '{environment}'.", "Promote a model to it first.")
        if not wanted.running:
            _want(where, wanted, running=True)
        return _await(environment, where, "live").url


def stop(environment: str | None = None) -> list[str]:
    """Stops the services of one environment, or of all. Returns: the names of those that were running.

    What they held stays noted; `start` or the next promotion brings it back.
    """
    stopped = []
    for name in [environment] if environment else _environments():
        if not service_state.folder(name).is_dir():
            continue
        with _locked(name) as where:
            running = service_state.supervisor_pid(where) is not None or bool(service_state.servers(where))
            wanted = service_state.read_wanted(where)
            if wanted.running:
                _want(where, wanted, candidate=(), running=False)
            deadline = time.monotonic() + STOP_SECONDS
            while service_state.supervisor_pid(where) is not None and time.monotonic() < deadline:
                time.sleep(LOOK)
            # Servers whose supervisor was killed.
            service_state.end(service_state.servers(where), STOP_SECONDS)
            stopped += [name] if running else []
    return stopped


def live(environment: str) -> Server | None:
    """The live server that answers for an environment now, or None."""
    server = service_state.read_state(service_state.folder(environment)).live
    return server if server and server.alive else None


def candidate(environment: str) -> Server | None:
    """The candidate that waits for a decision, or None."""
    server = service_state.read_state(service_state.folder(environment)).candidate
    return server if server and server.alive else None


def wanted(environment: str) -> Wanted:
    """What an environment is to serve, whether it runs at this moment or not."""
    return service_state.read_wanted(service_state.folder(environment))


def list_services() -> list[Service]:
    """Every server that runs or is meant to run, by environment."""
    found = []
    for environment in _environments():
        where = service_state.folder(environment)
        wanted, state = service_state.read_wanted(where), service_state.read_state(where)
        for role in ROLES:
            server = state.server(role)
            if server and server.alive:
                healthy = is_healthy(server.url)
                found.append(
                    Service(
                        environment, role, server.url, server.models, server.pid, server.since, server.restarts, healthy
                    )
                )
            elif wanted.running and wanted.models(role):
                url = f"http://127.0.0.1:{wanted.port}" if role == "live" else ""
                found.append(Service(environment, role, url, wanted.models(role), None, "", 0, False))
    return found


def is_healthy(url: str) -> bool:
    """Whether the server there says that it is ready, within two seconds."""
    import httpx

    try:
        return httpx.get(f"{url}/readyz", timeout=2, trust_env=False, verify=False).status_code == 200  # plain http
    except httpx.HTTPError:
        return False


def _environments() -> list[str]:
    return sorted(path.name for path in (home() / "services").glob("*") if path.is_dir())


def _holds(models: Sequence[ServedModel], name: str, version: str) -> bool:
    return any(model.name == name and model.version == version for model in models)


def _ordered(models: Sequence[ServedModel]) -> tuple[ServedModel, ...]:
    return tuple(sorted(models, key=lambda model: model.name))


def _want(where: Path, before: Wanted, **changes: object) -> None:
    wanted = dataclasses.replace(before, **changes, generation=before.generation + 1)  # type: ignore[arg-type]
    if dataclasses.replace(wanted, generation=before.generation) != before:
        service_state.write(where, wanted)


def _await(environment: str, where: Path, role: Role) -> Server:
    """Waits until the supervisor reports the wanted server of that role as ready."""
    wanted = service_state.read_wanted(where)
    deadline = time.monotonic() + wanted.ready_seconds + SUPERVISOR_SECONDS
    with progress.bar(f"starting the {role} server of '{environment}'", 1) as bar:
        while time.monotonic() < deadline:
            _supervise(where)
            state = service_state.read_state(where)
            server = state.server(role)
            if state.generation == wanted.generation:
                if server and server.models == wanted.models(role) and server.alive:
                    bar.advance()
                    return server
                if role in state.errors:
                    raise _failure(environment, *state.errors[role])
            time.sleep(LOOK)
    raise RetryError(f"'{environment}': the {role} server is not ready.", f"See {where / service_state.LOG}.")


def _failure(environment: str, text: str, code: int) -> TowpathError:
    kinds: dict[int, type[TowpathError]] = {2: ConfigError, 3: DataError, 4: MissingError}
    return kinds.get(code, RetryError)(f"'{environment}': {text}")


def _supervise(where: Path) -> None:
    """Sees that a supervisor runs; one that was killed is replaced, and its servers are taken over."""
    if service_state.supervisor_pid(where) is not None:
        return
    command = [sys.executable, "-m", "towpath.components.core.backends.local.supervisor", str(where)]
    with (where / service_state.LOG).open("ab") as log:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    deadline = time.monotonic() + SUPERVISOR_SECONDS
    while service_state.supervisor_pid(where) is None:
        if time.monotonic() > deadline:
            raise RetryError(f"{where}: the supervisor did not start.", f"See {where / service_state.LOG}.")
        time.sleep(LOOK)


@contextlib.contextmanager
def _locked(environment: str) -> Iterator[Path]:
    """One command at a time works on an environment."""
    where = service_state.folder(environment)
    with files.translate_os_errors(where):
        where.mkdir(parents=True, exist_ok=True)
        with (where / service_state.COMMAND_LOCK).open("a") as lock:
            deadline = time.monotonic() + LOCK_SECONDS
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise RetryError(
                            f"'{environment}' is being worked on by another command.", "Try again when it has ended."
                        ) from None
                    time.sleep(LOOK)
            yield where


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
