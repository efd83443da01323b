"""KFP component for the promote step."""

from typing import NamedTuple

from kfp import dsl
from kfp.dsl import Input, Markdown, Metrics, Output

from ... import __version__


@dsl.component(base_image=f"towpath/core:{__version__}", install_kfp_package=False)
def promote(
    name: str,
    version: str,
    environment: str,
    results: Input[Metrics],
    decision: Output[Markdown],
    environments: str = "",
    approvals: list = [],  # type: ignore[type-arg]  # noqa: B006
    config: dict = {},  # type: ignore[type-arg]  # noqa: B006
) -> NamedTuple("Decision", outcome=str, reasons=str):  # type: ignore[valid-type]
    """Decides by the environment's rules whether the candidate is promoted to it, carries it out and records it.

    Args:
        name: the model's, in the registry.
        version: of the model.
        environment: a name in the rules.
        results: of the check step.
        decision: for readers.
        environments: the rules, as the text of an environments.yaml; "" for the packaged ones.
        approvals: given with this run; they are recorded.
        config: fields of PromoteConfig.
    """
    from pathlib import Path

    from towpath.components.core.config import load
    from towpath.components.core.release.check_results import read
    from towpath.components.core.release.environments import parse
    from towpath.components.promote.config import PromoteConfig
    from towpath.components.promote.promote import promote

    settings = load(PromoteConfig, config, "promote")
    checked = read(Path(results.path))
    found = promote(name, version, environment, checked, approvals, parse(environments), settings)
    Path(decision.path).write_text(found.page, encoding="utf-8")
    return (found.outcome, "; ".join(found.reasons))
