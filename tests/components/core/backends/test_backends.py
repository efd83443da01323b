"""The table of backends: each keeps the whole contract."""

from __future__ import annotations

import inspect

import pytest

from towpath.components.core.backends.base import BACKENDS, Backend, backend
from towpath.components.core.errors import ConfigError

CONTRACT = {name: call for name, call in vars(Backend).items() if inspect.isfunction(call) and name[0] != "_"}


@pytest.mark.parametrize("name", BACKENDS)
def test_a_backend_keeps_the_contract(name: str) -> None:
    found = backend(name)
    for call, expected in CONTRACT.items():
        parameters = list(inspect.signature(getattr(found, call)).parameters.values())
        wanted = list(inspect.signature(expected).parameters.values())[1:]
        assert [(one.name, one.default, one.annotation) for one in parameters] == [
            (one.name, one.default, one.annotation) for one in wanted
        ]


def test_the_contract_is_more_than_nothing() -> None:
    assert {"start_candidate", "promote_candidate", "stop", "live", "healthy", "status"} <= set(CONTRACT)


def test_an_unknown_backend_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"'locale'.*'local'"):
        backend("locale")
