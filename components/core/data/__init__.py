"""Labelled pictures at rest: boxes, pixels, examples, records and their manifest."""
