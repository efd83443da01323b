"""The promote step as KFP sees it."""

from typing import NamedTuple

from kfp import dsl
from kfp.dsl import Input, Markdown, Metrics, Output


@dsl.component(base_image="towpath/core:0.1.0", install_kfp_package=False)
def promote(
    name: str,
    version: str,
    environment: str,
    results: Input[Metrics],
    decision: Output[Markdown],
    approvals: list = [],  # type: ignore[type-arg]  # noqa: B006
    config: dict = {},  # type: ignore[type-arg]  # noqa: B006
) -> NamedTuple("Decision", outcome=str, reasons=str):  # type: ignore[valid-type]
    """Decides by the environment's rules whether the candidate enters it, carries it out and records it.

    Args:
        name: the model's, in the registry.
        version: of the model.
        environment: "demo", "app-demo", "staging" or "prod".
        results: of the check step.
        decision: for readers.
        approvals: given with this run; they are recorded.
        config: fields of PromoteConfig.
    """
    from pathlib import Path

    from towpath.components.core.config import load
    from towpath.components.core.release.check_results import read
    from towpath.components.promote.config import PromoteConfig
    from towpath.components.promote.promote import promote

    settings = load(PromoteConfig, config, "promote")
    found = promote(name, version, environment, read(Path(results.path)), approvals, settings)
    Path(decision.path).write_text(found.page, encoding="utf-8")
    return (found.outcome, "; ".join(found.reasons))
