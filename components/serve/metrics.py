"""The server's Prometheus metrics."""

from __future__ import annotations

from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

CONTENT_TYPE = CONTENT_TYPE_LATEST
# From a small LiteRT model on a fast core to a large one behind a queue.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

Phase = Literal["decode", "inference", "total"]


class Metrics:
    """The server's metrics, in their own registry: two servers in one process do not share them."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self.requests = Counter(
            "towpath_requests", "Requests answered.", ("model", "route", "status"), registry=self._registry
        )
        self.seconds = Histogram(
            "towpath_request_seconds",
            "Seconds of answering images: decode (reading and fitting), inference (with post-processing), total.",
            ("model", "phase"),
            buckets=BUCKETS,
            registry=self._registry,
        )
        self.in_flight = Gauge(
            "towpath_in_flight", "Prediction requests that are being answered.", registry=self._registry
        )
        self.models = Gauge(
            "towpath_model_info", "1 for each model.", ("model", "version", "task", "variant"), registry=self._registry
        )

    def observe(self, model: str, seconds: dict[Phase, float]) -> None:
        """Records the phases of one answered request."""
        for phase, value in seconds.items():
            self.seconds.labels(model, phase).observe(value)

    def text(self) -> bytes:
        """Returns all metrics in Prometheus's text format."""
        return generate_latest(self._registry)
