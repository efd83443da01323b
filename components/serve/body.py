"""Request bodies, read with a limit."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect

from .errors import APIError

FIELD = "file"
# nginx's status for a client that closed its connection: only metrics see it.
LEFT = 499


async def read(request: Request, limit: int) -> bytes:
    """Reads the whole body.

    Args:
        request: its body not yet read.
        limit: maximum number of bytes to read, whatever the request's content length.

    Returns:
        The body.

    Raises:
        APIError: 413 above the limit, 499 if the client disconnected.
    """
    return b"".join([chunk async for chunk in _chunks(request, limit)])


async def image(request: Request, limit: int) -> bytes:
    """Reads the image of an upload: the field "file" of a multipart form, else the whole body.

    Raises:
        APIError: see `read`; 400 for a form that is damaged or has no such field.
    """
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        return await read(request, limit)
    try:
        form = await MultiPartParser(request.headers, _chunks(request, limit), max_files=1).parse()
    except MultiPartException as error:
        raise APIError(400, f"This multipart form cannot be read: {error.message}") from error
    try:
        file = form.get(FIELD)
        if not isinstance(file, UploadFile):
            raise APIError(400, f"The form has no file in its field '{FIELD}': curl -F {FIELD}=@image.jpg sends one.")
        return await file.read()
    finally:
        await form.close()


async def _chunks(request: Request, limit: int) -> AsyncGenerator[bytes, None]:
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    total = 0
    try:
        async for chunk in request.stream():
            total += len(chunk)
            if total > limit:
                raise _too_large(limit)
            yield chunk
    except ClientDisconnect as error:
        raise APIError(LEFT, "The client disconnected before its request was complete.") from error


def _too_large(limit: int) -> APIError:
    return APIError(413, f"The body is larger than {limit:,} bytes. Send a smaller image, or fewer at a time.")
