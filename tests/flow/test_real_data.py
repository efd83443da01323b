"""The whole flow on real sets of each format: it runs to its end, and a gate rejects what two epochs cannot teach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.mark.slow
@pytest.mark.parametrize(("name", "figure"), [("bccd", "map50"), ("flowers", "accuracy"), ("coco256", "map50")])
def test_a_weak_model_is_held_with_its_figures_and_nothing_changes(
    towpath: Any, shared_data: Path, name: str, figure: str
) -> None:
    run = towpath("run", "train_to_prod", "--data", shared_data / name, "--set", "train.epochs=2")
    assert run["state"] == "succeeded"
    assert run["urls"] == {}
    (gate,) = run["gates"]
    assert (gate["environment"], gate["outcome"]) == ("demo", "reject")
    assert gate["model"].startswith(name)
    assert f"{figure} " in gate["reasons"]
    assert Path(run["report"]).is_file()
    assert towpath("status") == []
