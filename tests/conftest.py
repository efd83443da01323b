"""What tests share: the real data beside the project, a home of their own, and a place for what is made once."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data; tests that need it are skipped where it is not."""
    if not SHARED.is_dir():
        pytest.skip(f"needs the real data in {SHARED.parent.name}/{SHARED.name} beside the project")
    return SHARED


Once = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Once:
    """Makes what takes long once for all test processes: the first that asks makes it, the others wait for it.

    Called with a name and a function that writes a folder; gives the folder, which no test may change.
    """
    base = tmp_path_factory.getbasetemp()
    shared = (base if worker_id == "master" else base.parent) / "once"
    shared.mkdir(exist_ok=True)

    def make(name: str, build: Callable[[Path], object]) -> Path:
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (shared / name).exists():
                build(shared / f"{name}.unfinished")
                (shared / f"{name}.unfinished").rename(shared / name)
        return shared / name

    return make


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of the test's own, so that no test touches the user's services or registry."""
    home = tmp_path / "home"
    monkeypatch.setenv("TOWPATH_HOME", str(home))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return home
