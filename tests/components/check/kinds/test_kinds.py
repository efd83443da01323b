"""The table of checks: what a rule may say, and that nothing else spells the list."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from towpath.components.check.kinds import KINDS, limits_of
from towpath.components.check.kinds.load import Load
from towpath.components.check.kinds.predictions import Predictions
from towpath.components.core.errors import ConfigError
from towpath.components.core.release import environments

STEP = Path(__file__).parents[4] / "components" / "check"


def test_limits_come_in_the_order_in_which_checks_run() -> None:
    rules = environments.parse("demo: {checks: {load: {seconds: 1}, predictions: {}, health: {}}}")
    limits = limits_of(rules["demo"])
    assert list(limits) == ["health", "predictions", "load"]
    assert limits["load"] == Load(seconds=1.0)
    assert limits["predictions"] == Predictions(0.5)


@pytest.mark.parametrize(
    ("checks", "message"),
    [
        ("{health: {}, lod: {}}", "'demo.checks' has no key 'lod'. Did you mean 'load'"),
        ("{health: {}, load: {second: 3}}", "Did you mean 'seconds'"),
        ("{health: {}, load: {connections: 0}}", "'connections' is 0: it must be at least 1"),
        ("{load: {}}", "has no 'health'"),
    ],
)
def test_what_no_check_understands_is_refused(checks: str, message: str) -> None:
    rules = environments.parse(f"demo: {{checks: {checks}}}")
    with pytest.raises(ConfigError) as error:
        limits_of(rules["demo"])
    assert message in str(error.value)


def test_each_kind_has_a_file_and_a_line_in_the_readme() -> None:
    readme = (STEP / "README.md").read_text().partition("| in |")[0]
    listed = re.findall(r"^\| `(\w+)` \|", readme, re.MULTILINE)
    assert listed == list(KINDS)
    assert all((STEP / "kinds" / f"{kind}.py").is_file() for kind in KINDS)
