"""The deploy step as KFP sees it."""

from typing import NamedTuple

from kfp import dsl


@dsl.component(base_image="towpath/core:0.1.0", install_kfp_package=False)
def deploy(
    name: str,
    version: str,
    environment: str,
    config: dict = {},  # type: ignore[type-arg]  # noqa: B006
) -> NamedTuple("Deployed", url=str):  # type: ignore[valid-type]
    """Starts a candidate beside what the environment serves; nothing that users see changes.

    Args:
        name: the model's, in the registry.
        version: of the model.
        environment: "demo", "app-demo", "staging" or "prod".
        config: fields of DeployConfig.
    """
    from towpath.components.core.config import load
    from towpath.components.deploy.config import DeployConfig
    from towpath.components.deploy.deploy import deploy

    url = deploy(name, version, environment, load(DeployConfig, config, "deploy"))
    return (url,)
