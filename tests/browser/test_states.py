"""Every state of the view, in both themes, narrow and wide: screenshots to look at, and what a program can check."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.conftest import SHOTS
from browser.servers import dev_page
from browser.test_looks import AXE, PROBLEMS
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow

NARROW, WIDE, PROJECTOR = 400, 1100, 1920
A_WHILE = 5_000
"""Milliseconds on the page's clock after which every state is reached, even that of a kernel that does not respond."""
STATUSES = {"unanswered": "no response", "unresponsive": "not responding", "lost": "kernel gone"}
FIND_PROBLEMS = Path(__file__).with_name("looks.js").read_text()


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page that shows the view in every state, without Jupyter."""
    with dev_page(tmp_path_factory.mktemp("dev")) as url:
        yield url


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_state_is_accessible(page: Page, states: str, theme: str) -> None:
    page.set_viewport_size({"width": WIDE + 24, "height": 900})
    page.goto(states)
    names = [re.sub(".*state=", "", link.get_attribute("href") or "") for link in page.locator("nav a").all()]
    found = {}
    for name in set(names) - STATUSES.keys():
        page.goto(f"{states}?state={name}&theme={theme}&width={WIDE}&shot")
        root = page.locator(".ak-root")
        expect(root.locator(".ak-entry").first).to_be_visible()
        page.add_script_tag(path=AXE)
        if problems := root.evaluate(PROBLEMS):
            found[name] = problems
    assert not found


PRESSED = {"presentation": "paused&type=m", "decision-presented": "waiting&type=m", "go-back-menu": "done&type=g"}
"""States that a key leads to, with the state that it begins in."""


@pytest.mark.parametrize("width", [NARROW, 1280, PROJECTOR])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_a_key_opens_fits_and_is_accessible(page: Page, states: str, theme: str, width: int) -> None:
    SHOTS.mkdir(exist_ok=True)
    page.set_viewport_size({"width": width, "height": 1080})
    page.goto(states)
    found = {}
    for name, query in PRESSED.items():
        page.evaluate("sessionStorage.clear()")
        page.goto(f"{states}?state={query}&theme={theme}&width={width - 24}&shot")
        page.locator(".ak-presentation, .ak-menu").wait_for()
        page.screenshot(path=SHOTS / f"state-{name}-{theme}-{width}.png", full_page=True)
        root = page.locator(".ak-root")
        page.add_script_tag(path=AXE)
        if problems := root.evaluate(FIND_PROBLEMS) + root.evaluate(PROBLEMS):
            found[name] = problems
    assert not found


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_state_fits_and_leaks_no_shortcut(page: Page, states: str, theme: str, width: int) -> None:
    SHOTS.mkdir(exist_ok=True)
    page.set_viewport_size({"width": width + 24, "height": 900})
    page.goto(states)
    page.clock.install()
    names = [re.sub(".*state=", "", link.get_attribute("href") or "") for link in page.locator("nav a").all()]
    assert len(names) > 15
    found = {}
    for name in names:
        page.goto(f"{states}?state={name}&theme={theme}&width={width}&shot")
        root = page.locator(".ak-root")
        root.wait_for()
        page.clock.run_for(A_WHILE)
        expect(page.locator(".ak-status")).to_have_text(STATUSES.get(name, re.compile(".")))
        page.screenshot(path=SHOTS / f"state-{name}-{theme}-{width}.png", full_page=True)
        assert page.evaluate("window.hostile") is None
        if problems := root.evaluate(FIND_PROBLEMS):
            found[name] = problems
    assert not found
