"""Where this machine keeps state across runs, and who uses it."""

from __future__ import annotations

import getpass
import os
from pathlib import Path

import platformdirs


def home() -> Path:
    """Returns the folder of the registry, its models and the services' state; creates it, for its owner alone.

    It is named by TOWPATH_HOME, or the user's state folder ("~/.local/state/towpath").
    """
    folder = location()
    if not folder.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def location() -> Path:
    """Returns where `home` is or would be."""
    return Path(os.environ.get("TOWPATH_HOME") or platformdirs.user_state_path("towpath"))


def user() -> str:
    """Returns who acts, for records: TOWPATH_USER, the account's name, or its number where it has no name."""
    try:
        return os.environ.get("TOWPATH_USER") or getpass.getuser()
    except (KeyError, OSError):  # an id without a passwd entry, as clusters give to containers
        return f"uid {os.getuid()}"
