"""What this runner cannot do, and what has no meaning on one machine: the first is refused, the second is listed."""

from __future__ import annotations

from typing import NoReturn

from kfp.pipeline_spec import pipeline_spec_pb2

from ...components.core.errors import DataError
from .spec import Message
from .values import Json

_STRATEGY = pipeline_spec_pb2.PipelineTaskSpec.TriggerPolicy.TriggerStrategy

# Kubernetes settings that say where and as what a pod runs. Every other one (secrets, config maps, volumes, timeouts,
# init containers) changes what a component sees, and is refused.
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
    """Raise the one error for what this runner cannot do; a `path` of "" is the pipeline itself."""
    subject = f"Task {path}" if path else "The pipeline"
    hint = hint or "Run this pipeline on a cluster."
    raise DataError(f"{subject}: {feature} is not supported by the local runner.", hint)


def refuse_task(spec: Message, path: str) -> None:
    """Refuse a task whose way of running is not supported.

    Raises:
        DataError: naming the task and the feature.
    """
    if spec.WhichOneof("iterator") is not None:
        refuse(path, "dsl.ParallelFor")
    if any(p.WhichOneof("kind") == "task_final_status" for p in spec.inputs.parameters.values()):
        refuse(path, "dsl.ExitHandler")
    if spec.trigger_policy.strategy == _STRATEGY.ALL_UPSTREAM_TASKS_COMPLETED:
        refuse(path, "running whether or not the tasks before it succeed (dsl.ExitHandler, ignore_upstream_failure)")


class Settings:
    """The settings of executors and of the whole pipeline; it remembers which have no meaning here."""

    def __init__(self, platforms: dict[str, Json]) -> None:
        self._kubernetes: dict[str, Json] = platforms.get("kubernetes", {})
        self._unknown = sorted(set(platforms) - {"kubernetes"})
        self._ignored: dict[str, list[str]] = {}

    def ignored(self) -> tuple[str, ...]:
        """Each setting that was ignored, with the tasks that have it."""
        return tuple(f"{setting}: {', '.join(tasks)}" for setting, tasks in sorted(self._ignored.items()))

    def check_pipeline(self) -> None:
        """Refuse or note the pipeline's own settings."""
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
        """Refuse or note the settings of the container in which a task would run."""
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
