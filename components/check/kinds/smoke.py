"""An image is answered, a broken one is refused as the sender's mistake, and the demo page is there."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.release.check_results import CheckResult
from .subject import Kind, Subject

# A PNG's signature and nothing behind it: every decoder tries, none succeeds.
BROKEN_IMAGE = b"\x89PNG\r\n\x1a\n" + b"\0" * 32


@dataclass(frozen=True)
class Smoke:
    """It has no limits."""


def check(subject: Subject, limits: Smoke) -> CheckResult:
    """Posts a good and a broken image, and gets the page.

    Raises:
        AnswerError: the server does not answer.
    """
    client, images, notes = subject.client, subject.images, []
    if images:
        status = client.post_image(images[0]).status_code
        if status != 200:
            notes.append(f"a sample image is answered with {status}, not 200")
    else:
        notes.append("the bundle has no sample images to post")
    status = client.post_image(BROKEN_IMAGE).status_code
    if status != 400:
        notes.append(f"a broken image is answered with {status}, not 400")
    page = client.get("/")
    if page.status_code != 200:
        notes.append(f"the demo page is answered with {page.status_code}, not 200")
    return CheckResult("smoke", not notes, notes=tuple(notes))


KIND = Kind(Smoke, check)
