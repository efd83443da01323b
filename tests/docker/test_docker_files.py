"""The Dockerfile, the compose file and the lock file as they lie there; no engine is needed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

import towpath
from towpath.components.core.models import bundle
from towpath.components.core.release import registry

ENVIRONMENTS = {"demo": 8501, "app-demo": 8502, "staging": 8503, "prod": 8504}


@pytest.fixture(scope="session")
def dockerfile(root: Path) -> str:
    """Its text."""
    return (root / "docker" / "Dockerfile").read_text()


@pytest.fixture(scope="session")
def compose(root: Path) -> dict[str, Any]:
    """The compose file, its anchors resolved."""
    value: dict[str, Any] = yaml.safe_load((root / "docker" / "compose.yaml").read_text())
    return value


def test_every_image_that_a_component_or_compose_names_is_a_target(
    root: Path, dockerfile: str, compose: dict[str, Any]
) -> None:
    named = {service["image"] for service in compose["services"].values()}
    for file in (root / "components").glob("*/component.py"):
        found = re.findall(r'base_image=f"([^"]+)"', file.read_text())
        named |= {name.replace("{__version__}", towpath.__version__) for name in found}
    targets = set(re.findall(r"^FROM \S+ AS ([\w-]+)$", dockerfile, re.MULTILINE))
    assert named == {f"towpath/{name}:{towpath.__version__}" for name in ("core", "train-cpu", "serve")}
    assert {"core", "train-cpu", "serve"} <= targets
    assert f"ARG VERSION={towpath.__version__}\n" in dockerfile


def test_no_image_ends_as_root(dockerfile: str) -> None:
    stages = re.split(r"^(?=FROM )", dockerfile, flags=re.MULTILINE)
    (common,) = (stage for stage in stages if stage.startswith("FROM ${BASE} AS common\n"))
    assert common.rstrip().endswith("USER 10001:10001")
    for name in ("core", "train-cpu", "serve"):
        (final,) = (stage for stage in stages if stage.startswith(f"FROM common AS {name}\n"))
        assert "USER" not in final


def test_dependencies_are_installed_before_the_source_comes(dockerfile: str) -> None:
    for stage in re.split(r"^(?=FROM )", dockerfile, flags=re.MULTILINE):
        if "-environment\n" in stage:
            assert 0 < stage.index("install '.[") < stage.index("COPY --from=wheel")


def test_compose_runs_the_pipeline_then_the_four_environments(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert set(services) == {"pipeline", *ENVIRONMENTS}
    for name, port in ENVIRONMENTS.items():
        service = services[name]
        assert service["ports"] == [f"127.0.0.1:{port}:8501"]
        assert service["environment"] == {"ENVIRONMENT": name}
        assert service["depends_on"] == {"pipeline": {"condition": "service_completed_successfully"}}
        assert service["read_only"] is True
        assert service["volumes"] == ["models:/models:ro"]
        assert service["build"]["target"] == "serve"
    assert services["pipeline"]["build"]["target"] == "train-cpu"
    assert "ports" not in services["pipeline"]


def test_docker_compose_takes_the_file(root: Path) -> None:
    program = shutil.which("docker-compose")
    if program is None:
        pytest.skip("needs docker-compose")
    command = [program, "-f", root / "docker" / "compose.yaml", "config", "--services"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == {"pipeline", *ENVIRONMENTS}


def test_the_lock_file_holds_names_and_versions_alone(root: Path) -> None:
    for line in (root / "requirements.lock").read_text().splitlines():
        pinned = Requirement(line)  # refuses options, addresses and comments
        assert not pinned.extras
        assert not pinned.url
        assert [specifier.operator for specifier in pinned.specifier] == ["=="]


def test_export_environments_lays_out_what_each_environment_holds(
    root: Path, tmp_path: Path, tiny_detector: Path
) -> None:
    version = registry.register(bundle.read(tiny_detector), {"map50": 0.9})
    for environment in ("demo", "app-demo"):
        registry.set_deployed_version(version.name, version.version, environment)
    out = tmp_path / "models"
    (out / "demo" / "older").mkdir(parents=True)
    command = [sys.executable, root / "docker" / "export_environments.py", out]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["app-demo: squares version 1", "demo: squares version 1"]
    assert {path.name for path in out.iterdir()} == {"demo", "app-demo"}
    assert (out / "demo" / "arguments").read_text() == f"{out}/demo/squares --version 1\n"
    assert bundle.read(out / "demo" / "squares").digest == version.digest
    assert not (out / "demo" / "older").exists()
