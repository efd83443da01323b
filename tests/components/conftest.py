"""What tests of register, deploy, check and promote share: small real bundles, a registry, services that end."""

from __future__ import annotations

import importlib.util
import io
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from PIL import Image

from towpath.components.core.backends.local import backend
from towpath.components.core.models import bundle
from towpath.components.core.models.bundle import Sample
from towpath.components.core.release import mlflow_client, registry
from towpath.components.core.release.registry import Version
from towpath.components.prepare.config import PrepareConfig
from towpath.components.prepare.prepare import prepare
from towpath.components.quantize.config import QuantizeConfig
from towpath.components.quantize.quantize import quantize
from towpath.components.train.config import TrainConfig
from towpath.components.train.train import train

COLOURS = {"red": (230, 20, 20), "green": (20, 230, 20), "blue": (20, 20, 230)}
BRIGHT = (250, 250, 250)
# Five passes over 1,437 small images: seconds, and right for nine of ten.
DIGITS_CONFIG = TrainConfig(epochs=5, batch_size=32)


def png(colour: tuple[int, int, int], side: int = 32, square: tuple[int, int, int, int] | None = None) -> bytes:
    """A PNG of one colour, or grey with one square (left, top, right, bottom) of it."""
    image = Image.new("RGB", (side, side), (128, 128, 128) if square else colour)
    if square:
        image.paste(colour, square)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def colour_samples(wrong: bool = False) -> tuple[tuple[bytes, Sample], ...]:
    """An image a colour with its label, or with another one's."""
    return tuple(
        (png(colour), Sample(f"{name}.png", ((label + wrong) % 3,)))
        for label, (name, colour) in enumerate(COLOURS.items())
    )


def square_samples() -> tuple[tuple[bytes, Sample], ...]:
    """Bright squares of one cell each, with their boxes."""
    spots = [(8, 16), (40, 24), (32, 48)]
    return tuple(
        (
            png(BRIGHT, 64, (x, y, x + 8, y + 8)),
            Sample(f"{x}.png", (0,), ((y / 64, x / 64, (y + 8) / 64, (x + 8) / 64),)),
        )
        for x, y in spots
    )


@pytest.fixture(scope="session")
def tiny_models() -> ModuleType:
    """The serve tests' models, written by hand in milliseconds."""
    spec = importlib.util.spec_from_file_location("tiny_models", Path(__file__).parent / "serve" / "tiny_models.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One process trains and tests what it trained; so no other one waits for it."""
    for item in items:
        for model in {"digits_model", "trained"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group(model))


@pytest.fixture(scope="session")
def digits_records(once: Callable[..., Path]) -> Path:
    """Records of the handwritten digits."""
    return once("digits-records", lambda out: prepare("digits", out, PrepareConfig()))


@pytest.fixture(scope="session")
def digits_model(once: Callable[..., Path], digits_records: Path) -> Path:
    """A classifier that really learned the digits."""
    return once("digits-model", lambda out: train(digits_records, out, DIGITS_CONFIG))


@pytest.fixture(scope="session")
def digits_variants(once: Callable[..., Path], digits_records: Path, digits_model: Path) -> Path:
    """The same with its quantized variants."""
    config = QuantizeConfig(calibration=50)
    return once("digits-variants", lambda out: quantize(digits_records, digits_model, out, config))


@pytest.fixture(scope="session")
def registry_template(once: Callable[..., Path]) -> Path:
    """MLflow's tables, laid out once: that takes seconds."""

    def lay_out(home: Path) -> None:
        home.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TOWPATH_HOME", str(home))
            patch.delenv("MLFLOW_TRACKING_URI", raising=False)
            with mlflow_client.client():
                pass

    return once("registry", lay_out) / mlflow_client.DATABASE


@pytest.fixture
def fresh_registry(own_home: Path, registry_template: Path) -> Path:
    """An empty registry in the test's home."""
    own_home.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(registry_template, own_home / mlflow_client.DATABASE)
    return own_home


@pytest.fixture
def running(own_home: Path) -> Iterator[None]:
    """Ends every service that the test started, whatever happens in it."""
    yield
    backend.stop()


@pytest.fixture
def make_classifier(tmp_path: Path, tiny_models: ModuleType) -> Callable[..., Path]:
    """Makes a classifier's bundle; another `note` is another bundle, `wrong` gives its samples other answers."""

    def make(name: str = "colours", note: str = "first", wrong: bool = False) -> Path:
        folder: Path = tiny_models.classifier(tmp_path / f"{name}-{note}", name, colour_samples(wrong))
        bundle.write(replace(bundle.read(folder).card, training={"note": note}), folder)
        return folder

    return make


@pytest.fixture
def add_classifier(fresh_registry: Path, make_classifier: Callable[..., Path]) -> Callable[..., Version]:
    """Registers a classifier with its evaluation."""

    def add(name: str = "colours", note: str = "first", accuracy: float = 0.99, wrong: bool = False) -> Version:
        return registry.register(bundle.read(make_classifier(name, note, wrong)), {"accuracy": accuracy})

    return add


@pytest.fixture
def add_detector(fresh_registry: Path, tmp_path: Path, tiny_models: ModuleType) -> Callable[..., Version]:
    """Registers a detector with its evaluation."""

    def add(name: str = "squares", map50: float = 0.9) -> Version:
        folder = tiny_models.detector(tmp_path / name, name, square_samples())
        return registry.register(bundle.read(folder), {"map50": map50, "map": 0.5})

    return add
