"""The benchmark's measurements, and its arithmetic held against a published table."""

from __future__ import annotations

from pathlib import Path

import pytest

from towpath.components.benchmark.benchmark import benchmark, price_per_hour
from towpath.components.benchmark.config import BenchmarkConfig
from towpath.components.core.errors import ConfigError


def test_the_benchmark_measures_every_variant(digits_variants: Path) -> None:
    found = benchmark(digits_variants, BenchmarkConfig(seconds=0.2))
    assert set(found.speeds) == {"float32", "int8"}
    for speed in found.speeds.values():
        assert 0 < speed.p50_ms <= speed.p99_ms
        assert speed.images_per_dollar == pytest.approx(speed.images_per_second * 3600 / 0.097, rel=0.01)


@pytest.mark.parametrize(
    ("rate", "dollars", "expected"),
    # Rows of Gigster's table: images/s, $/hour, images/$ in thousands (their rounding).
    [(1.53, 0.28, 20), (18.93, 2.67, 26), (4.80, 0.64, 27), (118.5, 8.19, 52)],
)
def test_images_a_dollar_is_the_decks_arithmetic(tmp_path: Path, rate: float, dollars: float, expected: int) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(f"machines:\n  theirs: {{dollars_per_hour: {dollars}}}\n")
    price = price_per_hour(BenchmarkConfig(prices=str(prices), machine="theirs"))
    assert rate * 3600 / price / 1000 == pytest.approx(expected, abs=0.6)


def test_wrong_prices_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="n2-standard-2"):
        price_per_hour(BenchmarkConfig(machine="n2-standart-2"))
    (tmp_path / "prices.yaml").write_text("machines: [1, 2]")
    with pytest.raises(ConfigError, match=r"no machine|not a valid price list"):
        price_per_hour(BenchmarkConfig(prices=str(tmp_path / "prices.yaml")))
    with pytest.raises(ConfigError, match="cannot be read"):
        price_per_hour(BenchmarkConfig(prices=str(tmp_path / "absent.yaml")))
