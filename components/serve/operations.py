"""Routes for operation: liveness, readiness, metrics."""

from __future__ import annotations

from fastapi import APIRouter, Response

from .errors import reply
from .metrics import CONTENT_TYPE, Metrics
from .models import Models


def router(models: Models, metrics: Metrics) -> APIRouter:
    """Creates the routes /healthz, /readyz and /metrics."""
    routes = APIRouter(tags=["Operation"])

    @routes.get("/healthz", summary="200 while the process is alive")
    async def health() -> Response:
        return reply({"status": "ok"})

    @routes.get("/readyz", summary="200 once every model is loaded and warmed up, 503 before")
    async def ready() -> Response:
        if not models.ready:
            return reply({"status": "loading"}, 503)
        return reply({"status": "ready"})

    @routes.get("/metrics", name="metrics", summary="Metrics for Prometheus")
    async def show_metrics() -> Response:
        metrics.models.clear()
        for model in models.all() if models.ready else ():
            variant = model.predictor.variant
            metrics.models.labels(model.name, model.version, model.bundle.card.task, variant).set(1)
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    return routes
