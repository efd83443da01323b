"""Progress of long-running work: a bar on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

PLAIN_SECONDS = 5.0


class Bar(Protocol):
    """The interface that steps call to report progress."""

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Counts `steps` as done; `note` is shown next to the bar ("loss 0.31")."""


@contextmanager
def bar(what: str, total: int, done: int = 0) -> Iterator[Bar]:
    """Shows the progress of a piece of work.

    Args:
        what: the work ("writing records").
        total: number of steps.
        done: steps that are already done (resumed work).

    Yields:
        The bar to advance.
    """
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield _Plain(what, total, done)
        return
    columns = (
        TextColumn("  {task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("[dim]{task.fields[note]}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Rich(progress, what, total, done)


class _Rich:
    def __init__(self, progress: Progress, what: str, total: int, done: int) -> None:
        self._progress = progress
        self._task = progress.add_task(what, total=total, completed=done, note="")

    def advance(self, steps: int = 1, note: str = "") -> None:
        self._progress.update(self._task, advance=steps, note=note)


class _Plain:
    def __init__(self, what: str, total: int, done: int) -> None:
        self._what, self._total, self._done = what, total, done
        self._last_printed = time.monotonic()

    def advance(self, steps: int = 1, note: str = "") -> None:
        self._done += steps
        if self._done >= self._total or time.monotonic() - self._last_printed >= PLAIN_SECONDS:
            self._last_printed = time.monotonic()
            print(f"  {self._what} {self._done}/{self._total} {note}".rstrip(), file=sys.stderr, flush=True)
