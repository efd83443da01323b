"""KFP component for the prepare step."""

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
        records: the output.
        data: a folder of labelled images (COCO JSON, Pascal VOC XML, one folder per class), or a built-in set:
            "digits", "digit-scenes".
        data_version: identifies the state of the data. Only the cache uses it: a new value prepares the data again.
            `towpath run` fills it in for a folder on this machine.
        config: fields of PrepareConfig.
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
