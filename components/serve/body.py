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
    """The whole body.

    Args:
        request: its body not yet read.
        limit: bytes that are read at most, whatever the request says of its length.

    Raises:
        APIError: 413 above the limit, 499 when the client went away.
    """
    return b"".join([chunk async for chunk in _chunks(request, limit)])


async def image(request: Request, limit: int) -> bytes:
    """The image of an upload: the field "file" of a multipart form, else the whole body.

    Raises:
        APIError: as `read`; 400 for a form that is damaged or has no such field.
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
    said = request.headers.get("content-length", "")
    if said.isdigit() and int(said) > limit:
        raise _too_large(limit)
    total = 0
    try:
        async for chunk in request.stream():
            total += len(chunk)
            if total > limit:
                raise _too_large(limit)
            yield chunk
    except ClientDisconnect as error:
        raise APIError(LEFT, "The client left before its request was whole.") from error


def _too_large(limit: int) -> APIError:
    return APIError(413, f"The body is larger than {limit:,} bytes. Send a smaller image, or fewer at a time.")
