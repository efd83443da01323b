"""Orders a graph's tasks by their dependencies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

from ...components.core.errors import DataError


def order(needs: Mapping[str, Iterable[str]], where: str) -> list[str]:
    """Sorts tasks topologically; ties are broken by name, so that the order is deterministic.

    Args:
        needs: for each task, the tasks that must end before it.
        where: the graph's name, for the message.

    Returns:
        The tasks' names, each after all that it depends on.

    Raises:
        DataError: a task depends on one that does not exist, or the dependencies are circular.
    """
    for task, upstream in needs.items():
        for name in upstream:
            if name not in needs:
                raise DataError(f"{where}: task {task!r} depends on {name!r}, which does not exist.")
    sorter = TopologicalSorter(needs)
    try:
        sorter.prepare()
    except CycleError as error:
        raise DataError(f"{where}: the tasks' dependencies are circular: {' -> '.join(error.args[1])}.") from None
    ordered: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        ordered.extend(ready)
        sorter.done(*ready)
    return ordered
