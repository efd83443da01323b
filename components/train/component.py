"""The train step as KFP sees it."""

from kfp import dsl
from kfp.dsl import Dataset, Input, Metrics, Model, Output

from ... import __version__


@dsl.component(base_image=f"towpath/train-cpu:{__version__}", install_kfp_package=False)
def train(records: Input[Dataset], model: Output[Model], metrics: Output[Metrics], config: dict = {}) -> None:  # type: ignore[type-arg]  # noqa: B006
    """Trains a detector or a classifier on records and writes it as a bundle.

    Args:
        records: what the prepare step wrote.
        model: the bundle.
        metrics: the last losses, the epochs and images/s.
        config: fields of TrainConfig.
    """
    from pathlib import Path

    from towpath.components.core.config import load
    from towpath.components.train.config import TrainConfig
    from towpath.components.train.train import train

    figures = train(Path(records.path), Path(model.path), load(TrainConfig, config, "train"))
    for name, value in figures.items():
        metrics.log_metric(name, value)
