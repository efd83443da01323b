"""Progress where nobody looks at a terminal: plain lines, few of them."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from towpath.components.core import progress

PROGRAM = """
from towpath.components.core import progress
with progress.bar("writing records", 3) as bar:
    for _ in range(3):
        bar.advance(note="loss 0.31")
"""


def test_the_end_is_said_in_a_plain_line(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.bar("writing records", 3) as bar:
        for _ in range(3):
            bar.advance(note="loss 0.31")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.split() == ["writing", "records", "3/3", "loss", "0.31"]
    assert "\x1b" not in err


def test_resumed_work_goes_on_where_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.bar("training", 10, done=7) as bar:
        bar.advance(2)
        assert capsys.readouterr().err == ""
        bar.advance()
    assert capsys.readouterr().err.split() == ["training", "10/10"]


def test_long_work_says_how_far_it_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.0)
    with progress.bar("training", 3) as bar:
        bar.advance()
        bar.advance()
    assert [line.split()[1] for line in capsys.readouterr().err.splitlines()] == ["1/3", "2/3"]


def test_on_a_terminal_it_is_a_bar() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stderr=theirs, env=environment) as process:
        os.close(theirs)
        said = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # Linux ends a terminal that nobody holds any more with EIO
                break
            if not piece:
                break
            said += piece
    os.close(ours)
    assert process.returncode == 0
    assert "writing records" in said.decode()
    assert b"\x1b" in said
