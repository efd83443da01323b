"""Isolates tasks that share one process: each gets its own log, and its changes to the process are undone.

Only output through Python is captured: a C library that writes to file descriptor 2 writes to the terminal only. Output
is copied, not redirected, and the streams still report whether they are a terminal, so that progress bars work.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO, cast

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_FORMAT = "[%(asctime)s %(levelname)s %(name)s] %(message)s"


@contextlib.contextmanager
def isolated(environment: Mapping[str, str], log: TextIO) -> Iterator[None]:
    """Runs a task with `environment` added to the process's, and its output copied to `log`."""
    terminal = sys.stderr
    with contextlib.ExitStack() as stack:
        for part in (_variables(environment), _folder(), _python(), _streams(log), _logging(log, terminal)):
            stack.enter_context(part)
        yield


@contextlib.contextmanager
def open_log(path: Path) -> Iterator[TextIO]:
    """Opens a task's log, line buffered, so that it is complete if the run is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", errors="backslashreplace", buffering=1) as log:
        yield log


@contextlib.contextmanager
def _variables(added: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(added)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        for name, value in before.items():
            if os.environ.get(name) != value:
                os.environ[name] = value


@contextlib.contextmanager
def _folder() -> Iterator[None]:
    before = Path.cwd()
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def _python() -> Iterator[None]:
    path, arguments = list(sys.path), list(sys.argv)
    try:
        with warnings.catch_warnings():
            yield
    finally:
        sys.path[:], sys.argv[:] = path, arguments


class _Tee:
    """A text stream that also writes to a log until its task has ended."""

    def __init__(self, stream: TextIO, log: TextIO) -> None:
        self._stream = stream
        self._log: TextIO | None = log
        self._lock = threading.Lock()

    def write(self, text: str) -> int:
        written = self._stream.write(text)
        with self._lock:
            if self._log is not None:
                self._log.write(_ANSI.sub("", text) if "\x1b" in text else text)
        return written

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        self._stream.flush()

    def end(self) -> None:
        """Detaches the log; a thread or a logging handler may still hold this stream."""
        with self._lock:
            self._log = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def _streams(log: TextIO) -> Iterator[None]:
    before = sys.stdout, sys.stderr
    out, err = _Tee(before[0], log), _Tee(before[1], log)
    sys.stdout, sys.stderr = cast(TextIO, out), cast(TextIO, err)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        out.end()
        err.end()


@contextlib.contextmanager
def _logging(log: TextIO, terminal: TextIO) -> Iterator[None]:
    """Sends records of level INFO and above to the log, as on a cluster (kfp/dsl/executor_main.py, _setup_logging).

    On the terminal they appear as before: through the existing handlers or, without any, from WARNING on.
    """
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    to_log = logging.StreamHandler(log)
    to_log.setLevel(logging.INFO)
    to_log.setFormatter(logging.Formatter(_FORMAT))
    quiet = _AtLeast(level)
    for handler in handlers:
        handler.addFilter(quiet)
    if not handlers:
        to_terminal = logging.StreamHandler(terminal)
        to_terminal.setLevel(logging.WARNING)
        root.addHandler(to_terminal)
    root.addHandler(to_log)
    root.setLevel(min(level, logging.INFO))
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(quiet)
        root.handlers[:] = handlers
        root.setLevel(level)


class _AtLeast(logging.Filter):
    """Passes what a handler on the terminal showed before: records that the root logger's level admitted.

    A logger with its own level is not affected.
    """

    def __init__(self, level: int) -> None:
        super().__init__()
        self._level = level

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= self._level or bool(logging.getLogger(record.name).level)
