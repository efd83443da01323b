"""What an environment is to serve and what its supervisor reports: two files, each with one writer.

desired.json      written by commands, under the environment's lock
state.json        written by the supervisor
log               what the supervisor and its servers print
supervisor.lock   held by the supervisor as long as it lives; its process id is inside
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from ... import files
from ...errors import ConfigError
from ...home import home
from ..base import READY_SECONDS, DesiredState, Role, ServedModel

DESIRED = "desired.json"
STATE = "state.json"
LOG = "log"
SUPERVISOR_LOCK = "supervisor.lock"
COMMAND_LOCK = "lock"
SERVER_MODULE = "towpath.components.serve"


@dataclass(frozen=True)
class LocalState(DesiredState):
    """What the supervisor has to bring about.

    Attributes:
        generation: counts changes, so that a command can tell a report on its own change from an older one.
        port: of the live server; 0 until the first one is wanted.
        ready_seconds: that a server may take to get ready.
    """

    generation: int = 0
    port: int = 0
    ready_seconds: float = READY_SECONDS


@dataclass(frozen=True)
class Server:
    """A server that is ready. `created` tells its process from a later one with the same id."""

    pid: int
    created: float
    port: int
    url: str
    models: tuple[ServedModel, ...]
    since: str
    restarts: int = 0

    @property
    def alive(self) -> bool:
        """Whether that very process still runs."""
        return find_process(self.pid, self.created) is not None


@dataclass(frozen=True)
class State:
    """What the supervisor reports.

    Attributes:
        generation: of the desired state that this report answers.
        supervisor: its process id.
        live: the live server, once it is ready.
        candidate: the candidate, once it is ready.
        errors: by role, why its server does not get ready, and the exit code that tells whether to retry.
    """

    generation: int = 0
    supervisor: int = 0
    live: Server | None = None
    candidate: Server | None = None
    errors: dict[str, tuple[str, int]] = field(default_factory=dict)

    def server(self, role: Role) -> Server | None:
        """The ready server of that role."""
        return self.live if role == "live" else self.candidate


def folder(environment: str) -> Path:
    """Where an environment's servers keep their files.

    Raises:
        ConfigError: a name that no environment can have.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", environment):
        raise ConfigError(f"'{environment}' is not an environment's name: lowercase letters, digits and - only.")
    return home().absolute() / "services" / environment


def read_desired(where: Path) -> LocalState:
    """What commands asked for; of an environment never used: nothing."""
    if not (where / DESIRED).is_file():
        return LocalState()
    value = files.read_json(where / DESIRED, "the desired state of the services")
    return LocalState(**{**value, "live": _models(value["live"]), "candidate": _models(value["candidate"])})


def read_state(where: Path) -> State:
    """The supervisor's last report, which may be older than what happened since."""
    if not (where / STATE).is_file():
        return State()
    value = files.read_json(where / STATE, "the state of the services")
    errors = {role: (str(text), int(code)) for role, (text, code) in value["errors"].items()}
    return State(
        **{**value, "live": _server(value["live"]), "candidate": _server(value["candidate"]), "errors": errors}
    )


def write(where: Path, value: LocalState | State) -> None:
    """Writes either file, whole or not at all."""
    files.write_json(where / (DESIRED if isinstance(value, LocalState) else STATE), dataclasses.asdict(value))


def supervisor_pid(where: Path) -> int | None:
    """The process that holds the supervisor's lock, which no dead or reused process id can do."""
    path = where / SUPERVISOR_LOCK
    if not path.is_file():
        return None
    with path.open("r+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            text = lock.read().strip()
            return int(text) if text else 0  # 0: it has only just begun
    return None


def find_process(pid: int, created: float) -> psutil.Process | None:
    """The process with that id and that moment of creation, if it runs."""
    try:
        process = psutil.Process(pid)
        if process.create_time() == created and process.status() != psutil.STATUS_ZOMBIE:
            return process
    except psutil.Error:
        pass
    return None


def servers(where: Path) -> list[psutil.Process]:
    """All server processes of this environment: their command line names a ready file in its folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = process.info["cmdline"] or []
        if SERVER_MODULE in line and any(word.startswith(f"{where}/") for word in line):
            found.append(process)
    return found


def end(processes: list[psutil.Process], seconds: float) -> None:
    """Asks processes to drain and exit, and kills those that have not after `seconds`."""
    for process in processes:
        ask_to_end(process)
    _, left = psutil.wait_procs(processes, timeout=seconds)
    for process in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left, timeout=5)


def ask_to_end(process: psutil.Process) -> None:
    """Sends SIGTERM; a process that is gone already is as it should be."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process.terminate()


def _models(value: list[Mapping[str, Any]]) -> tuple[ServedModel, ...]:
    return tuple(ServedModel(**item) for item in value)


def _server(value: Mapping[str, Any] | None) -> Server | None:
    return Server(**{**value, "models": _models(value["models"])}) if value else None
