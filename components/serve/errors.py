"""Errors of requests, as an HTTP status and TensorFlow Serving's {"error": "…"}."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from ..core.data.images import ImageError


class APIError(Exception):
    """A request that is answered with an error.

    Args:
        status: HTTP status.
        message: what is wrong and what to do.
        headers: of the response.
    """

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers


def reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Creates a JSON response.

    Raises:
        ValueError: the value contains NaN, which is not JSON.
    """
    # ASCII only: a name from a request may contain characters that UTF-8 cannot encode.
    return Response(json.dumps(value, allow_nan=False), status, headers, "application/json")


def install(app: FastAPI) -> None:
    """Registers handlers, so that every error of `app` is answered in the same form."""

    @app.exception_handler(APIError)
    async def refused(_: Request, error: APIError) -> Response:
        return reply({"error": error.message}, error.status, error.headers)

    @app.exception_handler(ImageError)
    async def bad_image(_: Request, error: ImageError) -> Response:
        return reply({"error": str(error)}, 400)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        message = str(error.detail)
        if error.status_code == 404:
            message = f"There is nothing at {request.url.path}. GET /v1/models lists the models, / is the demo page."
        return reply({"error": message}, error.status_code, error.headers)

    @app.exception_handler(Exception)
    async def bug(_: Request, __: Exception) -> Response:
        # The traceback goes to the log, not to the client.
        return reply({"error": "Internal server error; see the server's log."}, 500)
