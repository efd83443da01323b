"""The supervisor of one environment's servers: a process of its own that outlives the command that started it.

It compares the desired state with what runs and acts on the difference, ten times a second: starts, restarts with
growing waits, swaps (the new live server is ready on the shared port before the old one is told to drain), stops.
Killed, it leaves the servers serving; the next one takes over those that its last report names and ends the rest.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from ... import clock
from ...errors import TowpathError
from ..base import ROLES, Role, ServedModel
from . import store
from .store import LocalState, Server, State

POLL_SECONDS = 0.1
DRAIN_SECONDS = 30.0
# Seconds before a server that died is started again: at once the first time, never less often than twice a minute.
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
STEADY_SECONDS = 60.0  # a server that ran so long is started at once again
TAIL_LINES = 15


@dataclass
class Start:
    """A server that is starting."""

    process: psutil.Popen
    models: tuple[ServedModel, ...]
    port: int
    ready_file: Path
    log_from: int
    begun: float = field(default_factory=time.monotonic)


@dataclass
class Slot:
    """The server of one role, the one that is starting to take its place, and how patient we are with it."""

    server: Server | None = None
    start: Start | None = None
    restarts: int = 0
    wait: float = 0.0
    not_before: float = 0.0
    ready_at: float = 0.0

    def died(self) -> None:
        """Makes the next start wait, longer each time, unless the server had run for a while."""
        steady = self.ready_at and time.monotonic() - self.ready_at > STEADY_SECONDS
        self.not_before = time.monotonic() + (0 if steady else self.wait)
        self.wait = 0 if steady else min(max(self.wait * 2, FIRST_WAIT), LONGEST_WAIT)
        self.ready_at = 0


class Supervisor:
    """Keeps the servers of one environment in the desired state of its folder."""

    def __init__(self, where: Path) -> None:
        self.where = where
        self.stopping = threading.Event()
        self._slots: dict[Role, Slot] = {role: Slot() for role in ROLES}
        self._leaving: dict[int, tuple[psutil.Process, float]] = {}
        self._children: dict[int, psutil.Popen] = {}
        self._errors: dict[str, tuple[str, int]] = {}
        self._generation = -1
        self._reported: State | None = None

    def run(self) -> None:
        """Works until it is told to stop, then ends the servers and leaves."""
        self._adopt()
        while not self.stopping.is_set():
            try:
                self._look()
            except (TowpathError, OSError) as error:
                self._say(f"{type(error).__name__}: {error}")  # a full disk, a damaged file: it may pass
            self.stopping.wait(POLL_SECONDS)
        store.end(store.servers(self.where), DRAIN_SECONDS)
        store.write(self.where, State(self._generation))
        self._say("stopped")

    def _look(self) -> None:
        desired = store.read_desired(self.where)
        if desired.generation != self._generation:
            self._generation, self._errors = desired.generation, {}
            for slot in self._slots.values():
                slot.wait = slot.not_before = 0
        if not desired.running:
            self.stopping.set()
            return
        self._settle("live", desired)
        live = self._slots["live"].server
        # A candidate that is becoming live goes on answering until it has.
        if desired.candidate or not desired.live or (live and live.models == desired.live):
            self._settle("candidate", desired)
        self._reap()
        self._report()

    def _settle(self, role: Role, desired: LocalState) -> None:
        slot, models = self._slots[role], desired.models(role)
        port = desired.port if role == "live" else 0
        if slot.server and not slot.server.alive:
            self._say(f"the {role} server (process {slot.server.pid}) died")
            slot.server, slot.restarts = None, slot.restarts + 1
            slot.died()
        right = slot.server and slot.server.models == models and port in (0, slot.server.port)
        if slot.start and (right or slot.start.models != models or slot.start.port != port):
            self._leave(slot.start.process)
            slot.start = None
        if not models:
            self._retire(slot)
            slot.restarts = 0
        elif not right:
            self._bring_up(role, slot, models, port, desired.ready_seconds)

    def _bring_up(self, role: Role, slot: Slot, models: tuple[ServedModel, ...], port: int, seconds: float) -> None:
        if role == "candidate":
            self._retire(slot)  # of an earlier desired state: nobody uses it any more
        if slot.start is None:
            if time.monotonic() >= slot.not_before:
                slot.start = self._launch(role, models, port)
            return
        server = self._ready(slot.start, slot.restarts)
        if server:
            self._say(f"the {role} server (process {server.pid}) is ready at {server.url}")
            self._retire(slot)
            self._errors.pop(role, None)
            slot.server, slot.start, slot.ready_at = server, None, time.monotonic()
            return
        code = slot.start.process.poll()
        if code is None and time.monotonic() - slot.start.begun < seconds:
            return
        what = f"did not get ready within {seconds:g} s" if code is None else f"ended with exit code {code}"
        self._errors[role] = (f"the {role} server {what}:\n{self._tail(slot.start.log_from)}", code or 75)
        self._leave(slot.start.process)
        slot.start = None
        slot.died()

    def _launch(self, role: Role, models: tuple[ServedModel, ...], port: int) -> Start:
        ready_file = self.where / "ready" / f"{role}-{uuid.uuid4().hex}.json"
        ready_file.parent.mkdir(exist_ok=True)
        command = [sys.executable, "-m", store.SERVER_MODULE, *(model.bundle for model in models)]
        command += [word for model in models for word in ("--version", model.version)]
        command += ["--port", str(port), "--ready-file", str(ready_file)]
        if role == "live":
            command.append("--reuse-port")
        self._say(f"starting the {role} server: " + ", ".join(f"{model.name}@{model.version}" for model in models))
        log_from = (self.where / store.LOG).stat().st_size
        # A session of its own, so that the servers outlive a supervisor that is killed with its group.
        process = psutil.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        self._children[process.pid] = process
        return Start(process, models, port, ready_file, log_from)

    def _ready(self, start: Start, restarts: int) -> Server | None:
        if not start.ready_file.is_file():
            return None
        value = json.loads(start.ready_file.read_bytes())
        start.ready_file.unlink()
        process = start.process
        created = process.create_time()
        return Server(process.pid, created, value["port"], value["url"], start.models, clock.now(), restarts)

    def _retire(self, slot: Slot) -> None:
        if slot.server:
            process = store.find_process(slot.server.pid, slot.server.created)
            if process:
                self._leave(process)
            slot.server = None

    def _leave(self, process: psutil.Process) -> None:
        store.ask_to_end(process)
        self._leaving[process.pid] = (process, time.monotonic())

    def _reap(self) -> None:
        for pid, child in list(self._children.items()):
            if child.poll() is not None:
                del self._children[pid]
        for pid, (process, since) in list(self._leaving.items()):
            if not process.is_running():
                del self._leaving[pid]
            elif time.monotonic() - since > DRAIN_SECONDS:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()

    def _adopt(self) -> None:
        """Takes over the servers that the last report names, and ends all others of this environment."""
        state = store.read_state(self.where)
        known = set()
        for role in ROLES:
            server = state.server(role)
            if server and server.alive:
                self._say(f"taking over the {role} server (process {server.pid})")
                self._slots[role] = Slot(server=server, restarts=server.restarts)
                known.add(server.pid)
        for process in store.servers(self.where):
            if process.pid not in known:
                self._leave(process)
        for path in (self.where / "ready").glob("*.json"):
            path.unlink()

    def _report(self) -> None:
        servers = {role: self._slots[role].server for role in ROLES}
        state = State(self._generation, os.getpid(), servers["live"], servers["candidate"], dict(self._errors))
        if state != self._reported:
            store.write(self.where, state)
            self._reported = state

    def _tail(self, log_from: int) -> str:
        with (self.where / store.LOG).open("rb") as log:
            log.seek(log_from)
            lines = log.read().decode(errors="replace").splitlines()
        return "\n".join(f"  | {line}" for line in lines[-TAIL_LINES:]) or "  | (it printed nothing)"

    def _say(self, what: str) -> None:
        print(f"{clock.now()} supervisor: {what}", flush=True)


def main(where: Path) -> None:
    """Detaches from the caller and supervises, unless another supervisor of this folder lives."""
    if os.fork():
        return  # the caller waits for this process only; the supervisor becomes nobody's child
    os.setsid()
    os.chdir(where)
    with (where / store.SUPERVISOR_LOCK).open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        supervisor = Supervisor(where)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: supervisor.stopping.set())
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        supervisor.run()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
