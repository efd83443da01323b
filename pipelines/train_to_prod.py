"""The whole way: labelled images -> production, stopping at the first gate that rejects."""

from typing import Any

from kfp import dsl

from ..components.core.release.environments import Rules, read
from .promote import promote as gate
from .train import train as train_pipeline


def build(rules: Rules) -> Any:
    """The pipeline for these environments: a gate for each, in their order, each inside the one before it."""

    @dsl.pipeline(name="train-to-prod")
    def train_to_prod(
        data: str = "digit-scenes",
        data_version: str = "",
        environments: str = "",
        approvals: list = [],  # type: ignore[type-arg]  # noqa: B006
        prepare: dict = {},  # type: ignore[type-arg]  # noqa: B006
        train: dict = {},  # type: ignore[type-arg]  # noqa: B006
        evaluate: dict = {},  # type: ignore[type-arg]  # noqa: B006
        quantize: dict = {},  # type: ignore[type-arg]  # noqa: B006
        benchmark: dict = {},  # type: ignore[type-arg]  # noqa: B006
        register: dict = {},  # type: ignore[type-arg]  # noqa: B006
        deploy: dict = {},  # type: ignore[type-arg]  # noqa: B006
        check: dict = {},  # type: ignore[type-arg]  # noqa: B006
        promote: dict = {},  # type: ignore[type-arg]  # noqa: B006
    ) -> None:
        """Trains a model and promotes it from environment to environment, as far as their gates are passed.

        Args:
            data: a folder of labelled images, or a built-in set ("digits", "digit-scenes").
            data_version: names the state of the data; another one prepares it again, see the prepare step.
            environments: the rules that the pipeline was built from, as text; "" for the packaged ones.
            approvals: what people approved, names that the rules ask for.
            prepare, train, evaluate, quantize, benchmark, register, deploy, check, promote: that step's config.
        """
        model = train_pipeline(
            data=data,
            data_version=data_version,
            prepare=prepare,
            train=train,
            evaluate=evaluate,
            quantize=quantize,
            benchmark=benchmark,
            register=register,
        )

        def promote_through(names: list[str]) -> None:
            decided = gate(
                name=model.outputs["name"],
                version=model.outputs["version"],
                environment=names[0],
                environments=environments,
                approvals=approvals,
                deploy=deploy,
                check=check,
                promote=promote,
            ).set_display_name(names[0])
            if names[1:]:
                with dsl.If(decided.outputs["outcome"] == "promote", name=f"if-promoted-to-{names[0]}"):
                    promote_through(names[1:])

        promote_through(list(rules))

    return train_to_prod


train_to_prod = build(read())
