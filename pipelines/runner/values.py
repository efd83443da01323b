"""The values that are passed between tasks: parameters (JSON) and artifacts (a path or URI, with metadata).

Numbers follow one rule, everywhere: a parameter declared `int` is a Python int, one declared `float` is a Python
float, and inside a list or dict a number without a fraction is an int. That is what a component sees on a cluster:
every value passes through google.protobuf.Value there, whose JSON form writes 3.0 as `3` and sorts the keys of a dict
(kubeflow/pipelines, backend/src/v2/driver/driver.go, initPodSpecPatch: protojson.Marshal(executorInput)).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from ...components.core.errors import DataError

Json: TypeAlias = Any
"""None, bool, int, float, str, or a list or dict of these."""

# Above this, Go's JSON encoder writes an exponent, which Python reads as a float.
_LARGEST_PLAIN_NUMBER = 1e21
_LOCAL_MOUNTS = {"gs://": "/gcs/", "s3://": "/s3/", "minio://": "/minio/"}


class Kind(Enum):
    """A parameter's declared type, by its name in the pipeline spec."""

    FLOAT = "NUMBER_DOUBLE"
    INT = "NUMBER_INTEGER"
    STR = "STRING"
    BOOL = "BOOLEAN"
    LIST = "LIST"
    DICT = "STRUCT"

    @property
    def python(self) -> str:
        """The type's name in Python."""
        return self.name.lower()


@dataclass(frozen=True)
class Artifact:
    """An input or output artifact of a task.

    Attributes:
        name: the output's name in the component that produced it.
        schema: KFP's type, {"schemaTitle": "system.Model", "schemaVersion": "0.0.1"}.
        uri: an absolute local path, or a URI of remote storage.
        metadata: what the component recorded about it.
        digest: of its content; if it is not on local disk, of its URI.
    """

    name: str
    schema: Mapping[str, str]
    uri: str
    metadata: Mapping[str, Json] = field(default_factory=dict)
    digest: str = ""

    @property
    def path(self) -> str:
        """The local path, as a component sees it (a bucket is a mount, such as /gcs/…)."""
        for scheme, mount in _LOCAL_MOUNTS.items():
            if self.uri.startswith(scheme):
                return mount + self.uri[len(scheme) :]
        return self.uri

    @property
    def local(self) -> bool:
        return is_local(self.uri)

    def runtime(self) -> dict[str, Json]:
        """Returns KFP's RuntimeArtifact message as JSON."""
        return {
            "name": self.name,
            "uri": self.uri,
            "type": dict(self.schema),
            "metadata": dict(self.metadata),
        }


def is_local(uri: str) -> bool:
    """Returns whether `uri` is a plain path on this machine."""
    return uri.startswith("/")


def convert(value: Json, kind: Kind, where: str) -> Json:
    """Converts `value` to a parameter of `kind` as a component receives it.

    A string parameter takes any value, in its JSON form; nothing else is converted silently
    (kubeflow/pipelines, backend/src/v2/driver/resolve.go, handleParamTypeValidationAndConversion).

    Raises:
        DataError: `value` is not of that kind; the message begins with `where`.
    """
    if kind is Kind.STR:
        return value if isinstance(value, str) else text(value)
    if fits(value, kind):
        if kind is Kind.INT:
            return int(value)
        if kind is Kind.FLOAT:
            return float(value)
        return normalize_json(value)
    raise DataError(f"{where} is {value!r}, of type {type(value).__name__}: it must be {kind.python}.")


def fits(value: Json, kind: Kind) -> bool:
    """Returns whether `value` is of `kind` in JSON's sense: 3.0 is an int, 3 is a float, True is neither."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is Kind.INT:
        return number and (isinstance(value, int) or value.is_integer())
    if kind is Kind.FLOAT:
        return number
    return isinstance(value, {Kind.STR: str, Kind.BOOL: bool, Kind.LIST: list, Kind.DICT: dict}[kind])


def normalize_json(value: Json) -> Json:
    """Normalizes `value` like a cluster: a number without a fraction becomes an int, and a dict's keys are sorted.

    Keys are sorted so that what a component sees, like the cache's key, does not depend on who wrote the dict.
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_PLAIN_NUMBER:
        return int(value)
    if isinstance(value, (list, tuple)):
        return [normalize_json(item) for item in value]
    if isinstance(value, Mapping):
        pairs = sorted(((str(key), item) for key, item in value.items()), key=lambda pair: pair[0])
        return {key: normalize_json(item) for key, item in pairs}
    return value


def text(value: Json) -> str:
    """Formats `value` as text in a string parameter (backend/src/v2/metadata/converter.go, PbValueToText)."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(normalize_json(value), separators=(",", ":"), ensure_ascii=False)
