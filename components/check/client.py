"""Queries a model server over HTTP, as its users do."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np

from ..core.models.detection import Detections
from ..core.task import Task

# Objects below this score are guesses that a detector lists for its curve, not what a user is shown.
MIN_SCORE = 0.3


class AnswerError(Exception):
    """The server does not answer as it should; the message says how."""


@dataclass(frozen=True)
class Answer:
    """What a server says of one image.

    Attributes:
        detections: those of at least MIN_SCORE, relative to the image; labels index `names`.
        names: class of each object; classification: one, the best.
    """

    detections: Detections | None
    names: tuple[str, ...]


class Client:
    """One model at one server. Use as a context manager.

    Args:
        url: of the server; no other is queried.
        name, task: of the model.
        timeout: seconds for one answer.
    """

    def __init__(self, url: str, name: str, task: Task, timeout: float) -> None:
        self.url = url
        self.timeout = timeout
        self.name = name
        self.task = task
        self.verb = "detect" if task == "detection" else "classify"
        # Proxies of the environment are for the outside; a redirect would lead to another server.
        # Certificates are read where there is TLS: reading them takes longer than a check.
        tls = not url.startswith("http:")
        self._client = httpx.Client(base_url=url, timeout=timeout, trust_env=False, follow_redirects=False, verify=tls)

    def __enter__(self) -> Client:
        return self

    def another(self) -> Client:
        """A client for the same model, with a connection of its own."""
        return Client(self.url, self.name, self.task, self.timeout)

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def get(self, path: str) -> httpx.Response:
        """GET.

        Raises:
            AnswerError: there is no answer.
        """
        return self._request("GET", path)

    def post_image(self, data: bytes) -> httpx.Response:
        """Posts raw bytes to the readable route.

        Raises:
            AnswerError: there is no answer.
        """
        return self._request(
            "POST",
            f"/v1/models/{self.name}:{self.verb}",
            content=data,
            headers={"Content-Type": "application/octet-stream"},
        )

    def models(self) -> dict[str, Any]:
        """The models that the server holds, by name.

        Raises:
            AnswerError: the server does not answer as it should.
        """
        value = self._json(self.get("/v1/models"))
        try:
            return {model["name"]: model for model in value["models"]}
        except (KeyError, TypeError) as error:
            raise AnswerError(f"/v1/models answers in another form (no {error}).") from error

    def predict(self, data: bytes) -> Answer:
        """One image through TensorFlow Serving's route.

        Raises:
            AnswerError: the server does not answer as it should.
        """
        path = f"/v1/models/{self.name}:predict"
        instances = [{"b64": base64.b64encode(data).decode()}]
        value = self._json(self._request("POST", path, json={"instances": instances}))
        try:
            prediction = value["predictions"][0]
            return _objects(prediction) if self.task == "detection" else _best(prediction)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise AnswerError(f"{path} answers in another form ({error!r}).") from error

    def _request(self, method: str, path: str, **how: Any) -> httpx.Response:
        try:
            return self._client.request(method, path, **how)
        except httpx.TimeoutException as error:
            raise AnswerError(f"{method} {path}: no answer within {self.timeout:g} s.") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise AnswerError(f"{method} {path}: {error or type(error).__name__}.") from error

    def _json(self, response: httpx.Response) -> Any:
        where = f"{response.request.method} {response.request.url.path}"
        if response.status_code != 200:
            raise AnswerError(f"{where} answers {response.status_code}: {response.text[:200]}")
        try:
            return response.json()
        except ValueError as error:
            raise AnswerError(f"{where} answers no JSON: {response.text[:200]}") from error


def _objects(prediction: dict[str, Any]) -> Answer:
    count = int(prediction["num_detections"])
    scores = np.asarray(prediction["detection_scores"][:count], np.float32)
    keep = scores >= MIN_SCORE
    boxes = np.asarray(prediction["detection_boxes"][:count], np.float32).reshape(-1, 4)
    labels = np.asarray(prediction["detection_classes"][:count], np.int64) - 1  # TensorFlow's API counts from 1
    names = [name for name, kept in zip(prediction["detection_class_names"], keep, strict=False) if kept]
    return Answer(Detections(boxes[keep], scores[keep], labels[keep]), tuple(names))


def _best(prediction: dict[str, Any]) -> Answer:
    return Answer(None, (prediction["classes"][int(np.argmax(prediction["scores"]))],))
