"""What the benchmarks borrow from the server's tests: models written by hand, and a real server process."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SERVE = Path(__file__).resolve().parents[1] / "components" / "serve"


def _load(name: str) -> ModuleType:
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, SERVE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look up their module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def tiny_models() -> ModuleType:
    return _load("tiny_models")


@pytest.fixture(scope="session")
def live_server() -> ModuleType:
    return _load("live_server")
