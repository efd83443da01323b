"""A real server process, on a port that the system chooses, and images to send to it."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
from PIL import Image


@dataclass
class Served:
    """A server process that answers at `url`."""

    process: subprocess.Popen[str]
    url: str
    port: int
    log: list[str]
    client: httpx.Client

    def stop(self) -> int:
        """Sends SIGTERM. Returns: the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)


def encoded(pixels: np.ndarray, kind: str = "png") -> bytes:
    """Pixels [H, W, 3] uint8 as an encoded image."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


def squares(*found: tuple[int, int, int], cells: int = 8, cell: int = 32) -> bytes:
    """A grey PNG of `cells`×`cells` squares; each of `found` is (row, column, brightness)."""
    pixels = np.full((cells * cell, cells * cell, 3), 128, np.uint8)
    for row, column, value in found:
        pixels[row * cell : (row + 1) * cell, column * cell : (column + 1) * cell] = value
    return encoded(pixels)


def plain(red: int, green: int, blue: int) -> bytes:
    """A 40×30 PNG of one colour."""
    return encoded(np.full((30, 40, 3), (red, green, blue), np.uint8))


@contextlib.contextmanager
def launch(*arguments: object, wait: bool = True) -> Iterator[Served]:
    """Starts a server with the given arguments; it is gone at the end of the `with`.

    Args:
        arguments: of the command line.
        wait: until it says that it serves; else `url` is empty.
    """
    command = [sys.executable, "-W", "error", "-m", "towpath.components.serve", *map(str, arguments)]
    log: list[str] = []
    with (
        httpx.Client(timeout=60) as client,
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [*command, "--ready-file", f"{folder}/ready.json"], stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stderr is not None
        ready = threading.Event()

        def read(lines: io.TextIOWrapper) -> None:
            for line in lines:
                log.append(line)
                if line.startswith("Serving at"):
                    ready.set()
            ready.set()

        reader = threading.Thread(target=read, args=(process.stderr,))
        reader.start()
        try:
            served = Served(process, "", 0, log, client)
            if wait:
                assert ready.wait(60)
                assert process.poll() is None, "".join(log)
                result = json.loads(Path(folder, "ready.json").read_bytes())
                assert result["pid"] == process.pid
                client.base_url = result["url"]
                served = Served(process, result["url"], result["port"], log, client)
            yield served
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            reader.join()
