"""Settings of the register step."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RegisterConfig:
    """How a version is registered.

    Args:
        note: free text beside the version, for people: what is new in it. Empty: the figures speak.
    """

    note: str = ""
