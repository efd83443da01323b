"""What the server answers to good requests."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_server import Served, encoded, plain, squares

from towpath.components.core.models import bundle
from towpath.components.core.models.predictor import Predictor


def b64(image: bytes) -> dict[str, str]:
    return {"b64": base64.b64encode(image).decode()}


def predict(server: Served, model: str, instances: list[Any]) -> list[dict[str, Any]]:
    response = server.client.post(f"/v1/models/{model}:predict", json={"instances": instances})
    assert response.status_code == 200, response.text
    predictions: list[dict[str, Any]] = response.json()["predictions"]
    return predictions


def test_predict_finds_the_bright_square_where_it_was_drawn(server: Served) -> None:
    (found,) = predict(server, "squares", [b64(squares((2, 5, 255)))])
    assert found["detection_boxes"] == [[0.25, 0.625, 0.375, 0.75]]
    assert found["detection_classes"] == [1]
    assert found["detection_class_names"] == ["bright"]
    assert found["num_detections"] == 1
    assert found["detection_scores"][0] == pytest.approx(1 / (1 + np.exp(-4.5)), abs=1e-3)


def test_predict_takes_both_forms_of_base64_and_keeps_the_order(server: Served) -> None:
    instances = [b64(squares()), {"image_bytes": b64(squares((0, 0, 0)))}, b64(squares((7, 7, 255), (1, 1, 255)))]
    found = predict(server, "squares", instances)
    assert [one["num_detections"] for one in found] == [0, 1, 2]
    assert found[1]["detection_class_names"] == ["dark"]


def test_predict_scores_every_class_of_a_classifier(server: Served) -> None:
    (found,) = predict(server, "colours", [b64(plain(20, 220, 20))])
    assert found["classes"] == ["red", "green", "blue"]
    assert sum(found["scores"]) == pytest.approx(1, abs=1e-6)
    assert np.argmax(found["scores"]) == 1


def test_a_version_may_be_named(server: Served) -> None:
    url = "/v1/models/squares/versions/7:predict"
    assert server.client.post(url, json={"instances": [b64(squares())]}).status_code == 200


@pytest.mark.parametrize("form", ["raw", "multipart"])
def test_detect_answers_pixels_for_raw_and_multipart(server: Served, form: str) -> None:
    image = squares((2, 5, 255), (6, 0, 0))
    body: dict[str, Any] = {"content": image} if form == "raw" else {"files": {"file": ("p.png", image)}}
    answer = server.client.post("/v1/models/squares:detect", **body).json()
    assert (answer["model"], answer["version"], answer["width"], answer["height"]) == ("squares", "7", 256, 256)
    assert [(one["label"], one["box"]) for one in answer["objects"]] == [
        ("bright", {"y_min": 64, "x_min": 160, "y_max": 96, "x_max": 192}),
        ("dark", {"y_min": 192, "x_min": 0, "y_max": 224, "x_max": 32}),
    ]
    took = answer["milliseconds"]
    assert 0 < took["decode"] + took["inference"] <= took["total"]


@pytest.mark.parametrize("form", ["raw", "multipart"])
def test_classify_gives_the_best_label_first(server: Served, form: str) -> None:
    image = plain(10, 10, 250)
    body: dict[str, Any] = {"content": image} if form == "raw" else {"files": {"file": ("p.png", image)}}
    answer = server.client.post("/v1/models/colours:classify", **body).json()
    assert answer["labels"][0]["label"] == "blue"
    scores = [one["score"] for one in answer["labels"]]
    assert scores == sorted(scores, reverse=True)


def test_both_routes_give_what_the_predictor_gives_in_process(server: Served, bundles: tuple[Path, Path]) -> None:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (6, 8, 1), np.uint8).repeat(3, 2).repeat(40, 0).repeat(40, 1)
    image = encoded(pixels, "jpeg")
    expected = Predictor(bundle.read(bundles[0]))([image])[0].detections
    assert expected is not None
    assert len(expected.boxes) > 3
    (served,) = predict(server, "squares", [b64(image)])
    np.testing.assert_allclose(served["detection_boxes"], expected.boxes, atol=1e-6)
    np.testing.assert_allclose(served["detection_scores"], expected.scores, atol=1e-6)
    objects = server.client.post("/v1/models/squares:detect", content=image).json()["objects"]
    size = np.array([240, 320, 240, 320])
    boxes = [[one["box"][side] for side in ("y_min", "x_min", "y_max", "x_max")] for one in objects]
    np.testing.assert_allclose(boxes / size, expected.boxes, atol=1e-6)


def test_models_are_listed(server: Served) -> None:
    listed = server.client.get("/v1/models").json()["models"]
    assert [(one["name"], one["version"], one["task"]) for one in listed] == [
        ("squares", "7", "detection"),
        ("colours", "8", "classification"),
    ]
    assert listed[0]["classes"] == ["bright", "dark"]
    assert (listed[0]["input_size"], listed[0]["variant"]) == (64, "float32")


@pytest.mark.parametrize("path", ["squares", "squares/versions/7"])
def test_status_is_in_tensorflow_servings_form(server: Served, path: str) -> None:
    answer = server.client.get(f"/v1/models/{path}").json()
    status = {"error_code": "OK", "error_message": ""}
    assert answer == {"model_version_status": [{"version": "7", "state": "AVAILABLE", "status": status}]}


def test_metadata_is_the_models_card(server: Served, bundles: tuple[Path, Path]) -> None:
    card = server.client.get("/v1/models/squares/metadata").json()
    assert card["classes"] == list(bundle.read(bundles[0]).card.classes)
    assert card["vision"]["post"]["score_threshold"] == 0.05
    assert len(card["samples"]) == 2


def test_a_turned_jpeg_is_answered_upright(server: Served, shared_data: Path) -> None:
    turned = sorted(shared_data.glob("messy_inputs/images/**/*andscape_6.jpg"))
    if not turned:
        pytest.skip("needs the EXIF examples")
    answer = server.client.post("/v1/models/squares:detect", content=turned[0].read_bytes()).json()
    assert answer["width"] > answer["height"]
