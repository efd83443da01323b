"""KFP component for the register step."""

from typing import NamedTuple

from kfp import dsl
from kfp.dsl import HTML, Input, Metrics, Model

from ... import __version__


@dsl.component(base_image=f"towpath/core:{__version__}", install_kfp_package=False)
def register(
    model: Input[Model],
    metrics: Input[Metrics],
    report: Input[HTML],
    config: dict = {},  # type: ignore[type-arg]  # noqa: B006
) -> NamedTuple("Registered", name=str, version=str):  # type: ignore[valid-type]
    """Registers an evaluated bundle; the same bundle again gives the same version.

    Args:
        model: the bundle.
        metrics: of its evaluation.
        report: the evaluation's page.
        config: fields of RegisterConfig.
    """
    from pathlib import Path

    from towpath.components.core.config import load
    from towpath.components.register.config import RegisterConfig
    from towpath.components.register.register import register

    page = Path(report.path)
    settings = load(RegisterConfig, config, "register")
    found = register(Path(model.path), metrics.metadata, page if page.is_file() else None, settings)
    return (found.name, found.version)
