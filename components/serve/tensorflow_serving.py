"""TensorFlow Serving's REST routes: https://www.tensorflow.org/tfx/serving/api_rest."""

from __future__ import annotations

import time
from typing import Any

from fastapi import APIRouter, Request, Response

from . import answers, body
from .errors import reply
from .metrics import Metrics
from .models import Answer, Model, Models

_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["instances"],
                    "properties": {
                        "instances": {
                            "type": "array",
                            "minItems": 1,
                            "items": {
                                "type": "object",
                                "required": ["b64"],
                                "properties": {"b64": {"type": "string", "format": "byte"}},
                            },
                        }
                    },
                }
            }
        },
    }
}


def router(models: Models, metrics: Metrics) -> APIRouter:
    """Creates the routes below /v1/models."""
    routes = APIRouter(prefix="/v1/models", tags=["TensorFlow Serving"])

    @routes.get("", summary="All models")
    async def list_models() -> Response:
        return reply({"models": [_entry(model) for model in models.all()]})

    @routes.get("/{name}/metadata", summary="The model's card")
    @routes.get("/{name}/versions/{version}/metadata", summary="The model's card")
    async def metadata(name: str, version: str | None = None) -> Response:
        return Response(models.get(name, version).metadata, media_type="application/json")

    @routes.get("/{name}", summary="State of the model's versions")
    @routes.get("/{name}/versions/{version}", summary="State of one version")
    async def model_status(name: str, version: str | None = None) -> Response:
        model = models.get(name, version)
        status = {"error_code": "OK", "error_message": ""}
        return reply({"model_version_status": [{"version": model.version, "state": "AVAILABLE", "status": status}]})

    @routes.post("/{name}:predict", summary="Predicts base64 images", openapi_extra=_BODY)
    @routes.post("/{name}/versions/{version}:predict", summary="Predicts base64 images", openapi_extra=_BODY)
    async def predict(request: Request, name: str, version: str | None = None) -> Response:
        started = time.perf_counter()
        with metrics.in_flight.track_inprogress():
            model = models.get(name, version)
            data = await body.read(request, models.config.max_body_bytes)
            answer = await models.run(lambda: _answer(model, data, models.config.max_instances))
        metrics.observe(name, {**answer.seconds, "total": time.perf_counter() - started})
        classes = model.bundle.card.classes
        return reply({"predictions": [answers.tensorflow_serving(one, classes) for one in answer.predictions]})

    return routes


def _answer(model: Model, data: bytes, limit: int) -> Answer:
    # Parsing megabytes of base64 takes long: keep it off the event loop too.
    return model.answer(answers.images(data, limit))


def _entry(model: Model) -> dict[str, Any]:
    card = model.bundle.card
    return {
        "name": card.name,
        "version": model.version,
        "task": card.task,
        "classes": list(card.classes),
        "input_size": card.vision.input_size,
        "variant": model.predictor.variant,
    }
