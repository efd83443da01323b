"""Labelled images at rest: boxes, pixels, examples, records and their manifest."""
