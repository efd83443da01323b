"""Settings of the register step."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RegisterConfig:
    """Settings of the register step.

    Attributes:
        note: free text for the version: what is new in it. Empty: no note.
    """

    note: str = ""
