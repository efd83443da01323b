"""Atomic file writes, and digests of file contents."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from .errors import DataError, RetryError

CHUNK = 1 << 20
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
    except ValueError as error:
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
    """Moves a finished folder to its final place with one rename; an existing `out` is replaced."""
    with translate_os_errors(out):
        for folder, _, names in os.walk(work):
            for name in names:
                _sync(Path(folder) / name)
            _sync(Path(folder))
        if out.is_dir():
            shutil.rmtree(out)
        work.rename(out)
        _sync(out.parent)


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
