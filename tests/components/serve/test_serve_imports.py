"""A server loads what it answers with, and nothing that only reading and writing records needs."""

from __future__ import annotations

import subprocess
import sys

RECORDS_ONLY = ("google.protobuf", "google_crc32c", "towpath.components.core.data.records")


def test_the_server_loads_nothing_that_only_records_need() -> None:
    program = "import sys, towpath.components.serve.app; print(*sorted(sys.modules), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "towpath.components.serve.app" in loaded
    assert [name for name in loaded if name in RECORDS_ONLY] == []
