"""The environments' rules as the command line takes them: understood as a whole before anything runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ...components.core.backends.base import backend
from ...components.core.config import nearest
from ...components.core.errors import ConfigError
from ...components.core.release import environments
from ...components.core.release.environments import Rules


def read(file: Path | None) -> Rules:
    """Reads rules, and checks that there are such backends and checks.

    Args:
        file: of --environments; None for the packaged rules.

    Raises:
        ConfigError: rules that cannot be read or understood; it names the file.
    """
    from ...components.check import kinds

    found = environments.read(file)
    try:
        for entry in found.values():
            backend(entry.backend)
            kinds.limits_of(entry)
    except ConfigError as error:
        raise ConfigError(f"{file or environments.PACKAGED}: {error}") from error
    return found


def check_approvals(names: Iterable[str], rules: Rules) -> None:
    """Refuses approvals that no environment asks for.

    Raises:
        ConfigError: one is unknown; names the nearest.
    """
    known = {what for entry in rules.values() for what in entry.approvals}
    for name in names:
        if name not in known:
            raise ConfigError(f"No environment asks for the approval '{name}'.", nearest(name, known))
