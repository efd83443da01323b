"""The demo page: files of this package, and the bundles' sample images."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Response
from PIL import Image

from ..core.data.images import open_image
from .errors import APIError
from .models import Models

FOLDER = Path(__file__).with_name("page")
PARTS = {"demo.css": "text/css", "demo.js": "text/javascript", "draw.js": "text/javascript"}
# No external or inline content, no framing; blob: is the image that the user chose.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob: data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def router(models: Models) -> APIRouter:
    """Creates the routes /, /page/… and /samples/…."""
    routes = APIRouter(tags=["Demo page"], include_in_schema=False)

    def page_file(name: str, media_type: str) -> Response:
        headers = {"cache-control": "no-cache", "content-security-policy": POLICY, "referrer-policy": "no-referrer"}
        return Response((FOLDER / name).read_bytes(), headers=headers, media_type=media_type)

    @routes.get("/")
    def page() -> Response:
        return page_file("demo.html", "text/html")

    @routes.get("/page/{name}")
    def page_part(name: str) -> Response:
        if name not in PARTS:
            raise APIError(404, f"The demo page has no part '{name}'.")
        return page_file(name, PARTS[name])

    @routes.get("/samples/{name}/{index:int}")
    def sample(name: str, index: int) -> Response:
        model = models.get(name)
        samples = model.bundle.card.samples
        if index >= len(samples):
            raise APIError(404, f"Model '{name}' has {len(samples)} sample images; the first is 0.")
        data = model.bundle.sample_bytes(samples[index])
        return Response(data, media_type=Image.MIME[open_image(data).format or ""])

    return routes
