"""Errors a person can act on, and the exit codes that scripts can act on.

0    done (a gate that holds a model is a result, not an error)
1    a bug in Towpath
2    a wrong argument or configuration
3    input that cannot be used: data, records, a bundle, a pipeline file
4    something missing on this machine: a package, a device, an engine
5    a step of a pipeline raised an error of its own
75   retrying can help: interrupted, disk full, a service that does not answer
130  interrupted from the keyboard
"""

from __future__ import annotations


class TowpathError(Exception):
    """Base of every error that Towpath raises on purpose.

    Args:
        message: what happened, with the value, and where.
        hint: what to do about it; None where the message already says it.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message} {hint}")
        self.message = message
        self.hint = hint


class ConfigError(TowpathError):
    """A wrong argument or configuration value."""

    exit_code = 2


class DataError(TowpathError):
    """Input that cannot be used: a folder, an annotation, an image, a pipeline file."""

    exit_code = 3


class RecordsError(DataError):
    """Records (manifest or shards) that are damaged or do not fit."""


class BundleError(DataError):
    """A model bundle that is damaged or does not fit."""


class ShapeError(DataError):
    """An array whose shape is not the documented one."""


class MissingError(TowpathError):
    """Something missing on this machine: a package extra, a device, an engine."""

    exit_code = 4


class StepError(TowpathError):
    """A component raised an error of its own; the original is its `__cause__`."""

    exit_code = 5


class RetryError(TowpathError):
    """Retrying can help: interrupted, disk full, a service that does not answer."""

    exit_code = 75
