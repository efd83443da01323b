from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from towpath.components.check.check import check
from towpath.components.check.config import CheckConfig
from towpath.components.core.backends.local import backend
from towpath.components.core.errors import ConfigError
from towpath.components.core.release import check_results, environments
from towpath.components.core.release.check_results import CheckResult, Results
from towpath.components.core.release.registry import Version
from towpath.components.deploy.config import DeployConfig
from towpath.components.deploy.deploy import deploy

pytestmark = pytest.mark.usefixtures("running")

RULES = """
lab:
  checks:
    health: {}
    predictions: {min_fraction_of_eval: 0.5}
    regression: {min_agreement: 0.7}
    smoke: {}
    load: {connections: 2, seconds: 0.5, max_p99_ms: 20000, max_errors: 0}
"""


LAB = environments.parse(RULES)


def check_in_lab(model: str, version: str, url: str) -> Results:
    return check(model, version, "lab", url, LAB, CheckConfig())


def deploy_to_lab(model: str, version: str) -> str:
    return deploy(model, version, "lab", LAB, DeployConfig())


def by_name(found: Results) -> dict[str, CheckResult]:
    return {result.check: result for result in found.checks}


def test_a_good_detector_passes_every_check(add_detector: Callable[..., Version], tmp_path: Path) -> None:
    model = add_detector()
    url = deploy_to_lab(model.name, model.version)
    found = check_in_lab(model.name, model.version, url)
    assert found.passed, found.markdown()
    done = by_name(found)
    assert list(done) == ["health", "predictions", "regression", "smoke", "load"]
    assert done["predictions"].figures == {"share": 1.0, "minimum": 0.45, "images": 3.0}
    assert "no champion" in done["regression"].notes[0]
    assert done["load"].figures["requests_per_second"] > 0
    assert done["load"].figures["errors"] == 0
    assert found.flat()["load.p99_ms"] >= found.flat()["load.p50_ms"] > 0

    check_results.write(found, tmp_path / "results.json")
    assert check_results.read(tmp_path / "results.json") == found
    assert "| predictions | passed | share 1" in found.markdown()


def test_a_candidate_is_held_to_its_champion(add_classifier: Callable[..., Version]) -> None:
    add_classifier()
    # The same weights, other classes: it names every colour otherwise than the champion does.
    add_classifier(note="second", wrong=True)
    deploy_to_lab("colours", "1")
    champion = backend.promote_candidate("lab", "colours", "1").url
    url = deploy_to_lab("colours", "2")

    done = by_name(check_in_lab("colours", "2", url))
    assert not done["predictions"].passed
    assert "share 0.00 < 0.49" in done["predictions"].notes[1]
    assert done["regression"].passed
    assert done["regression"].figures["agreement"] == 1.0
    assert not by_name(check_in_lab("colours", "2", champion))["health"].passed

    same = by_name(check_in_lab("colours", "1", champion))
    assert same["predictions"].figures["share"] == 1.0
    assert "against version 1" in same["regression"].notes[0]


def test_nothing_listens_is_a_result(add_classifier: Callable[..., Version]) -> None:
    add_classifier()
    found = check_in_lab("colours", "1", "http://127.0.0.1:1")
    assert not found.passed
    health, *others = found.checks
    assert "/readyz" in health.notes[0]
    assert {result.notes for result in others} == {("skipped: the health check failed",)}
    assert [result.check for result in others] == ["predictions", "regression", "smoke", "load"]


def test_an_environment_that_is_none_is_an_error(add_classifier: Callable[..., Version]) -> None:
    with pytest.raises(ConfigError, match="Did you mean 'demo'"):
        check("colours", "1", "dmeo", "http://127.0.0.1:1", LAB | environments.read(), CheckConfig())
