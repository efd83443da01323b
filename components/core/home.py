"""Where this machine keeps what outlives a run: the registry, its models, the records of services."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def home() -> Path:
    """The folder named by TOWPATH_HOME, or the user's state folder ("~/.local/state/towpath")."""
    return Path(os.environ.get("TOWPATH_HOME") or platformdirs.user_state_path("towpath"))
