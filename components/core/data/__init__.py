"""Labelled images on disk: boxes, pixels, examples, records and their manifest."""
