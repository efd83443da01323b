"""The order of a graph's tasks, from what each task needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

from ...components.core.errors import DataError


def order(needs: Mapping[str, Iterable[str]], where: str) -> list[str]:
    """Every task after all that it needs; among those that may go next, by name, so that two runs agree.

    Args:
        needs: for each task, the tasks that must end before it.
        where: the graph's name, for the message.

    Raises:
        DataError: a task needs one that does not exist, or, in a circle, itself.
    """
    for task, upstream in needs.items():
        for name in upstream:
            if name not in needs:
                raise DataError(f"{where}: task {task!r} needs {name!r}, which does not exist.")
    sorter = TopologicalSorter(needs)
    try:
        sorter.prepare()
    except CycleError as error:
        raise DataError(f"{where}: tasks need each other in a circle: {' -> '.join(error.args[1])}.") from None
    ordered: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        ordered.extend(ready)
        sorter.done(*ready)
    return ordered
