"""Settings of the benchmark step."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.config import at_least


@dataclass(frozen=True)
class BenchmarkConfig:
    """Settings of the benchmark step.

    Attributes:
        seconds: measured time of each variant; 3 give some hundred images on two cores.
        threads: threads that one inference may use; on a CPU, one image at a time on each core gives the most
            throughput.
        machine: whose hourly price is used, a name in prices.yaml; choose the one that the model will be served on,
            and measure there.
        prices: a file like prices.yaml with your own machines; None takes the one that comes with Towpath.
    """

    seconds: float = 3.0
    threads: int = 1
    machine: str = "n2-standard-2"
    prices: str | None = None

    def __post_init__(self) -> None:
        at_least("seconds", self.seconds, 0.1)
        at_least("threads", self.threads, 1)
