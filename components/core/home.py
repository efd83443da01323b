"""Where this machine keeps state across runs: the registry, its models, the state of services."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def home() -> Path:
    """Returns the folder named by TOWPATH_HOME, or the user's state folder ("~/.local/state/towpath")."""
    return Path(os.environ.get("TOWPATH_HOME") or platformdirs.user_state_path("towpath"))
