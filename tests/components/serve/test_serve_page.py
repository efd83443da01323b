"""The demo page: what it is made of, and what it does in a real browser."""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from live_server import Served, plain, squares
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

IMAGE = squares((2, 5, 255), (6, 0, 0), (4, 4, 215))  # "bright" with 0.99, "dark" with 0.99, "bright" with 0.62
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,900")
DROP = """
const [data, name, type] = arguments;
const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
const transfer = new DataTransfer();
transfer.items.add(new File([bytes], name, { type: "image/png" }));
const carries = { bubbles: true, cancelable: true, dataTransfer: transfer, clipboardData: transfer };
const event = type === "drop" ? new DragEvent("drop", carries) : new ClipboardEvent("paste", carries);
document.getElementById("stage").dispatchEvent(event);
"""


def test_the_page_takes_nothing_from_elsewhere(server: Served) -> None:
    page = server.client.get("/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    parts = [page] + [server.client.get(f"/page/{name}") for name in ("demo.css", "demo.js", "draw.js")]
    for part in parts:
        assert part.status_code == 200
        assert set(re.findall(r"https?://[\w.]+", part.text)) <= {"http://www.w3.org"}  # the name of SVG, not a place


def test_samples_are_served_as_images(server: Served) -> None:
    sample = server.client.get("/samples/squares/1")
    assert sample.headers["content-type"] == "image/png"
    assert sample.content == squares((0, 7, 255), (5, 1, 0))


class Page:
    """The demo page in a browser."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def find(self, css: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def all(self, css: str) -> list[Any]:
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def wait(self, until: Callable[[], Any]) -> None:
        WebDriverWait(self.driver, 30, poll_frequency=0.05).until(lambda _: until())

    def answered(self, count: int) -> None:
        """Waits for an answer of `count` rows."""
        self.wait(lambda: len(self.all("#answers .row")) == count and self.find("#repeat").is_displayed())

    def choose(self, path: Path) -> None:
        self.find("#file").send_keys(str(path))

    def drawn(self) -> list[tuple[str, float, dict[str, float]]]:
        """Label, score and box of each box over the image."""
        rows = [
            [box.get_attribute(f"data-{key}") for key in ("label", "score", "box")] for box in self.all("#boxes .box")
        ]
        return [(label, float(score), json.loads(box)) for label, score, box in rows]


@pytest.fixture(scope="module")
def driver() -> Iterator[webdriver.Chrome]:
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.skip("needs chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for option in OPTIONS:
        options.add_argument(option)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    yield driver
    driver.quit()


@pytest.fixture
def page(driver: webdriver.Chrome, server: Served) -> Page:
    driver.get_log("browser")  # what an earlier test left
    driver.get(server.url)
    page = Page(driver)
    page.wait(lambda: page.find("#model").is_enabled() and len(page.all("#samples button")) == 2)
    return page


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "some squares.png"
    path.write_bytes(IMAGE)
    return path


@pytest.mark.browser
@pytest.mark.parametrize("way", ["choose", "drop", "paste"])
def test_an_image_gets_the_boxes_that_the_api_gives(page: Page, server: Served, image: Path, way: str) -> None:
    if way == "choose":
        page.choose(image)
    else:
        page.driver.execute_script(DROP, base64.b64encode(IMAGE).decode(), image.name, way)
    page.answered(3)
    answer = server.client.post("/v1/models/squares:detect", content=IMAGE).json()
    expected = [(one["label"], one["score"], one["box"]) for one in answer["objects"]]
    assert page.drawn() == expected
    assert page.find("#status").text == "3 objects: 2 × bright, 1 × dark."
    assert "squares, version 7" in page.find("#facts").text
    curl = page.find("#curl").text
    assert curl == f"curl --data-binary '@some squares.png' {server.url}/v1/models/squares:detect"
    assert page.driver.get_log("browser") == []


@pytest.mark.browser
def test_boxes_lie_where_the_image_shows_the_object(page: Page, image: Path) -> None:
    page.choose(image)
    page.answered(3)
    seen = page.find("#image").rect
    for box, (_, _, place) in zip(page.all("#boxes .box"), page.drawn(), strict=True):
        drawn = box.rect
        assert drawn["x"] - seen["x"] == pytest.approx(place["x_min"] / 256 * seen["width"], abs=1)
        assert drawn["y"] - seen["y"] == pytest.approx(place["y_min"] / 256 * seen["height"], abs=1)
        assert drawn["width"] == pytest.approx(32 / 256 * seen["width"], abs=1)


@pytest.mark.browser
def test_the_slider_filters_at_once(page: Page, image: Path) -> None:
    page.choose(image)
    page.answered(3)
    slider = page.find("#score")
    slider.send_keys(*[Keys.ARROW_RIGHT] * 20)  # from 50 to 70 %
    assert [label for label, _, _ in page.drawn()] == ["bright", "dark"]
    assert page.find("#status").text == "2 objects: 1 × bright, 1 × dark. 1 more with lower scores."
    slider.send_keys(Keys.END)
    assert page.drawn() == []
    slider.send_keys(Keys.HOME)
    assert len(page.drawn()) == 3


@pytest.mark.browser
def test_a_sample_is_one_click(page: Page, server: Served) -> None:
    page.all("#samples button")[1].click()
    page.answered(2)
    assert {label for label, _, _ in page.drawn()} == {"bright", "dark"}
    assert f"curl -s {server.url}/samples/squares/1 |" in page.find("#curl").text


@pytest.mark.browser
def test_another_model_answers_the_same_image_with_bars(page: Page, tmp_path: Path) -> None:
    (tmp_path / "red.png").write_bytes(plain(230, 10, 10))
    page.choose(tmp_path / "red.png")
    page.wait(lambda: page.find("#status").text.startswith("No objects"))
    Select(page.find("#model")).select_by_value("colours")
    page.answered(3)
    assert page.all("#boxes .box") == []
    assert page.all("#answers .row")[0].get_attribute("data-label") == "red"
    assert not page.find("#threshold").is_displayed()
    assert "colours, version 8" in page.find("#facts").text


@pytest.mark.browser
def test_a_text_file_gives_a_plain_error_and_the_next_image_clears_it(page: Page, tmp_path: Path, image: Path) -> None:
    (tmp_path / "notes.txt").write_text("no image")
    page.choose(tmp_path / "notes.txt")
    page.wait(lambda: page.find("#error").is_displayed())
    assert "not a valid image" in page.find("#error").text
    assert page.all("#boxes .box") == []
    page.choose(image)
    page.answered(3)
    assert not page.find("#error").is_displayed()


@pytest.mark.browser
def test_a_row_lights_its_box_from_the_keyboard(page: Page, image: Path) -> None:
    page.choose(image)
    page.answered(3)
    page.all("#answers button")[1].send_keys(Keys.ENTER)
    lit = page.all("#boxes .box.lit")
    assert [box.get_attribute("data-label") for box in lit] == ["dark"]
    assert page.all("#answers button")[1].get_attribute("aria-pressed") == "true"


@pytest.mark.browser
def test_nothing_is_cut_off_on_a_phone(page: Page, image: Path) -> None:
    phone = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        page.choose(image)
        page.answered(3)
        assert page.driver.execute_script("return document.documentElement.scrollWidth") <= 360
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
