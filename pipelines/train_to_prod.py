"""The whole way: labelled images -> production, stopping at the first gate that holds."""

from kfp import dsl

from .promote import promote as gate
from .train import train as train_pipeline


@dsl.pipeline(name="train-to-prod")
def train_to_prod(
    data: str = "digit-scenes",
    data_version: str = "",
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
    """Trains a model and takes it through demo, app-demo, staging and prod, as far as their gates let it.

    Args:
        data: a folder of labelled images, or a built-in set ("digits", "digit-scenes").
        data_version: names the state of the data; another one prepares it again, see the prepare step.
        approvals: what people approved: "legal", "fit", "cost", "live".
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

    def enter(environment: str) -> dsl.PipelineTask:
        return gate(
            name=model.outputs["name"],
            version=model.outputs["version"],
            environment=environment,
            approvals=approvals,
            deploy=deploy,
            check=check,
            promote=promote,
        ).set_display_name(environment)

    demo = enter("demo")
    with dsl.If(demo.outputs["outcome"] == "promote", name="demo-let-it-in"):
        app_demo = enter("app-demo")
        with dsl.If(app_demo.outputs["outcome"] == "promote", name="app-demo-let-it-in"):
            staging = enter("staging")
            with dsl.If(staging.outputs["outcome"] == "promote", name="staging-let-it-in"):
                enter("prod")
