"""Registers an evaluated bundle."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core import progress
from ..core.models import bundle
from ..core.release import registry
from ..core.release.registry import Version
from .config import RegisterConfig


def register(model: Path, metrics: Mapping[str, Any], report: Path | None, config: RegisterConfig) -> Version:
    """Registers a bundle with its evaluation; the same bundle again gives the same version.

    Args:
        model: the bundle's folder.
        metrics: of its evaluation; values that are not numbers are left out.
        report: the evaluation's page; None if there is none.
        config: see RegisterConfig.

    Returns:
        The registered version.

    Raises:
        BundleError: no bundle.
        ConfigError: its name is not valid in a registry.
        RetryError: the registry does not answer.
    """
    found = bundle.read(model)
    numbers = {
        key: value for key, value in metrics.items() if isinstance(value, (int, float)) and not isinstance(value, bool)
    }
    with progress.bar(f"registering {found.card.name}", 1) as bar:
        version = registry.register(found, numbers, report, config.note)
        bar.advance(note=f"version {version.version}")
    return version
