"""KFP component for the check step."""

from kfp import dsl
from kfp.dsl import Markdown, Metrics, Output

from ... import __version__


@dsl.component(base_image=f"towpath/core:{__version__}", install_kfp_package=False)
def check(
    name: str,
    version: str,
    environment: str,
    url: str,
    results: Output[Metrics],
    table: Output[Markdown],
    environments: str = "",
    config: dict = {},  # type: ignore[type-arg]  # noqa: B006
) -> None:
    """Checks a served version over HTTP, by its environment's rules. A check that fails is a result, not an error.

    Args:
        name: the model's, in the registry.
        version: of the model.
        environment: a name in the rules.
        url: of the server to query.
        results: every check as JSON; its figures as metrics.
        table: the same for readers.
        environments: the rules, as the text of an environments.yaml; "" for the packaged ones.
        config: fields of CheckConfig.
    """
    from pathlib import Path

    from towpath.components.check.check import check
    from towpath.components.check.config import CheckConfig
    from towpath.components.core.config import load
    from towpath.components.core.release.check_results import write
    from towpath.components.core.release.environments import parse

    found = check(name, version, environment, url, parse(environments), load(CheckConfig, config, "check"))
    write(found, Path(results.path))
    for figure, value in found.flat().items():
        results.log_metric(figure, value)
    Path(table.path).write_text(found.markdown(), encoding="utf-8")
