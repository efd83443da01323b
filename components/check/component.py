"""The check step as KFP sees it."""

from kfp import dsl
from kfp.dsl import Markdown, Metrics, Output


@dsl.component(base_image="towpath/core:0.1.0", install_kfp_package=False)
def check(
    name: str,
    version: str,
    environment: str,
    url: str,
    results: Output[Metrics],
    table: Output[Markdown],
    config: dict = {},  # type: ignore[type-arg]  # noqa: B006
) -> None:
    """Checks a served version over HTTP, by its environment's rules. A check that fails is a result, not an error.

    Args:
        name: the model's, in the registry.
        version: of the model.
        environment: "demo", "app-demo", "staging" or "prod".
        url: of the server to ask.
        results: every check as JSON; its figures as metrics.
        table: the same for readers.
        config: fields of CheckConfig.
    """
    from pathlib import Path

    from towpath.components.check.check import check
    from towpath.components.check.config import CheckConfig
    from towpath.components.core.config import load
    from towpath.components.core.release.check_results import write

    found = check(name, version, environment, url, load(CheckConfig, config, "check"))
    write(found, Path(results.path))
    for figure, value in found.flat().items():
        results.log_metric(figure, value)
    Path(table.path).write_text(found.markdown(), encoding="utf-8")
