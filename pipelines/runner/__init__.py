"""The in-process runner: compiled Kubeflow pipelines, run in this process, task by task.

Example:
    result = run("pipeline.yaml", {"epochs": 3}, out="runs")
    result.tasks["train"].outputs["model"].path
"""

from .record import Listener, Run, State, TaskRun
from .run import run
from .values import Artifact

__all__ = ["Artifact", "Listener", "Run", "State", "TaskRun", "run"]
