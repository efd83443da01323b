"""What every reader gives: labelled images that are not yet read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ..core.data.manifest import Skipped
from ..core.errors import DataError
from ..core.task import Task
from .config import PrepareConfig

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff")


@dataclass(frozen=True)
class Object:
    """One annotated object.

    Args:
        label: index of its class.
        box_px: (y_min, x_min, y_max, x_max) in pixels, as annotated: it may be outside its image or not a number.
        crowd: 1 where the box stands for a crowd (COCO).
        area: of the object in pixels (COCO's segmentation area); None where the box's own counts.
    """

    label: int
    box_px: tuple[float, float, float, float]
    crowd: int = 0
    area: float | None = None


@dataclass(frozen=True)
class Item:
    """One labelled image, not yet read.

    Args:
        file: where it lies, relative to the source's folder; also its name in messages.
        load: gives the encoded image; may raise OSError.
        size: bytes of the encoded image, an estimate where it is drawn.
        label: index of its class (classification).
        objects: what is annotated in it (detection).
        declared: the (height, width) in pixels that its annotation gives; None where it gives none.
        source_id: its id in the source.
    """

    file: str
    load: Callable[[], bytes]
    size: int
    label: int | None = None
    objects: tuple[Object, ...] = ()
    declared: tuple[int, int] | None = None
    source_id: str = ""


@dataclass(frozen=True)
class Source:
    """Labelled images of one data set.

    Args:
        format: as people call it ("Pascal VOC").
        splits: "train", "val", "test" -> images; those that are there.
        split_by: who made the splits ("the source's own", "by content").
        horizontal_flip: a mirrored image is still a right example.
    """

    format: str
    task: Task
    classes: tuple[str, ...]
    splits: dict[str, list[Item]]
    split_by: str
    horizontal_flip: bool = True


@dataclass
class Problems:
    """What could not be used: raises or remembers, as the config says."""

    config: PrepareConfig
    skipped: list[Skipped] = field(default_factory=list)
    dropped: list[Skipped] = field(default_factory=list)

    def image(self, file: str, reason: str) -> None:
        """An image or annotation file that cannot be used.

        Raises:
            DataError: unless such images are to be skipped.
        """
        if self.config.on_bad_image == "fail":
            raise DataError(
                f"{file}: {reason}",
                "Fix or remove it, or leave out what cannot be used: --set prepare.on_bad_image=skip.",
            )
        self.skipped.append(Skipped(file, reason))

    def box(self, file: str, reason: str) -> None:
        """A box that cannot be used.

        Raises:
            DataError: if such boxes are not to be dropped.
        """
        if self.config.on_bad_box == "fail":
            raise DataError(
                f"{file}: {reason}", "Fix the annotation, or drop such boxes: --set prepare.on_bad_box=drop."
            )
        self.dropped.append(Skipped(file, reason))


def plain(text: str) -> str:
    """A name as UTF-8 can hold it: file systems and JSON let through what is none."""
    return text.encode(errors="replace").decode()


def image_item(
    path: Path,
    root: Path,
    label: int | None = None,
    objects: tuple[Object, ...] = (),
    declared: tuple[int, int] | None = None,
    source_id: str = "",
) -> Item:
    """An item for an image file that is there; `root` is the source's folder."""
    file = plain(path.relative_to(root).as_posix())
    return Item(file, path.read_bytes, path.stat().st_size, label, objects, declared, source_id)
