"""What tests of the images and of compose share: the project's root, built images and a small real bundle."""

from __future__ import annotations

import importlib.util
import io
import subprocess
from pathlib import Path

import docker_engine
import pytest
from PIL import Image

from towpath.components.core.models.bundle import Sample

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's folder."""
    return ROOT


@pytest.fixture(scope="session")
def tiny_detector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A detector's bundle, written by hand in milliseconds, with one sample: grey, a bright square and a dark one."""
    file = ROOT / "tests" / "components" / "serve" / "tiny_models.py"
    spec = importlib.util.spec_from_file_location("tiny_models", file)
    assert spec is not None
    assert spec.loader is not None
    tiny_models = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tiny_models)
    image = Image.new("RGB", (256, 256), (128, 128, 128))
    image.paste((255, 255, 255), (64, 64, 96, 96))
    image.paste((0, 0, 0), (32, 160, 64, 192))
    file_content = io.BytesIO()
    image.save(file_content, "PNG")
    boxes = ((0.25, 0.25, 0.375, 0.375), (0.625, 0.125, 0.75, 0.25))
    sample = Sample("two.png", (0, 1), boxes)
    folder = tmp_path_factory.mktemp("bundle") / "squares"
    made: Path = tiny_models.detector(folder, samples=((file_content.getvalue(), sample),))
    return made


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One process builds the images and uses them; while it waits for the engine, the others go on with other tests."""
    for item in items:
        if item.get_closest_marker("engine"):
            item.add_marker(pytest.mark.xdist_group("engine"))


@pytest.fixture(scope="session")
def base(root: Path) -> str:
    """The name of the base image, with an engine that runs."""
    engine_up = root.parent / "shared" / "tools" / "engine-up"
    if not engine_up.is_file():
        pytest.skip("needs shared/tools/engine-up beside the project")
    started = subprocess.run([engine_up], stdout=subprocess.PIPE, text=True)
    if started.returncode:
        pytest.skip("no container engine starts here")
    return started.stdout.splitlines()[-1]


@pytest.fixture(scope="session")
def serve_image(root: Path, base: str) -> str:
    """The serve image, built."""
    return docker_engine.build(root, base, "serve")


@pytest.fixture(scope="session")
def core_image(root: Path, base: str) -> str:
    """The core image, built."""
    return docker_engine.build(root, base, "core")
