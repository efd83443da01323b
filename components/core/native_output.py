"""Suppresses output of native libraries, which write to the file descriptors and bypass Python."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def suppressed() -> Iterator[None]:
    """Discards what C and C++ code writes to standard output and error inside the block.

    If the block raises, the output is written to standard error after all, since it may explain the exception.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    kept = [os.dup(descriptor) for descriptor in (1, 2)]
    with tempfile.TemporaryFile() as captured:
        for descriptor in (1, 2):
            os.dup2(captured.fileno(), descriptor)
        failed = True
        try:
            yield
            failed = False
        finally:
            for descriptor, old in zip((1, 2), kept, strict=True):
                os.dup2(old, descriptor)
                os.close(old)
            if failed:
                captured.seek(0)
                os.write(2, captured.read())
