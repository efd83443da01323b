"""Plain image uploads: raw bytes or a form in, readable JSON out."""

from __future__ import annotations

import time

from fastapi import APIRouter, Request, Response

from ..core.task import Task
from . import answers, body
from .errors import APIError, reply
from .metrics import Metrics, Phase
from .models import Models

_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": [body.FIELD],
                    "properties": {body.FIELD: {"type": "string", "format": "binary"}},
                }
            },
        },
    }
}
VERBS: dict[Task, str] = {"detection": "detect", "classification": "classify"}


def router(models: Models, metrics: Metrics) -> APIRouter:
    """Creates the routes /v1/models/NAME:detect and :classify."""
    routes = APIRouter(prefix="/v1/models", tags=["Images"])

    @routes.post("/{name}:detect", summary="Objects in an image, boxes in pixels", openapi_extra=_BODY)
    async def detect(request: Request, name: str) -> Response:
        return await answer(request, name, "detection")

    @routes.post("/{name}:classify", summary="An image's best labels", openapi_extra=_BODY)
    async def classify(request: Request, name: str) -> Response:
        return await answer(request, name, "classification")

    async def answer(request: Request, name: str, task: Task) -> Response:
        started = time.perf_counter()
        with metrics.in_flight.track_inprogress():
            model = models.get(name)
            card = model.bundle.card
            if card.task != task:
                hint = f"Use POST /v1/models/{name}:{VERBS[card.task]}."
                raise APIError(400, f"Model '{name}' does {card.task}, not {task}. {hint}")
            data = await body.image(request, models.config.max_body_bytes)
            answer = await models.run(lambda: model.answer([data]))
        seconds: dict[Phase, float] = {**answer.seconds, "total": time.perf_counter() - started}
        metrics.observe(name, seconds)
        found = answers.readable(answer.predictions[0], card.classes)
        took = {phase: round(value * 1000, 3) for phase, value in seconds.items()}
        return reply({"model": name, "version": model.version, **found, "milliseconds": took})

    return routes
