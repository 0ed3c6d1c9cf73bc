"""The moving picture of the README and the docs: it shows the view as it is, moves, and stands still for who wants that."""

from __future__ import annotations

import os

import pytest
from browser.chromium import FLAGS, find_chromium
from browser.film import TARGET, film, svg
from browser.pages import Notebook
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

PAGE, PICTURE = "http://127.0.0.1/page", "http://127.0.0.1/picture.svg"
OF_A_CODE_HOST = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
SHOWN = "() => document.images[0].decode().then(() => document.images[0].naturalWidth)"


def test_the_view_can_still_be_filmed(page: Page, lab: Notebook) -> None:
    page.set_viewport_size({"width": 1600, "height": 1000})
    pictures = film(page, lab)
    assert len({picture.caption for picture in pictures}) == len({picture.data for picture in pictures}) == 6
    assert "still" in svg(pictures)


def test_the_file_is_small_and_needs_nothing_else() -> None:
    text = TARGET.read_text(encoding="utf-8")
    assert len(text) < 400_000
    assert "<script" not in text and "http" not in text.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("moves", [True, False])
def test_it_moves_unless_the_reader_has_asked_for_reduced_motion(browser: Browser, moves: bool) -> None:
    program, variables = find_chromium()
    flags = [*FLAGS, *([] if moves else ["--force-prefers-reduced-motion"])]
    own = browser.browser_type.launch(executable_path=program, args=flags, env={**os.environ, **variables})
    page = own.new_page(viewport={"width": 800, "height": 500})
    page.route(PAGE, lambda route: route.fulfill(content_type="text/html", body=f"<img src={PICTURE} width=800>"))
    page.route(
        PICTURE, lambda route: route.fulfill(path=TARGET, headers={"Content-Type": "image/svg+xml", **OF_A_CODE_HOST})
    )
    page.goto(PAGE)
    assert page.evaluate(SHOWN) > 0
    seen = set()
    for _ in range(3):
        page.wait_for_timeout(2_500)
        seen.add(page.screenshot())
    own.close()
    assert (len(seen) > 1) is moves
