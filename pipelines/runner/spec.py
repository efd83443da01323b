"""Reads a compiled pipeline: the YAML that a cluster runs, or what KFP would compile to it.

The YAML contains one document in the intermediate representation (api/v2alpha1/pipeline_spec.proto in
kubeflow/pipelines) and, if a task has Kubernetes settings, a second one with these.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from google.protobuf import json_format
from kfp.pipeline_spec import pipeline_spec_pb2

from ...components.core.errors import ConfigError, DataError
from .values import Json

Message: TypeAlias = Any
"""A protobuf message of KFP's pipeline_spec, which comes without types."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Compiled:
    """A pipeline as compiled.

    Attributes:
        spec: a PipelineSpec message.
        executors: for each executor's label, its ExecutorSpec message.
        platforms: for each platform's name, its settings as plain JSON.
    """

    spec: Message
    executors: dict[str, Message]
    platforms: dict[str, Json]


def load(pipeline: object) -> Compiled:
    """Reads a compiled YAML file, or compiles a pipeline or component in memory.

    Raises:
        ConfigError: `pipeline` is not one of these.
        DataError: the file is missing or contains no KFP v2 pipeline.
    """
    if isinstance(pipeline, (str, Path)):
        return read(Path(pipeline))
    if not hasattr(pipeline, "pipeline_spec"):
        raise ConfigError(
            f"{pipeline!r} is not a pipeline.",
            "Pass a compiled YAML file, a @dsl.pipeline function or a @dsl.component.",
        )
    compiled: Message = pipeline
    platforms = json_format.MessageToDict(compiled.platform_spec).get("platforms", {})
    return _compiled(compiled.pipeline_spec, platforms, str(compiled.name))


def read(path: Path) -> Compiled:
    """Reads a compiled YAML file.

    Raises:
        DataError: the file is missing or contains no KFP v2 pipeline.
    """
    try:
        documents = [d for d in yaml.load_all(path.read_bytes(), Loader=_LOADER) if d is not None]
    except OSError as error:
        raise DataError(f"Pipeline {path} cannot be read: {error.strerror}.") from error
    except yaml.YAMLError as error:
        raise DataError(f"Pipeline {path} is not YAML: {error}") from error
    platforms: dict[str, Json] = {}
    specs: list[dict[str, Json]] = []
    for document in documents:
        if isinstance(document, dict) and set(document) == {"platforms"}:
            platforms = document["platforms"]
        elif isinstance(document, dict) and "root" in document:
            specs.append(document)
    if len(specs) != 1:
        raise DataError(
            f"Pipeline {path} contains {len(specs)} KFP v2 pipelines: it must contain exactly one.",
            "Compile it with kfp 2: kfp.compiler.Compiler().compile(pipeline, path).",
        )
    try:
        spec = json_format.ParseDict(specs[0], pipeline_spec_pb2.PipelineSpec())
    except json_format.ParseError as error:
        raise DataError(f"Pipeline {path} is not a KFP v2 pipeline: {error}") from error
    return _compiled(spec, platforms, str(path))


def _compiled(spec: Message, platforms: dict[str, Json], where: str) -> Compiled:
    deployment = pipeline_spec_pb2.PipelineDeploymentConfig()
    try:
        json_format.ParseDict(json_format.MessageToDict(spec.deployment_spec), deployment)
    except json_format.ParseError as error:
        raise DataError(f"Pipeline {where} has an invalid deploymentSpec: {error}") from error
    if spec.root.WhichOneof("implementation") != "dag":
        raise DataError(f"Pipeline {where} has no tasks at its root.")
    return Compiled(spec, dict(deployment.executors), platforms)
