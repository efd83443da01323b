from __future__ import annotations

from pathlib import Path

import pytest

from towpath.components.core.errors import ConfigError
from towpath.components.core.release import environments


def test_the_packaged_rules_are_the_designs() -> None:
    rules = environments.read()
    assert list(rules) == ["demo", "app-demo", "staging", "prod"]
    assert [entry.previous for entry in rules.values()] == [None, "demo", "app-demo", "staging"]
    assert rules["demo"].evaluation == {"detection": {"map50": 0.5}, "classification": {"accuracy": 0.7}}
    assert rules["app-demo"].approvals == ("legal", "fit", "cost")
    assert rules["prod"].approvals == ("live",)
    assert list(rules["staging"].checks) == ["health", "predictions", "regression", "smoke", "load"]
    assert rules["staging"].checks["load"] == {"connections": 4, "seconds": 3, "max_p99_ms": 2000, "max_errors": 0}
    assert rules["staging"].checks["regression"] == {"min_agreement": 0.7}
    assert {entry.backend for entry in rules.values()} == {"local"}
    assert environments.parse("") == environments.parse(environments.text_of(environments.PACKAGED)) == rules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("demo: {chekcs: {}}", "'demo' has no key 'chekcs'. Did you mean 'checks'"),
        ("demo: {checks: [health]}", "'demo.checks' is ['health']: it must be a mapping"),
        ("demo: {backend: 3}", "'demo.backend' is 3"),
        ("demo: {evaluation: {detecton: {}}}", "Did you mean 'detection'"),
        ("demo: {evaluation: {detection: {map50: high}}}", "'demo.evaluation.detection.map50' is 'high'"),
        ("demo: {approvals: legal}", "'demo.approvals' is 'legal': it must be a list"),
        ("prod: {from: staging}", "'prod.from' is 'staging': it must be an environment that stands before it"),
        ("[demo]", "it must be a mapping"),
        ("# nothing", "there is no environment in it"),
        ("demo: {", "not YAML"),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "environments.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as error:
        environments.read(file)
    assert str(error.value).startswith(str(file))
    assert message in str(error.value)


def test_an_environment_that_is_none_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Did you mean 'staging'"):
        environments.find(environments.read(), "stagign")
    with pytest.raises(ConfigError, match="cannot be read"):
        environments.read(tmp_path / "none.yaml")
