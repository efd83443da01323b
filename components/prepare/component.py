"""The prepare step as Kubeflow Pipelines sees it."""

from kfp import dsl
from kfp.dsl import Dataset, Output

from ... import __version__


@dsl.component(base_image=f"towpath/train-cpu:{__version__}", install_kfp_package=False)
def prepare(
    records: Output[Dataset],
    data: str,
    data_version: str = "",
    config: dict = {},  # type: ignore[type-arg]  # noqa: B006
) -> None:
    """Writes labelled images as records: TFRecord shards and a manifest.

    Args:
        records: what is written.
        data: a folder of labelled images (COCO JSON, Pascal VOC XML, one folder a class), or a built-in set:
            "digits", "digit-scenes".
        data_version: names the state of the data. Only the cache looks at it: another one prepares the data again.
            `towpath run` fills it for a folder on this machine.
        config: settings of the step, see components/prepare/config.py.
    """
    from pathlib import Path

    from towpath.components.core.config import load
    from towpath.components.prepare.config import PrepareConfig
    from towpath.components.prepare.prepare import prepare

    manifest = prepare(data, Path(records.path), load(PrepareConfig, config, "prepare"))
    records.metadata["name"] = manifest.name
    records.metadata["task"] = manifest.task
    records.metadata["classes"] = len(manifest.classes)
    for name, split in manifest.splits.items():
        records.metadata[f"{name}_examples"] = split.examples
