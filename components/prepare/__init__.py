"""Labelled images in, records out: TFRecord shards and the manifest that every later step reads."""
