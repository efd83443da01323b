"""What the server's tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny_models
from live_server import Served, launch, squares

from towpath.components.core.models.bundle import Sample


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A detector ("squares", with two samples) and a classifier ("colours")."""
    folder = tmp_path_factory.mktemp("bundles")
    samples = (
        (squares((2, 2, 255)), Sample("one.png", (0,), ((0.25, 0.25, 0.375, 0.375),))),
        (
            squares((0, 7, 255), (5, 1, 0)),
            Sample("two.png", (0, 1), ((0, 0.875, 0.125, 1), (0.625, 0.125, 0.75, 0.25))),
        ),
    )
    return tiny_models.detector(folder / "squares", samples=samples), tiny_models.classifier(folder / "colours")


@pytest.fixture(scope="session")
def server(bundles: tuple[Path, Path]) -> Iterator[Served]:
    """One server of both bundles, for tests that change nothing about it."""
    with launch(*bundles, "--version", "7", "--version", "8") as served:
        yield served
