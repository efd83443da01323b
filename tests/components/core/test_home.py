"""Where this machine keeps what outlives a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from towpath.components.core.home import home


def test_the_variable_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOWPATH_HOME", str(tmp_path / "elsewhere"))
    assert home() == tmp_path / "elsewhere"


@pytest.mark.parametrize("value", [None, ""])
def test_without_it_the_users_state_folder_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    if value is None:
        monkeypatch.delenv("TOWPATH_HOME")
    else:
        monkeypatch.setenv("TOWPATH_HOME", value)
    assert home().name == "towpath"
    assert tmp_path in home().parents


def test_asking_makes_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOWPATH_HOME", str(tmp_path / "elsewhere"))
    assert not home().exists()
