"""Errors and the exit codes that the module's docstring promises to scripts."""

from __future__ import annotations

import inspect
import re

import pytest

from towpath.components.core import errors
from towpath.components.core.errors import TowpathError

KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, TowpathError)]
DOCUMENTED = {int(code) for code in re.findall(r"^(\d+) {2,}\S", errors.__doc__ or "", re.MULTILINE)}


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.TowpathError, 1),
        (errors.ConfigError, 2),
        (errors.DataError, 3),
        (errors.RecordsError, 3),
        (errors.BundleError, 3),
        (errors.ShapeError, 3),
        (errors.MissingError, 4),
        (errors.StepError, 5),
        (errors.RetryError, 75),
    ],
)
def test_every_kind_has_its_exit_code(kind: type[TowpathError], code: int) -> None:
    assert kind("wrong").exit_code == code


def test_the_exit_codes_are_those_of_the_docstring() -> None:
    # 0 and 130 are no error of ours: done, and Ctrl-C.
    assert {kind.exit_code for kind in KINDS} == DOCUMENTED - {0, 130}


def test_the_hint_follows_the_message() -> None:
    error = errors.DataError("a.jpg is empty.", "Remove it.")
    assert str(error) == "a.jpg is empty. Remove it."
    assert (error.message, error.hint) == ("a.jpg is empty.", "Remove it.")
    assert str(errors.DataError("a.jpg is empty.")) == "a.jpg is empty."
    assert errors.DataError("a.jpg is empty.").hint is None


def test_what_cannot_be_used_is_caught_as_one() -> None:
    assert issubclass(errors.RecordsError, errors.DataError)
    assert issubclass(errors.BundleError, errors.DataError)
    assert not issubclass(errors.RetryError, errors.DataError)
