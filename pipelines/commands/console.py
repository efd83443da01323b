"""Where commands print: tables that fit a terminal, and that are whole where no terminal is."""

from __future__ import annotations

from rich.console import Console
from rich.table import Column, Table

# Wider than any line of ours: a file or a pipe has no edge, and a cut address is of no use in it.
NO_EDGE = 1000


def stdout() -> Console:
    """Standard output."""
    console = Console(highlight=False, soft_wrap=True)
    return console if console.is_terminal else Console(highlight=False, soft_wrap=True, width=NO_EDGE)


def stderr() -> Console:
    """Standard error."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def table(*columns: str) -> Table:
    """An empty table without lines; what does not fit a narrow terminal is folded, not cut."""
    return Table(*(Column(name, overflow="fold") for name in columns), box=None, header_style="dim", pad_edge=False)
