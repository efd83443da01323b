"""Input formats: one module per format, each with a `LAYOUT`, `recognized` and `read`."""

from __future__ import annotations

# The modules here, in the order of detection. The last is tried only where no other recognizes the folder: what COCO
# and VOC keep their images in looks like folders of classes.
READERS = ("coco", "voc", "folders")
