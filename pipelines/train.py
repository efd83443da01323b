"""The train pipeline: labelled images -> a registered model with its metrics, report and smaller variants."""

from typing import NamedTuple

from kfp import dsl

from ..components.benchmark.component import benchmark as benchmark_step
from ..components.evaluate.component import evaluate as evaluate_step
from ..components.prepare.component import prepare as prepare_step
from ..components.quantize.component import quantize as quantize_step
from ..components.register.component import register as register_step
from ..components.train.component import train as train_step


class Registered(NamedTuple):
    """A model in the registry."""

    name: str
    version: str


@dsl.pipeline(name="train-pipeline")  # not "train": kfp's loader would take the step of that name for the whole
def train(
    data: str = "digit-scenes",
    data_version: str = "",
    prepare: dict = {},  # type: ignore[type-arg]  # noqa: B006
    train: dict = {},  # type: ignore[type-arg]  # noqa: B006
    evaluate: dict = {},  # type: ignore[type-arg]  # noqa: B006
    quantize: dict = {},  # type: ignore[type-arg]  # noqa: B006
    benchmark: dict = {},  # type: ignore[type-arg]  # noqa: B006
    register: dict = {},  # type: ignore[type-arg]  # noqa: B006
) -> Registered:
    """Prepares labelled images, trains on them, scores, shrinks and measures the model, and registers it.

    Args:
        data: a folder of labelled images, or a built-in set ("digits", "digit-scenes").
        data_version: names the state of the data; another one prepares it again, see the prepare step.
        prepare, train, evaluate, quantize, benchmark, register: that step's config, field -> value.
    """
    records = prepare_step(data=data, data_version=data_version, config=prepare).outputs["records"]
    model = train_step(records=records, config=train).outputs["model"]
    scored = evaluate_step(records=records, model=model, config=evaluate)
    quantized = quantize_step(records=records, model=model, config=quantize).outputs["quantized"]
    benchmark_step(model=quantized, config=benchmark)
    registered = register_step(
        model=quantized,
        metrics=scored.outputs["metrics"],
        report=scored.outputs["report"],
        config=register,
    ).set_caching_options(enable_caching=False)
    return Registered(registered.outputs["name"], registered.outputs["version"])
