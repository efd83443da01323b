"""Files that appear whole or not at all, and digests of what lies in them."""

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
    """Writes a file beside its place, syncs it, then renames it there."""
    with translate_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{os.getpid()}.writing")
        try:
            with beside.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """`write_bytes` for UTF-8 text."""
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    """`write_bytes` for a JSON value, indented for readers. NaN is refused: it is not JSON."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def read_json(path: Path, what: str) -> Any:
    """Reads a JSON file of ours.

    Raises:
        DataError: it is not there or not JSON; `what` names it ("the manifest").
    """
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise DataError(f"{path}: {what} is not there.") from error
    except ValueError as error:
        raise DataError(f"{path}: {what} is not readable JSON ({error}).") from error


def read_versioned(path: Path, version: int, parse: Callable[[Any], T], error: type[DataError], hint: str) -> T:
    """Reads a JSON file of ours that has a `format_version`.

    Args:
        path: the file.
        version: the format version that is read.
        parse: makes the result of the JSON value.
        error: raised where the file does not fit.
        hint: what to do where the file is not there.

    Raises:
        DataError: as `error`: no file, no JSON, another version, or a field that is missing or wrong.
    """
    if not path.is_file():
        raise error(f"{path.parent}: there is no {path.name}.", hint)
    value = read_json(path, "the file")
    found = value.get("format_version") if isinstance(value, dict) else None
    if found != version:
        raise error(f"{path}: its format version is {found}: this Towpath reads {version}.")
    try:
        return parse(value)
    except (KeyError, TypeError, ValueError) as cause:
        raise error(f"{path}: a field is missing or wrong ({cause}).") from cause


def partial(out: Path) -> Path:
    """Where a step works on `out` until it is whole. What lies there may be resumed, never used."""
    return out.with_name(out.name + ".partial")


def publish(work: Path, out: Path) -> None:
    """Puts a finished folder in its place with one rename; an older `out` is replaced."""
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
    """Turns what a file system says into an error that a person can act on."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise RetryError(
                f"{path}: the disk is full.",
                "Free some space and give the same command again: what is finished is not done again.",
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise DataError(f"{path}: no permission ({error.strerror}).") from error
        raise


def tree_digest(folder: Path) -> str:
    """sha256 over the sorted relative paths and contents of a folder (or of one file)."""
    total = hashlib.sha256()
    files = [folder] if folder.is_file() else sorted(path for path in folder.rglob("*") if path.is_file())
    for path in files:
        name = path.name if path == folder else path.relative_to(folder).as_posix()
        total.update(f"{name}\0{file_digest(path)}\n".encode())
    return total.hexdigest()


def file_digest(path: Path) -> str:
    """sha256 of a file's content, read in pieces."""
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
