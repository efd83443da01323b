"""How a command of the command line ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class CliResult:
    """Exit code, standard output and standard error."""

    code: int
    out: str
    err: str


Cli = Callable[..., CliResult]
