"""Unsupported features, which are rejected, and settings without effect on one machine, which are listed."""

from __future__ import annotations

from typing import NoReturn

from kfp.pipeline_spec import pipeline_spec_pb2

from ...components.core.errors import DataError
from .spec import Message
from .values import Json

_STRATEGY = pipeline_spec_pb2.PipelineTaskSpec.TriggerPolicy.TriggerStrategy

# Kubernetes settings of where and as what a pod runs. Every other one (secrets, config maps, volumes, timeouts, init
# containers) changes what a component sees, and is rejected.
_PLACEMENT = {
    "nodeSelector": "node selector",
    "podMetadata": "pod labels and annotations",
    "imagePullSecret": "image pull secret",
    "imagePullPolicy": "image pull policy",
    "tolerations": "tolerations",
    "nodeAffinity": "node affinity",
    "podAffinity": "pod affinity",
    "enabledSharedMemory": "shared memory size",
    "securityContext": "security context",
}
_PIPELINE_SETTINGS = {
    "resourceTtl": "time to live of finished pods",
    "resourceTtlOnCompletion": "time to live of finished pods",
    "resourceTtlOnSuccess": "time to live of finished pods",
    "resourceTtlOnFailure": "time to live of finished pods",
}


def refuse(path: str, feature: str, hint: str | None = None) -> NoReturn:
    """Raises the error for an unsupported feature.

    Args:
        path: of the task; "" is the pipeline itself.
        feature: its name.
        hint: what to do; None suggests a cluster.

    Raises:
        DataError: always.
    """
    subject = f"Task {path}" if path else "The pipeline"
    hint = hint or "Run this pipeline on a cluster."
    raise DataError(f"{subject}: {feature} is not supported by the local runner.", hint)


def refuse_task(spec: Message, path: str) -> None:
    """Rejects a task with an unsupported kind of execution.

    Raises:
        DataError: the message names the task and the feature.
    """
    if spec.WhichOneof("iterator") is not None:
        refuse(path, "dsl.ParallelFor")
    if any(p.WhichOneof("kind") == "task_final_status" for p in spec.inputs.parameters.values()):
        refuse(path, "dsl.ExitHandler")
    if spec.trigger_policy.strategy == _STRATEGY.ALL_UPSTREAM_TASKS_COMPLETED:
        refuse(path, "running whether or not the tasks before it succeed (dsl.ExitHandler, ignore_upstream_failure)")


class Settings:
    """The settings of executors and of the whole pipeline; collects those that have no effect here."""

    def __init__(self, platforms: dict[str, Json]) -> None:
        self._kubernetes: dict[str, Json] = platforms.get("kubernetes", {})
        self._unknown = sorted(set(platforms) - {"kubernetes"})
        self._ignored: dict[str, list[str]] = {}

    def ignored(self) -> tuple[str, ...]:
        """Returns each setting that was ignored, with the tasks that have it."""
        return tuple(f"{setting}: {', '.join(tasks)}" for setting, tasks in sorted(self._ignored.items()))

    def check_pipeline(self) -> None:
        """Rejects or records the pipeline's own settings.

        Raises:
            DataError: a setting is not supported.
        """
        for name in self._unknown:
            self._ignore(f"settings for platform {name!r}", "the pipeline")
        for name, value in self._kubernetes.get("pipelineConfig", {}).items():
            if name in _PIPELINE_SETTINGS:
                self._ignore(_PIPELINE_SETTINGS[name], "the pipeline")
            elif value:
                raise DataError(
                    f"The pipeline's setting {name!r} is not supported by the local runner.",
                    "Run this pipeline on a cluster.",
                )

    def check_executor(self, executor: Message, label: str, path: str) -> None:
        """Rejects or records the settings of the container in which a task would run.

        Raises:
            DataError: a setting is not supported.
        """
        kind = executor.WhichOneof("spec")
        if kind != "container":
            refuse(path, {"importer": "dsl.importer", "custom_job": "a custom job"}.get(kind, f"executor {kind!r}"))
        container = executor.container
        if container.HasField("lifecycle"):
            refuse(path, "a container's lifecycle hook")
        if container.HasField("resources"):
            self._ignore("resources (CPU, memory, accelerator)", path)
        executors = self._kubernetes.get("deploymentSpec", {}).get("executors", {})
        for name, value in executors.get(label, {}).items():
            if name in _PLACEMENT:
                self._ignore(_PLACEMENT[name], path)
            elif value:
                refuse(path, f"the Kubernetes setting {name!r}")

    def _ignore(self, setting: str, path: str) -> None:
        tasks = self._ignored.setdefault(setting, [])
        if path not in tasks:
            tasks.append(path)
