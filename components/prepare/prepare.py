"""Labelled images in, records out."""

from __future__ import annotations

import random
import re
import shutil
import sys
from pathlib import Path

from ..core import config as configs
from ..core import files, progress
from ..core.data import manifest
from ..core.data.manifest import Manifest
from ..core.errors import ConfigError, DataError
from ..core.task import SPLITS
from .config import PrepareConfig
from .readers import builtin, detect
from .shards import write_split
from .source import Item, Problems, Source


def prepare(source: str, out: Path, config: PrepareConfig) -> Manifest:
    """Writes labelled images as records: sharded TFRecords with a manifest.

    The same source and config give the same bytes.

    Args:
        source: a folder (COCO JSON, Pascal VOC XML, one folder per class), or the name of a built-in set: "digits",
            "digit-scenes". A folder of that name is passed as "./digits".
        out: the folder to write; existing records in it are replaced.
        config: see PrepareConfig.

    Returns:
        The manifest of the records.

    Raises:
        DataError: the source cannot be used: missing, empty, of unknown format, or damaged.
        ConfigError: `out` contains something other than records.
        RetryError: the disk is full.
    """
    if out.exists() and not (out / manifest.FILE).is_file() and (out.is_file() or any(out.iterdir())):
        raise ConfigError(
            f"{out}: it contains something other than records.", "Choose a folder that does not exist yet."
        )
    problems = Problems(config)
    name, read = _read(source, config, problems)
    _print_summary(source, read)
    work = files.partial(out)
    try:
        with files.translate_os_errors(work):
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
        result = _write(name, source, read, work, problems)
        manifest.write(result, work)
        files.publish(work, out)
    except BaseException:
        # It is never resumed, and would take up space on a full disk.
        shutil.rmtree(work, ignore_errors=True)
        raise
    return result


def _read(source: str, config: PrepareConfig, problems: Problems) -> tuple[str, Source]:
    if source == "digits":
        return source, builtin.digits()
    if source == "digit-scenes":
        return source, builtin.digit_scenes(config)
    folder = Path(source)
    if not folder.is_dir():
        what = "not a directory" if folder.exists() else "the directory does not exist"
        raise DataError(
            f"{source}: {what}.", f"Pass a folder of labelled images, or a built-in set: {', '.join(builtin.NAMES)}."
        )
    # The name becomes the model's, and therefore part of URLs.
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.resolve().name).strip("-.") or "images"
    return name, detect.read(folder, problems)


def _write(name: str, source: str, read: Source, work: Path, problems: Problems) -> Manifest:
    splits = {}
    total = sum(map(len, read.splits.values()))
    with progress.bar("writing records", total) as bar:
        for split in SPLITS:
            if items := read.splits.get(split):
                order = _shuffled(items, f"{problems.config.seed} {split}")
                splits[split] = write_split(split, order, read.classes, work, problems, bar)
    for split, written in splits.items():
        if not written.examples:
            raise DataError(f"{source}: no image of the split '{split}' can be used.", problems.skipped[0].reason)
    return Manifest(
        name=name,
        task=read.task,
        classes=read.classes,
        splits=splits,
        skipped=tuple(problems.skipped),
        dropped_boxes=tuple(problems.dropped),
        source={"format": read.format, "path": source, "splits": read.split_by},
        config=configs.dump(problems.config),
        horizontal_flip=read.horizontal_flip,
    )


def _shuffled(items: list[Item], seed: str) -> list[Item]:
    order = sorted(items, key=lambda item: item.file)
    random.Random(seed).shuffle(order)
    return order


def _print_summary(source: str, read: Source) -> None:
    counts = ", ".join(f"{split} {len(read.splits[split])}" for split in SPLITS if read.splits.get(split))
    lines = [f"{read.format}, {len(read.classes)} classes, images: {counts} ({read.split_by})"]
    if missing := [split for split in SPLITS if not read.splits.get(split)]:
        lines.append(f"there is no {' and no '.join(missing)} split: later steps use the existing ones")
    for line in lines:
        print(f"  {source}: {line}", file=sys.stderr)
