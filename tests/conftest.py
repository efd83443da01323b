"""What tests share: the real data beside the project, and a home of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data; tests that need it are skipped where it is not."""
    if not SHARED.is_dir():
        pytest.skip(f"needs the real data in {SHARED.parent.name}/{SHARED.name} beside the project")
    return SHARED


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of the test's own, so that no test touches the user's services or registry."""
    home = tmp_path / "home"
    monkeypatch.setenv("TOWPATH_HOME", str(home))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return home
