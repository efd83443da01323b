"""`python -m towpath.components.serve BUNDLE …`: one server process, as `deploy` starts it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..core import config
from ..core.errors import ConfigError, TowpathError
from .config import ServeConfig
from .models import Source
from .server import serve

# Settings with a command line option of the same name.
SETTINGS = ("host", "port", "reuse_port", "variant", "threads", "max_waiting", "max_body_bytes", "max_instances")


def main(arguments: list[str] | None = None) -> int:
    """Parses the command line and serves.

    Args:
        arguments: of the command line; None takes sys.argv.

    Returns:
        The exit code, see core/errors.py.
    """
    options = _parser().parse_args(arguments)
    values = {name: value for name, value in vars(options).items() if name in SETTINGS and value is not None}
    try:
        sources = _sources(options.bundles, options.version)
        serve(sources, config.load(ServeConfig, values, "serve"), options.ready_file)
    except TowpathError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _sources(bundles: list[Path], versions: list[str]) -> list[Source]:
    if versions and len(versions) != len(bundles):
        raise ConfigError(f"There are {len(bundles)} bundles, but {len(versions)} versions.", "Pass one for each.")
    if not versions:
        return [Source(folder) for folder in bundles]
    return [Source(folder, version) for folder, version in zip(bundles, versions, strict=True)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m towpath.components.serve", description="Serves models over HTTP.")
    parser.add_argument("bundles", nargs="+", type=Path, metavar="BUNDLE", help="model folders with a model.json")
    parser.add_argument("--version", action="append", default=[], help="of each bundle, in their order (1)")
    parser.add_argument("--variant", help="of every bundle: a variant's name or saved_model")
    parser.add_argument("--host", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, default=0, help="0: any free port (0)")
    parser.add_argument("--reuse-port", action="store_true", help="share the port with another server process")
    parser.add_argument(
        "--ready-file", type=Path, help="written with pid, port and url as JSON once requests are answered"
    )
    parser.add_argument(
        "--workers-threads", type=int, dest="threads", help="requests answered at a time (one per core)"
    )
    parser.add_argument("--max-waiting", type=int, help="requests that may wait; more get 429 (64)")
    parser.add_argument("--max-body-bytes", type=int, help="of one request (33554432)")
    parser.add_argument("--max-instances", type=int, help="images in one :predict (32)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
