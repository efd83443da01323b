"""A server loads what it answers with, and nothing that only reading and writing records needs."""

from __future__ import annotations

import subprocess
import sys

RECORDS_ONLY = {"google.protobuf", "google_crc32c", "towpath.components.core.data.records"}


def loaded_by(module: str) -> set[str]:
    program = f"import sys, {module}; print(*sys.modules, sep='\\n')"
    return set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    )


def test_the_server_loads_nothing_that_only_records_need() -> None:
    loaded = loaded_by("towpath.components.serve.app")
    assert "towpath.components.serve.app" in loaded
    assert loaded & RECORDS_ONLY == set()


def test_records_need_all_of_that() -> None:
    assert loaded_by("towpath.components.core.data.records") >= RECORDS_ONLY
