"""How every benchmark prints what it measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table


def show(title: str, what: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table below a line that says what was measured; floats with three figures."""
    table = Table(*columns)
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        table.add_row(*(f"{cell:.3g}" if isinstance(cell, float) and cell < 100 else _text(cell) for cell in row))
    console = Console(width=110, highlight=False)
    console.print(f"\n[bold]{title}[/bold]", what, sep="\n")
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    console.print(f"{cores} cores, load average {load:.1f}, Python {platform.python_version()}.")
    console.print(table)


def _text(cell: object) -> str:
    return f"{cell:.0f}" if isinstance(cell, float) else str(cell)
