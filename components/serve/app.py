"""The application: all routes, request counting, and the headers of every response."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from . import body, demo, errors, images, operations, tensorflow_serving
from .metrics import Metrics
from .models import Models


def build(models: Models) -> ASGIApp:
    """Creates the ASGI application for `models`, which may still be loading."""
    metrics = Metrics()
    # FastAPI's own documentation pages load external scripts; /openapi.json stays.
    app = FastAPI(title="Towpath", docs_url=None, redoc_url=None)
    errors.install(app)
    app.include_router(operations.router(models, metrics))
    app.include_router(tensorflow_serving.router(models, metrics))
    app.include_router(images.router(models, metrics))
    app.include_router(demo.router(models))
    return _Observed(app, models, metrics)


class _Observed:
    """Counts each response by model, route and status, and disables MIME sniffing in browsers."""

    def __init__(self, app: ASGIApp, models: Models, metrics: Metrics) -> None:
        self._app, self._models, self._metrics = app, models, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = body.LEFT  # if no response starts

        async def observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-content-type-options", b"nosniff")]
            await send(message)

        try:
            await self._app(scope, receive, observed)
        finally:
            # Only names of loaded models become labels: arbitrary names would fill the memory.
            route = getattr(scope.get("route"), "name", "unknown")
            name = scope.get("path_params", {}).get("name", "")
            self._metrics.requests.labels(name if self._models.has(name) else "", route, str(status)).inc()
