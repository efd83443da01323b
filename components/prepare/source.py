"""What every reader returns: labelled images that are not read yet."""

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

    Attributes:
        label: index of its class.
        box_px: (y_min, x_min, y_max, x_max) in pixels, as annotated: it may be outside its image or NaN.
        crowd: 1 where the box stands for a crowd (COCO).
        area: of the object in pixels (COCO's segmentation area); None: the box's own area is used.
    """

    label: int
    box_px: tuple[float, float, float, float]
    crowd: int = 0
    area: float | None = None


@dataclass(frozen=True)
class Item:
    """One labelled image, not read yet.

    Attributes:
        file: its path relative to the source's folder; also its name in messages.
        load: returns the encoded image; may raise OSError.
        size: bytes of the encoded image, an estimate for generated ones.
        label: index of its class (classification).
        objects: what is annotated in it (detection).
        declared: the (height, width) in pixels from its annotation; None if there is none.
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

    Attributes:
        format: its usual name ("Pascal VOC").
        task: detection or classification.
        classes: class names; a label is an index into them.
        splits: "train", "val", "test" -> images; those that exist.
        split_by: where the splits come from ("the source's own", "by content").
        horizontal_flip: whether a mirrored image is still a valid example.
    """

    format: str
    task: Task
    classes: tuple[str, ...]
    splits: dict[str, list[Item]]
    split_by: str
    horizontal_flip: bool = True


@dataclass
class Problems:
    """Images and boxes that could not be used: raises an error or records them, as configured."""

    config: PrepareConfig
    skipped: list[Skipped] = field(default_factory=list)
    dropped: list[Skipped] = field(default_factory=list)

    def image(self, file: str, reason: str) -> None:
        """Reports an image or annotation file that cannot be used.

        Raises:
            DataError: unless such images are to be skipped.
        """
        if self.config.on_bad_image == "fail":
            raise DataError(
                f"{file}: {reason}",
                "Fix or remove it, or skip unusable images: --set prepare.on_bad_image=skip.",
            )
        self.skipped.append(Skipped(file, reason))

    def box(self, file: str, reason: str) -> None:
        """Reports a box that cannot be used.

        Raises:
            DataError: if such boxes are not to be dropped.
        """
        if self.config.on_bad_box == "fail":
            raise DataError(
                f"{file}: {reason}", "Fix the annotation, or drop such boxes: --set prepare.on_bad_box=drop."
            )
        self.dropped.append(Skipped(file, reason))


def plain(text: str) -> str:
    """Replaces characters that UTF-8 cannot encode, which file systems and JSON admit."""
    return text.encode(errors="replace").decode()


def image_item(
    path: Path,
    root: Path,
    label: int | None = None,
    objects: tuple[Object, ...] = (),
    declared: tuple[int, int] | None = None,
    source_id: str = "",
) -> Item:
    """Creates an item for an existing image file; `root` is the source's folder."""
    file = plain(path.relative_to(root).as_posix())
    return Item(file, path.read_bytes, path.stat().st_size, label, objects, declared, source_id)
