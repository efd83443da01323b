"""The three components of a gate, as KFP's executor calls them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from kfp.dsl import HTML, Markdown, Metrics, Model

from towpath.components.check.component import check
from towpath.components.deploy.component import deploy
from towpath.components.promote.component import promote
from towpath.components.register.component import register

pytestmark = pytest.mark.usefixtures("running")


def test_from_a_bundle_to_a_decision(
    make_classifier: Callable[..., Path], fresh_registry: Path, tmp_path: Path
) -> None:
    model, metrics = Model(uri=str(make_classifier())), Metrics(uri=str(tmp_path / "metrics"))
    metrics.log_metric("accuracy", 0.6)
    report = HTML(uri=str(tmp_path / "report"))
    Path(report.path).write_text("<html></html>")
    name, version = register.python_func(model=model, metrics=metrics, report=report, config={})
    (url,) = deploy.python_func(name=name, version=version, environment="demo", config={"ready_seconds": 200.0})

    results, table = Metrics(uri=str(tmp_path / "results")), Markdown(uri=str(tmp_path / "table"))
    check.python_func(name=name, version=version, environment="demo", url=url, results=results, table=table, config={})
    assert results.metadata["smoke.passed"] == 1.0
    assert json.loads(Path(results.path).read_text())["checks"][0]["check"] == "health"
    assert "| smoke | passed |" in Path(table.path).read_text()

    decision = Markdown(uri=str(tmp_path / "decision"))
    outcome, reasons = promote.python_func(
        name=name,
        version=version,
        environment="demo",
        results=results,
        decision=decision,
        approvals=["legal"],
        config={},
    )
    assert (outcome, reasons) == ("reject", "accuracy 0.60 < 0.70")
    assert Path(decision.path).read_text().startswith("# colours 1 is not promoted to demo")
