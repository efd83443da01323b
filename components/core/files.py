"""Atomic file writes, and digests of file contents."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from .errors import DataError, RetryError

CHUNK = 1 << 20
LOCK_POLL_SECONDS = 0.05
T = TypeVar("T")


def write_bytes(path: Path, data: bytes) -> None:
    """Writes a file atomically: to a temporary file in the same folder, synced, then renamed."""
    with translate_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.writing")
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes UTF-8 text like `write_bytes`."""
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    """Writes a JSON value like `write_bytes`, indented for readers. NaN is rejected: it is not JSON."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def read_json(path: Path, what: str) -> Any:
    """Reads a JSON file written by Towpath.

    Args:
        path: the file.
        what: its name in messages ("the manifest").

    Returns:
        The JSON value.

    Raises:
        DataError: it does not exist or is not JSON.
    """
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise DataError(f"{path}: {what} does not exist.") from error
    except (ValueError, RecursionError) as error:  # RecursionError: thousands of nested brackets
        raise DataError(f"{path}: {what} is not valid JSON ({error}).") from error


def read_versioned(path: Path, version: int, parse: Callable[[Any], T], error: type[DataError], hint: str) -> T:
    """Reads a JSON file written by Towpath that has a `format_version`.

    Args:
        path: the file.
        version: the supported format version.
        parse: converts the JSON value to the result.
        error: raised when the file is not valid.
        hint: what to do when the file does not exist.

    Returns:
        The result of `parse`.

    Raises:
        DataError: as `error`: no file, not JSON, another version, or a field that is missing or wrong.
    """
    if not path.is_file():
        raise error(f"{path.parent}: there is no {path.name}.", hint)
    value = read_json(path, "the file")
    found = value.get("format_version") if isinstance(value, dict) else None
    if found != version:
        raise error(f"{path}: its format version is {found}: this version of Towpath reads {version}.")
    try:
        return parse(value)
    except (KeyError, TypeError, ValueError) as cause:
        raise error(f"{path}: a field is missing or wrong ({cause}).") from cause


def partial(out: Path) -> Path:
    """Returns the folder where a step writes `out` until it is complete: it may be resumed, never read as output."""
    return out.with_name(out.name + ".partial")


def publish(work: Path, out: Path) -> None:
    """Moves a finished folder to its final place; an existing `out` is replaced.

    The two change places in one step where the system can do that (Linux), so that `out` is at any moment the old
    folder or the new one, both complete. Elsewhere the old one is first renamed aside.
    """
    with translate_os_errors(out):
        for folder, _, names in os.walk(work):
            for name in names:
                _sync(Path(folder) / name)
            _sync(Path(folder))
        if not out.is_dir():
            work.rename(out)
        elif not _exchange(work, out):
            _rename_aside(work, out)
        _sync(out.parent)
        shutil.rmtree(work, ignore_errors=True)  # what is now the old folder


def _exchange(one: Path, other: Path) -> bool:
    """Lets two paths change places atomically; False where that is not possible."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(call(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)


def _rename_aside(work: Path, out: Path) -> None:
    aside = out.with_name(f".{out.name}.{os.getpid()}.replaced")
    out.rename(aside)
    try:
        work.rename(out)
    except BaseException:
        aside.rename(out)
        raise
    aside.rename(work)


@contextmanager
def locked(path: Path, what: str, seconds: float = 600.0) -> Iterator[None]:
    """Lets one process of this machine at a time through; says on stderr that it waits, if it has to.

    Args:
        path: the lock's file; it is created and stays.
        what: the work, for messages ("the promotion to 'demo'").
        seconds: longest time to wait.

    Raises:
        RetryError: another process still holds the lock.
    """
    with translate_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as lock:
            deadline, waiting = time.monotonic() + seconds, False
            while not _take(lock):
                if time.monotonic() > deadline:
                    raise RetryError(f"{what}: another command has been at it for {seconds:.0f} s.", "Try again later.")
                if not waiting:
                    print(f"  {what}: waiting for another command", file=sys.stderr, flush=True)
                    waiting = True
                time.sleep(LOCK_POLL_SECONDS)
            yield


def _take(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def translate_os_errors(path: Path) -> Iterator[None]:
    """Turns file system errors into errors that a person can act on.

    Raises:
        RetryError: the disk is full.
        DataError: no permission.
    """
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise RetryError(
                f"{path}: the disk is full.",
                "Free some space and run the same command again: finished work is not repeated.",
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise DataError(f"{path}: no permission ({error.strerror}).") from error
        raise


def tree_digest(folder: Path) -> str:
    """Returns the sha256 over the sorted relative paths and contents of a folder (or of one file)."""
    total = hashlib.sha256()
    files = [folder] if folder.is_file() else sorted(path for path in folder.rglob("*") if path.is_file())
    for path in files:
        name = path.name if path == folder else path.relative_to(folder).as_posix()
        total.update(f"{name}\0{file_digest(path)}\n".encode())
    return total.hexdigest()


def file_digest(path: Path) -> str:
    """Returns the sha256 of a file's content, read in chunks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
