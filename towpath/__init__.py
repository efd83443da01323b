"""Towpath: from labelled pictures to a production API, one gate at a time."""

__version__ = "0.1.0"
