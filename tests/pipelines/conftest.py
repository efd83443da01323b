"""The command line in this process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cli_result import Cli, CliResult

from towpath.pipelines.cli import main


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs `towpath` with the given words, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")

    def run(*words: object) -> CliResult:
        monkeypatch.setattr(sys, "argv", ["towpath", *map(str, words)])
        try:
            main()
            code: object = 0
        except SystemExit as end:
            code = end.code or 0
        out, err = capsys.readouterr()
        return CliResult(int(str(code)), out, err)

    return run
