"""Engines: chosen by the bundle, refused by name. That all give the same answer: see test_quantize.py."""

from __future__ import annotations

import importlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from towpath.components.core.errors import BundleError, ConfigError
from towpath.components.core.models import bundle, engines
from towpath.components.core.models.bundle import Bundle


@pytest.fixture
def squares(tmp_path: Path, tiny_models: ModuleType) -> Bundle:
    return bundle.read(tiny_models.detector(tmp_path / "squares"))


def changed(found: Bundle, **fields: object) -> Bundle:
    """With other fields of its float32 variant."""
    variant = replace(found.card.variants["float32"], **fields)  # type: ignore[arg-type]
    return replace(found, card=replace(found.card, variants={"float32": variant}))


def test_litert_answers_with_arrays_by_name(squares: Bundle) -> None:
    images = np.full((3, 64, 64, 3), 128, np.float32)
    images[1, :8, 8:16] = 255
    outputs = engines.load(squares)(images)
    assert {name: (value.shape, value.dtype) for name, value in outputs.items()} == {
        "scores": ((3, 64, 2), np.float32),
        "box_deltas": ((3, 64, 4), np.float32),
    }
    assert np.argwhere(outputs["scores"] > 0.5).tolist() == [[1, 1, 0]]
    assert not outputs["box_deltas"].any()


def test_an_earlier_answer_stays_when_the_next_is_asked_for(squares: Bundle) -> None:
    engine = engines.load(squares)
    bright = np.full((1, 64, 64, 3), 255, np.float32)
    first = engine(bright)["scores"]
    kept = first.copy()
    engine(np.zeros_like(bright))
    np.testing.assert_array_equal(first, kept)


def test_one_copy_answers_several_threads(squares: Bundle) -> None:
    engine = engines.load(squares, copies=1)
    levels = np.linspace(0, 255, 24, dtype=np.float32)
    images = [np.full((1, 64, 64, 3), level, np.float32) for level in levels]
    alone = [engine(image)["scores"] for image in images]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda image: engine(image)["scores"], images))
    np.testing.assert_array_equal(together, alone)


def test_an_unknown_engine_is_refused_with_the_nearest(squares: Bundle) -> None:
    with pytest.raises(BundleError, match="'litrt'") as raised:
        engines.load(changed(squares, engine="litrt"))
    assert "'litert'" in str(raised.value.hint)
    assert "float32" in raised.value.message


def test_an_unknown_variant_is_refused_with_the_nearest(squares: Bundle) -> None:
    with pytest.raises(ConfigError, match="float16") as raised:
        engines.load(squares, "float16")
    assert "'float32'" in str(raised.value.hint)


@pytest.mark.parametrize("content", [None, b"", b"no model at all"])
def test_weights_that_do_not_load_are_named(
    squares: Bundle, content: bytes | None, capfd: pytest.CaptureFixture[str]
) -> None:
    weights = squares.variant_file("float32")
    weights.unlink()
    if content is not None:
        weights.write_bytes(content)
    with pytest.raises(BundleError) as raised:
        engines.load(squares)
    assert str(weights) in raised.value.message
    capfd.readouterr()  # LiteRT's own words


def test_the_float32_variant_is_taken_where_there_is_one(squares: Bundle) -> None:
    assert engines.variant_of(squares, None) == "float32"
    assert engines.variant_of(squares, "int8") == "int8"
    without = replace(squares, card=replace(squares.card, variants={}))
    assert engines.variant_of(without, None) == engines.SAVED_MODEL


@pytest.mark.parametrize("engine", engines.ENGINES)
def test_every_engine_of_the_table_has_a_load(engine: str) -> None:
    module = importlib.import_module(f"towpath.components.core.models.engines.{engines.ENGINES[engine]}")
    assert callable(module.load)


def test_an_engine_is_imported_when_it_is_asked_for() -> None:
    program = "import sys, towpath.components.core.models.predictor; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"tensorflow", "ai_edge_litert"} & {name.partition(".")[0] for name in done.stdout.split()}
