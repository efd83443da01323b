"""The promote pipeline: one environment's gate. A candidate is deployed beside what serves, checked, and decided on."""

from typing import NamedTuple

from kfp import dsl

from ..components.check.component import check as check_step
from ..components.deploy.component import deploy as deploy_step
from ..components.promote.component import promote as promote_step


class Gate(NamedTuple):
    """What a gate decided: "promote" or "reject", and why."""

    outcome: str
    reasons: str


@dsl.pipeline(name="promote-pipeline")  # not "promote", as in train.py
def promote(
    name: str,
    version: str,
    environment: str,
    environments: str = "",
    approvals: list = [],  # type: ignore[type-arg]  # noqa: B006
    deploy: dict = {},  # type: ignore[type-arg]  # noqa: B006
    check: dict = {},  # type: ignore[type-arg]  # noqa: B006
    promote: dict = {},  # type: ignore[type-arg]  # noqa: B006
) -> Gate:
    """Promotes a registered model to one environment, if the environment's rules are met.

    No task of it is cached: each acts on the world, or measures it.

    Args:
        name: the model's, in the registry.
        version: of the model.
        environment: a name in the rules.
        environments: the rules, as the text of an environments.yaml; "" for the packaged ones.
        approvals: what people approved, names that the rules ask for.
        deploy, check, promote: that step's config, field -> value.
    """
    deployed = deploy_step(
        name=name, version=version, environment=environment, environments=environments, config=deploy
    )
    checked = check_step(
        name=name,
        version=version,
        environment=environment,
        url=deployed.outputs["url"],
        environments=environments,
        config=check,
    )
    decision = promote_step(
        name=name,
        version=version,
        environment=environment,
        results=checked.outputs["results"],
        environments=environments,
        approvals=approvals,
        config=promote,
    )
    for task in (deployed, checked, decision):
        task.set_caching_options(enable_caching=False)
    return Gate(decision.outputs["outcome"], decision.outputs["reasons"])
