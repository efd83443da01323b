"""The server process: bind, load, announce readiness, serve, drain."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Generator, Iterator, Sequence
from pathlib import Path

import uvicorn

from ..core import files
from ..core.errors import ConfigError, RetryError
from . import app, socket_handoff
from .config import ServeConfig
from .models import Models, Source

ANY = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


def serve(sources: Sequence[Source], config: ServeConfig, ready_file: Path | None = None) -> None:
    """Serves bundles until SIGTERM or SIGINT, then finishes the requests in flight and returns.

    It answers /healthz and /readyz while models load; with `reuse_port` it only listens once they are ready, since
    another process still serves the port's requests.

    Args:
        sources: bundles with distinct names.
        config: address and limits.
        ready_file: gets {"pid", "port", "url"} once every model is warmed up and the socket listens.

    Raises:
        ConfigError: two bundles of the same name, an unknown variant or an invalid address.
        BundleError: a bundle that does not load.
        RetryError: the port is in use.
        MissingError: an engine that is not installed.
    """
    with _bound(config) as listener:
        asyncio.run(_serve(sources, config, listener, ready_file))


async def _serve(
    sources: Sequence[Source], config: ServeConfig, listener: socket.socket, ready_file: Path | None
) -> None:
    models = Models(config)
    server = _Server(
        uvicorn.Config(
            app.build(models),
            # None: uvicorn's own configuration would close the log handlers of everything else in this process.
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="off",
        )
    )
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        if config.reuse_port and server.started:
            socket_handoff.point_at_newer(listener)
            loop.call_later(socket_handoff.SECONDS, server.handle_exit, number, None)
        else:
            server.handle_exit(number, None)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
    loading = asyncio.create_task(asyncio.to_thread(models.load, sources))
    if config.reuse_port:
        await loading
        if server.should_exit:
            return
    serving = asyncio.create_task(server.serve([listener]))
    ready = asyncio.create_task(_both(loading, server.listening.wait()))
    await asyncio.wait({ready, serving}, return_when=asyncio.FIRST_COMPLETED)
    if not ready.done():  # stopped while loading, or not able to listen
        ready.cancel()
    elif ready.exception() is not None:
        server.should_exit = True
    elif not server.should_exit:
        socket_handoff.share(listener)
        _announce(models, config, listener, ready_file)
    with _translate_os_errors(config):
        await serving
    if not ready.cancelled():
        await ready


async def _both(loading: Awaitable[None], listening: Awaitable[bool]) -> None:
    await asyncio.gather(loading, listening)


class _Server(uvicorn.Server):
    """uvicorn's server, without its signal handling: it would re-raise them after draining, but the exit code is 0."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()


def _bound(config: ServeConfig) -> socket.socket:
    """Creates a bound socket that does not listen yet: until then the system refuses connections."""
    try:
        found = socket.getaddrinfo(config.host, config.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as error:
        raise ConfigError(f"'host' is '{config.host}': the address cannot be resolved ({error.strerror}).") from error
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if config.reuse_port:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        with _translate_os_errors(config):
            listener.bind(address)
    except BaseException:
        listener.close()
        raise
    return listener


@contextlib.contextmanager
def _translate_os_errors(config: ServeConfig) -> Iterator[None]:
    """Turns socket errors into errors that a person can act on.

    Raises:
        RetryError: the port is in use.
        ConfigError: any other error.
    """
    where = f"{config.host}:{config.port}"
    try:
        yield
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise RetryError(
                f"{where}: the port is already in use.", "Choose another; 0 takes any free port."
            ) from error
        raise ConfigError(f"{where}: the server cannot listen on this address ({error.strerror}).") from error


def _announce(models: Models, config: ServeConfig, listener: socket.socket, ready_file: Path | None) -> None:
    port = listener.getsockname()[1]
    host = ANY.get(config.host, config.host)
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    if ready_file is not None:
        files.write_json(ready_file, {"pid": os.getpid(), "port": port, "url": url})
    for model in models.all():
        print(
            f"  {model.name} version {model.version} ({model.bundle.card.task}, {model.predictor.variant})",
            file=sys.stderr,
        )
    print(f"Serving at {url}; Ctrl-C stops it.", file=sys.stderr, flush=True)
