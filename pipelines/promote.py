"""The promote pipeline: one environment's gate. A candidate is deployed beside what serves, checked, and decided on."""

from typing import NamedTuple

from kfp import dsl

from ..components.check.component import check as check_step
from ..components.deploy.component import deploy as deploy_step
from ..components.promote.component import promote as promote_step


class Gate(NamedTuple):
    """What a gate decided: "promote" or "hold", and why."""

    outcome: str
    reasons: str


@dsl.pipeline(name="promote-pipeline")  # not "promote", as in train.py
def promote(
    name: str,
    version: str,
    environment: str,
    approvals: list = [],  # type: ignore[type-arg]  # noqa: B006
    deploy: dict = {},  # type: ignore[type-arg]  # noqa: B006
    check: dict = {},  # type: ignore[type-arg]  # noqa: B006
    promote: dict = {},  # type: ignore[type-arg]  # noqa: B006
) -> Gate:
    """Brings a registered model into one environment, if the environment's rules let it in.

    No task of it is cached: each acts on the world, or measures it.

    Args:
        name: the model's, in the registry.
        version: of the model.
        environment: "demo", "app-demo", "staging" or "prod".
        approvals: what people approved: "legal", "fit", "cost", "live".
        deploy, check, promote: that step's config, field -> value.
    """
    deployed = deploy_step(name=name, version=version, environment=environment, config=deploy)
    checked = check_step(name=name, version=version, environment=environment, url=deployed.outputs["url"], config=check)
    decision = promote_step(
        name=name,
        version=version,
        environment=environment,
        results=checked.outputs["results"],
        approvals=approvals,
        config=promote,
    )
    for task in (deployed, checked, decision):
        task.set_caching_options(enable_caching=False)
    return Gate(decision.outputs["outcome"], decision.outputs["reasons"])
