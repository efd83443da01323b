"""KFP component for the quantize step."""

from kfp import dsl
from kfp.dsl import Dataset, Input, Markdown, Metrics, Model, Output

from ... import __version__


@dsl.component(base_image=f"towpath/train-cpu:{__version__}", install_kfp_package=False)
def quantize(
    records: Input[Dataset],
    model: Input[Model],
    quantized: Output[Model],
    metrics: Output[Metrics],
    table: Output[Markdown],
    config: dict = {},  # type: ignore[type-arg]  # noqa: B006
) -> None:
    """Adds LiteRT variants to a bundle: float32 and full int8, each scored.

    Args:
        records: from the prepare step; the source of the calibration sample and the split to score.
        model: the bundle.
        quantized: the bundle with its variants.
        metrics: score and megabytes of each variant.
        table: the same as a Markdown table.
        config: fields of QuantizeConfig.
    """
    from pathlib import Path

    from towpath.components.core.config import load
    from towpath.components.quantize.config import QuantizeConfig
    from towpath.components.quantize.quantize import quantize

    settings = load(QuantizeConfig, config, "quantize")
    result = quantize(Path(records.path), Path(model.path), Path(quantized.path), settings)
    for name, value in result.metrics.items():
        metrics.log_metric(name, value)
    Path(table.path).write_text(result.table)
