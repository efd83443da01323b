"""KFP component for the benchmark step."""

from kfp import dsl
from kfp.dsl import Input, Markdown, Metrics, Model, Output

from ... import __version__


@dsl.component(base_image=f"towpath/train-cpu:{__version__}", install_kfp_package=False)
def benchmark(model: Input[Model], metrics: Output[Metrics], table: Output[Markdown], config: dict = {}) -> None:  # type: ignore[type-arg]  # noqa: B006
    """Measures a bundle's speed and cost per image.

    Args:
        model: the bundle with its variants.
        metrics: images/s, latency in ms, images/$.
        table: the same as a Markdown table.
        config: fields of BenchmarkConfig.
    """
    from pathlib import Path

    from towpath.components.benchmark.benchmark import benchmark
    from towpath.components.benchmark.config import BenchmarkConfig
    from towpath.components.core.config import load

    result = benchmark(Path(model.path), load(BenchmarkConfig, config, "benchmark"))
    for name, value in result.metrics.items():
        metrics.log_metric(name, value)
    Path(table.path).write_text(result.table)
