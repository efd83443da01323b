"""Settings of the prepare step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..core.config import at_least, one_of
from .readers import READERS

OnBadImage = Literal["fail", "skip"]
OnBadBox = Literal["drop", "clip", "fail"]


@dataclass(frozen=True)
class PrepareConfig:
    """Settings of the prepare step.

    Attributes:
        format: of the source's folder, a name of `readers.READERS`; "auto" detects it.
        scenes: images in the built-in set `digit-scenes`, all splits together; 1,200 are drawn in seconds and
            are enough to train a small detector.
        seed: of the scenes and of the order of the examples; the same seed gives the same bytes.
        shard_mb: target size of a shard, megabytes (10^6 bytes); about 100 reads well from object storage.
        min_shards: minimum number of shards of a split that has enough examples, so that they can be read in parallel.
        on_bad_image: what to do with an image or annotation file that cannot be used: "fail", because an
            incomplete set should be a deliberate choice, or "skip" it and list it in the manifest.
        on_bad_box: what to do with a box without area or far outside its image: "drop" it and list it in the
            manifest, "clip" it to its image (and drop it only if nothing is left), or "fail".
    """

    format: str = "auto"
    scenes: int = 1200
    seed: int = 0
    shard_mb: float = 100.0
    min_shards: int = 4
    on_bad_image: OnBadImage = "fail"
    on_bad_box: OnBadBox = "drop"

    def __post_init__(self) -> None:
        one_of("format", self.format, ("auto", *READERS))
        at_least("scenes", self.scenes, 20)  # fewer would leave no scene for val and test
        at_least("seed", self.seed, 0)
        at_least("shard_mb", self.shard_mb, 0.01)
        at_least("min_shards", self.min_shards, 1)
