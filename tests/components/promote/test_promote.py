from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import httpx
import pytest

from towpath.components.check.check import check
from towpath.components.check.config import CheckConfig
from towpath.components.core.backends.local import backend
from towpath.components.core.errors import ConfigError
from towpath.components.core.release import decisions, environments, mlflow_client, registry
from towpath.components.core.release.check_results import CheckResult, Results
from towpath.components.core.release.registry import Version
from towpath.components.deploy.config import DeployConfig
from towpath.components.deploy.deploy import deploy
from towpath.components.promote.config import PromoteConfig
from towpath.components.promote.promote import Decision, promote
from towpath.components.promote.rollback import rollback
from towpath.components.promote.status import status

pytestmark = pytest.mark.usefixtures("running")

RULES = environments.parse("""
first:
  evaluation:
    classification: {accuracy: 0.7}
  checks: {health: {}, predictions: {}, smoke: {}}
second:
  from: first
  checks: {health: {}}
  approvals: [legal, cost]
""")


@pytest.fixture
def gate() -> Callable[..., Decision]:
    """Deploys, checks and decides, as the promote pipeline does."""

    def go(model: Version, environment: str = "first", approvals: tuple[str, ...] = ()) -> Decision:
        url = deploy(model.name, model.version, environment, RULES, DeployConfig())
        found = check(model.name, model.version, environment, url, RULES, CheckConfig())
        return promote(model.name, model.version, environment, found, approvals, RULES, PromoteConfig())

    return go


def versions(url: str | None) -> dict[str, str]:
    models = httpx.get(f"{url}/v1/models", trust_env=False).json()["models"]
    return {model["name"]: model["version"] for model in models}


def passed(model: Version, environment: str) -> Results:
    checks = tuple(CheckResult(kind, True) for kind in ("health", "predictions", "smoke"))
    return Results(model.name, model.version, environment, "http://127.0.0.1:1", checks)


def test_a_good_version_enters_once(add_classifier: Callable[..., Version], gate: Callable[..., Decision]) -> None:
    model = add_classifier()
    decision = gate(model)
    assert decision.outcome == "promote", decision.page
    assert decision.reasons[0] == "accuracy 0.99 >= 0.70"
    assert versions(decision.url) == {"colours": "1"}
    assert backend.candidate("first") is None
    assert registry.environments() == {"first": {"colours": "1"}}
    (event,) = decisions.history("first")
    assert (event.action, event.version, event.previous) == ("promote", "1", None)
    assert "| evaluation | yes | accuracy 0.99 >= 0.70 |" in decision.page
    with mlflow_client.client() as mlflow:
        assert mlflow.get_run(event.run_id).data.metrics["predictions.share"] == 1.0
        assert {item.path for item in mlflow.list_artifacts(event.run_id)} == {"decision.md", "results.json"}

    live = backend.live("first")
    assert gate(model).outcome == "promote"  # again: nothing moves, nothing is recorded twice
    assert backend.live("first") == live
    assert decisions.history("first") == [event]
    (row,) = status(RULES)
    assert (row.environment, row.name, row.version, row.serving, row.since, row.url, row.healthy) == (
        "first",
        "colours",
        "1",
        "1",
        event.when,
        decision.url,
        True,
    )


def test_a_held_version_leaves_everything_as_it_was(
    add_classifier: Callable[..., Version], gate: Callable[..., Decision]
) -> None:
    gate(add_classifier())
    live = backend.live("first")
    decision = gate(add_classifier(note="second", accuracy=0.31, wrong=True))
    assert decision.outcome == "reject"
    assert decision.reasons[0] == "accuracy 0.31 < 0.70"
    assert decision.reasons[1].startswith("check predictions failed: 0 of 3 labels right; share 0.00 <")
    assert len(decision.reasons) == 2
    assert "first keeps serving version 1" in decision.page
    assert backend.live("first") == live
    assert backend.desired("first").candidate == ()
    assert registry.environments() == {"first": {"colours": "1"}}
    assert [(event.action, event.version) for event in decisions.history("first")] == [
        ("promote", "1"),
        ("reject", "2"),
    ]


def test_approvals_and_the_previous_environment(
    add_classifier: Callable[..., Version], gate: Callable[..., Decision]
) -> None:
    model = add_classifier()
    early = gate(model, "second", ("cost",))
    assert early.outcome == "reject"
    assert early.reasons == (
        "version 1 has not been in first",
        "approval missing: legal (give it with --approve legal)",
    )
    with pytest.raises(ConfigError, match="Did you mean 'legal'"):
        gate(model, "second", ("legel",))
    gate(model)
    decision = gate(model, "second", ("legal",))  # cost was approved before, and that counts
    assert decision.outcome == "promote"
    approvals = registry.get("colours", "1").approvals
    assert set(approvals) == {"legal", "cost"}
    assert f"| legal | {approvals['legal'].who} |" in decision.page
    assert len({row.url for row in status(RULES)}) == 2


