"""KFP component for the deploy step."""

from typing import NamedTuple

from kfp import dsl

from ... import __version__


@dsl.component(base_image=f"towpath/core:{__version__}", install_kfp_package=False)
def deploy(
    name: str,
    version: str,
    environment: str,
    environments: str = "",
    config: dict = {},  # type: ignore[type-arg]  # noqa: B006
) -> NamedTuple("Deployed", url=str):  # type: ignore[valid-type]
    """Starts a candidate beside what the environment serves; nothing that users see changes.

    Args:
        name: the model's, in the registry.
        version: of the model.
        environment: a name in the rules.
        environments: the rules, as the text of an environments.yaml; "" for the packaged ones.
        config: fields of DeployConfig.
    """
    from towpath.components.core.config import load
    from towpath.components.core.release.environments import parse
    from towpath.components.deploy.config import DeployConfig
    from towpath.components.deploy.deploy import deploy

    url = deploy(name, version, environment, parse(environments), load(DeployConfig, config, "deploy"))
    return (url,)
