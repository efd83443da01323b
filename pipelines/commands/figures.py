"""A finished task in one line: its main figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..runner import Artifact, TaskRun

REJECT = "reject"


def step(task: TaskRun) -> str:
    """The step that a task runs: its name without the number that KFP adds to a second task of one component."""
    name, dash, number = task.name.rpartition("-")
    return name if dash and number.isdigit() else task.name


def environment(task: TaskRun) -> str | None:
    """The environment that a task acts on; None for those that act on none."""
    value = task.inputs.get("environment")
    return value if isinstance(value, str) else None


def title(task: TaskRun) -> str:
    """The task as a person knows it: "train", "staging · check"."""
    where = environment(task)
    return f"{where} · {step(task)}" if where else step(task)


def metrics(task: TaskRun) -> dict[str, Any]:
    """All metadata of the task's artifacts that is a number or text."""
    found: dict[str, Any] = {}
    for value in task.outputs.values():
        if isinstance(value, Artifact):
            found.update({k: v for k, v in value.metadata.items() if isinstance(v, (int, float, str))})
    return found


def figure(task: TaskRun) -> str:
    """The task's main figure in a few words; "" where it has none."""
    return _FIGURES.get(step(task), _any)(task, metrics(task))


def _prepare(task: TaskRun, found: Mapping[str, Any]) -> str:
    images = sum(value for name, value in found.items() if name.endswith("_examples"))
    return f"{images:,} images, {found['classes']} classes" if "classes" in found else _any(task, found)


def _train(task: TaskRun, found: Mapping[str, Any]) -> str:
    return _listed(found, ("loss", "loss {:.3f}"), ("images_per_second", "{:,.0f} images/s"))


def _evaluate(task: TaskRun, found: Mapping[str, Any]) -> str:
    return _listed(found, ("map50", "mAP@0.5 {:.3f}"), ("map", "mAP {:.3f}"), ("accuracy", "accuracy {:.3f}"))


def _quantize(task: TaskRun, found: Mapping[str, Any]) -> str:
    return _listed(
        found,
        ("int8_map50", "int8 mAP@0.5 {:.3f}"),
        ("int8_accuracy", "int8 accuracy {:.3f}"),
        ("int8_megabytes", "{:.1f} MB"),
    )


def _benchmark(task: TaskRun, found: Mapping[str, Any]) -> str:
    most = max((value for name, value in found.items() if name.endswith("_images_per_dollar")), default=None)
    summary = _listed(found, ("images_per_second", "{:,.0f} images/s"))
    return summary if most is None else f"{summary}, {most:,.0f} images/$"


def _register(task: TaskRun, found: Mapping[str, Any]) -> str:
    return f"{task.outputs['name']}, version {task.outputs['version']}"


def _deploy(task: TaskRun, found: Mapping[str, Any]) -> str:
    return str(task.outputs["url"])


def _check(task: TaskRun, found: Mapping[str, Any]) -> str:
    passed = {name.removesuffix(".passed"): bool(value) for name, value in found.items() if name.endswith(".passed")}
    failed = [name for name, good in passed.items() if not good]
    summary = f"failed: {', '.join(failed)}" if failed else f"{len(passed)} checks passed"
    return ", ".join(part for part in (summary, _listed(found, ("load.p99_ms", "p99 {:.0f} ms"))) if part)


def _promote(task: TaskRun, found: Mapping[str, Any]) -> str:
    if task.outputs["outcome"] == REJECT:
        return f"rejected: {task.outputs['reasons']}"
    return "promoted"


def _any(task: TaskRun, found: Mapping[str, Any]) -> str:
    numbers = [f"{name} {value:.4g}" for name, value in found.items() if isinstance(value, (int, float))]
    return ", ".join(numbers[:3])


def _listed(found: Mapping[str, Any], *forms: tuple[str, str]) -> str:
    return ", ".join(form.format(found[name]) for name, form in forms if name in found)


_FIGURES: Mapping[str, Callable[[TaskRun, Mapping[str, Any]], str]] = {
    "prepare": _prepare,
    "train": _train,
    "evaluate": _evaluate,
    "quantize": _quantize,
    "benchmark": _benchmark,
    "register": _register,
    "deploy": _deploy,
    "check": _check,
    "promote": _promote,
}
