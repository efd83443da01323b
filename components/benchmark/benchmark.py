"""Benchmark: images per second, latency and images per dollar of a bundle's variants on this machine."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ..core import progress
from ..core.config import nearest
from ..core.errors import BundleError, ConfigError
from ..core.models import bundle
from ..core.models.bundle import Bundle
from ..core.models.engines import SAVED_MODEL
from ..core.models.predictor import Predictor
from .config import BenchmarkConfig

WARM_UP = 5
PRICES = Path(__file__).with_name("prices.yaml")


@dataclass(frozen=True)
class Speed:
    """The speed of one variant: encoded images one after another, decoding and post-processing included.

    Attributes:
        images_per_second: mean throughput.
        p50_ms: median latency in milliseconds.
        p99_ms: 99th percentile of the latency in milliseconds.
        images_per_dollar: at the machine's price.
    """

    images_per_second: float
    p50_ms: float
    p99_ms: float
    images_per_dollar: float


@dataclass(frozen=True)
class Benchmark:
    """The result of a benchmark.

    Attributes:
        speeds: variant -> its speed.
        machine: the machine whose price is used.
        dollars_per_hour: its price.
    """

    speeds: dict[str, Speed]
    machine: str
    dollars_per_hour: float

    @property
    def metrics(self) -> dict[str, float]:
        """Flat metrics: "int8_images_per_second" …, and the fastest as "images_per_second"."""
        figures = {
            f"{name}_{figure}": value for name, speed in self.speeds.items() for figure, value in vars(speed).items()
        }
        return figures | {"images_per_second": max(speed.images_per_second for speed in self.speeds.values())}

    @property
    def table(self) -> str:
        """A Markdown table."""
        lines = [
            f"At ${self.dollars_per_hour}/h ({self.machine}):",
            "",
            "| variant | images/s | p50 ms | p99 ms | images/$ |",
            "|---|---:|---:|---:|---:|",
        ]
        for name, speed in self.speeds.items():
            lines.append(
                f"| {name} | {speed.images_per_second:.1f} | {speed.p50_ms:.2f} | {speed.p99_ms:.2f} "
                f"| {speed.images_per_dollar:,.0f} |"
            )
        return "\n".join(lines) + "\n"


def benchmark(model: Path, config: BenchmarkConfig) -> Benchmark:
    """Measures every variant of a bundle with its own sample images (the SavedModel if it has no variants).

    Args:
        model: the bundle's folder.
        config: see BenchmarkConfig.

    Returns:
        The speed of each variant.

    Raises:
        BundleError: a bundle without samples, or one that does not load.
        ConfigError: no such machine in the prices.
    """
    loaded = bundle.read(model)
    if not loaded.card.samples:
        raise BundleError(f"{model}: the bundle has no sample images to measure with.")
    price = price_per_hour(config)
    speeds = {}
    names = list(loaded.card.variants) or [SAVED_MODEL]
    with progress.bar("measuring", len(names)) as bar:
        for name in names:
            speeds[name] = _measure(loaded, name, config, price)
            bar.advance(note=name)
    return Benchmark(speeds, config.machine, price)


def price_per_hour(config: BenchmarkConfig) -> float:
    """Reads the price of the configured machine.

    Returns:
        Dollars per hour.

    Raises:
        ConfigError: no such machine (with the nearest name), or prices that cannot be read.
    """
    path = Path(config.prices) if config.prices else PRICES
    try:
        machines: dict[str, Any] = yaml.safe_load(path.read_text())["machines"]
        if config.machine not in machines:
            raise ConfigError(f"{path}: there is no machine '{config.machine}'.", nearest(config.machine, machines))
        price = float(machines[config.machine]["dollars_per_hour"])
    except OSError as error:
        raise ConfigError(f"{path}: the prices cannot be read ({error.strerror}).") from error
    except (yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{path}: not a valid price list ({error}).", f"See {PRICES} for the format.") from error
    if price <= 0:
        raise ConfigError(f"{path}: '{config.machine}' costs {price} dollars per hour: it must be more than 0.")
    return price


def _measure(loaded: Bundle, name: str, config: BenchmarkConfig, price: float) -> Speed:
    predictor = Predictor(loaded, name, threads=config.threads)
    images = cycle([loaded.sample_bytes(sample) for sample in loaded.card.samples])
    for _ in range(WARM_UP):
        predictor([next(images)])
    latencies: list[float] = []
    end = time.perf_counter() + config.seconds
    while time.perf_counter() < end or not latencies:
        start = time.perf_counter()
        predictor([next(images)])
        latencies.append(time.perf_counter() - start)
    rate = len(latencies) / sum(latencies)
    p50, p99 = np.percentile(np.array(latencies) * 1000, (50, 99))
    return Speed(round(rate, 2), round(float(p50), 3), round(float(p99), 3), round(rate * 3600 / price, 1))
