"""KFP component for the train step."""

from kfp import dsl
from kfp.dsl import Dataset, Input, Metrics, Model, Output

from ... import __version__


@dsl.component(base_image=f"towpath/train-cpu:{__version__}", install_kfp_package=False)
def train(records: Input[Dataset], model: Output[Model], metrics: Output[Metrics], config: dict = {}) -> None:  # type: ignore[type-arg]  # noqa: B006
    """Trains a detector or a classifier on records and writes it as a bundle.

    Args:
        records: from the prepare step.
        model: the bundle.
        metrics: losses of the last epoch, epochs and images/s.
        config: fields of TrainConfig.
    """
    from pathlib import Path

    from towpath.components.core.config import load
    from towpath.components.train.config import TrainConfig
    from towpath.components.train.train import train

    result = train(Path(records.path), Path(model.path), load(TrainConfig, config, "train"))
    for name, value in result.items():
        metrics.log_metric(name, value)
