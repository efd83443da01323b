"""Towpath: from labelled images to a production API, one gate at a time."""

__version__ = "0.1.0"
