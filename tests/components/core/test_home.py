"""Where this machine keeps what outlives a run."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from towpath.components.core.home import home, location, user


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


def test_it_is_made_for_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOWPATH_HOME", str(tmp_path / "elsewhere"))
    assert not location().exists()
    before = os.umask(0o022)
    try:
        assert stat.S_IMODE(home().stat().st_mode) == 0o700
    finally:
        os.umask(before)


def test_a_user_without_a_name_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOWPATH_USER", "ann")
    assert user() == "ann"
    monkeypatch.delenv("TOWPATH_USER")
    if os.geteuid():
        pytest.skip("taking another user's id needs root")
    program = "import os, pwd; from towpath.components.core.home import user; os.setuid(54321); print(user())"
    named = ("LOGNAME", "USER", "LNAME", "USERNAME")
    nobody = {name: value for name, value in os.environ.items() if name not in named}
    done = subprocess.run(
        [sys.executable, "-B", "-c", program], env=nobody, capture_output=True, text=True, check=False
    )
    assert done.stdout == "uid 54321\n", done.stderr