def test_rollback_brings_back_the_version_before(
    add_classifier: Callable[..., Version], gate: Callable[..., Decision]
) -> None:
    first = add_classifier()
    gate(first)
    with pytest.raises(ConfigError, match="no earlier version of 'colours' than 1"):
        rollback("first", RULES)
    second = add_classifier(note="second")
    url = gate(second).url
    gate(add_classifier("other"))
    with pytest.raises(ConfigError, match=r"2 models are deployed to 'first' \(colours, other\). Name one"):
        rollback("first", RULES)

    assert rollback("first", RULES, "colours") == ("2", "1")
    assert versions(url) == {"colours": "1", "other": "1"}
    assert registry.deployed_version("colours", "first") == "1"
    assert [event.action for event in decisions.history("first", "colours")] == ["promote", "promote", "rollback"]
    late = gate(second, "second", ("legal", "cost"))
    assert late.outcome == "reject"
    assert late.reasons[0].startswith("version 2 was taken out of first on ")


def test_killed_between_the_servers_and_the_record_is_finished_by_the_same_command(
    add_classifier: Callable[..., Version], gate: Callable[..., Decision]
) -> None:
    gate(add_classifier())
    model = add_classifier(note="second")
    # What a promotion does until then, and no more.
    deploy("colours", "2", "first", RULES, DeployConfig())
    begun = decisions.begin("promote", "colours", "2", "first", "1", [])
    backend.promote_candidate("first", "colours", "2")
    (row,) = status(RULES)
    assert (row.version, row.serving, row.healthy) == (
        "1",
        "2",
        False,
    )  # the record does not claim what it does not know

    assert gate(model).outcome == "promote"
    assert registry.deployed_version("colours", "first") == "2"
    assert [(event.version, event.run_id == begun) for event in decisions.history("first")] == [
        ("1", False),
        ("2", True),
    ]


def test_a_candidate_that_another_run_replaced_is_not_promoted(add_classifier: Callable[..., Version]) -> None:
    first, second = add_classifier(), add_classifier(note="second")
    deploy("colours", "1", "first", RULES, DeployConfig())
    deploy("colours", "2", "first", RULES, DeployConfig())
    late = promote("colours", "1", "first", passed(first, "first"), (), RULES, PromoteConfig())
    assert late.reasons == ("version 1 is not deployed to first any more",)
    assert promote("colours", "2", "first", passed(second, "first"), (), RULES, PromoteConfig()).outcome == "promote"
    mixed = promote("colours", "2", "first", passed(first, "first"), (), RULES, PromoteConfig())
    assert mixed.reasons == ("the results are about colours 1 in first, not colours 2",)


PROMOTE = """
import random, sys, time
from towpath.components.core.release import environments
from towpath.components.core.release.check_results import CheckResult, Results
from towpath.components.deploy.config import DeployConfig
from towpath.components.deploy.deploy import deploy
from towpath.components.promote.config import PromoteConfig
from towpath.components.promote.promote import promote
rules, chance = environments.parse("first: {checks: {health: {}}}"), random.Random(sys.argv[1])
for turn in range(3):
    time.sleep(chance.random() * 0.3)
    url = deploy("colours", sys.argv[1], "first", rules, DeployConfig())
    results = Results("colours", sys.argv[1], "first", url, (CheckResult("health", True),))
    time.sleep(chance.random() * 0.3)
    promote("colours", sys.argv[1], "first", results, (), rules, PromoteConfig())
"""


def test_two_promotions_at_once_leave_one_truth(add_classifier: Callable[..., Version]) -> None:
    """Two processes promote two versions in turn: what is recorded is what serves, and the history ends with it."""
    add_classifier()
    add_classifier(note="second")
    both = [subprocess.Popen([sys.executable, "-c", PROMOTE, version]) for version in ("1", "2")]
    assert [process.wait(120) for process in both] == [0, 0]
    live = backend.live("first")
    assert live is not None
    (served,) = live.models
    assert registry.deployed_version("colours", "first") == served.version == versions(live.url)["colours"]
    history = decisions.deployment_history(decisions.history("first"))
    assert history[-1] == served.version
    with mlflow_client.client() as mlflow:
        experiment = mlflow_client.experiment(mlflow, decisions.EXPERIMENT)
        assert {run.info.status for run in mlflow_client.search_runs(mlflow, experiment, environment="first")} == {
            "FINISHED"
        }
