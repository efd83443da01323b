"""Keeps the chatter of native libraries off the terminal: they write to the file descriptors, past Python."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def suppressed() -> Iterator[None]:
    """What C and C++ code writes to standard output and error inside is dropped.

    Unless an exception ends it: then it is written after all, since it may say why.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    kept = [os.dup(descriptor) for descriptor in (1, 2)]
    with tempfile.TemporaryFile() as said:
        for descriptor in (1, 2):
            os.dup2(said.fileno(), descriptor)
        failed = True
        try:
            yield
            failed = False
        finally:
            for descriptor, old in zip((1, 2), kept, strict=True):
                os.dup2(old, descriptor)
                os.close(old)
            if failed:
                said.seek(0)
                os.write(2, said.read())
