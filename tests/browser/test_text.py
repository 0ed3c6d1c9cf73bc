"""Text and values in a real browser: Markdown, trees and tables, in both themes, narrow and wide; and hostile text."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from browser.conftest import SHOTS
from browser.servers import dev_page
from browser.test_looks import AXE, PROBLEMS
from browser.test_states import FIND_PROBLEMS, NARROW
from export.test_prose import HOSTILE
from playwright.sync_api import Locator, Page, expect
from skeleton import skeleton_of

from agentkit.core.secrets import mask
from agentkit.export.prose import to_html

pytestmark = pytest.mark.slow

WIDE = 1280


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with dev_page(tmp_path_factory.mktemp("dev")) as url:
        yield url


def shown(page: Page, states: str, name: str, theme: str = "light", width: int = WIDE) -> Locator:
    page.set_viewport_size({"width": width + 24, "height": 900})
    page.goto(f"{states}?state={name}&theme={theme}&width={width}&shot")
    root = page.locator(".ak-root")
    expect(root.locator(".ak-status")).to_have_text("running" if name == "writing" else "paused")
    return root


def check(page: Page, root: Locator, shot: str) -> None:
    SHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SHOTS / f"text-{shot}.png", full_page=True)
    page.add_script_tag(path=AXE)
    assert root.evaluate(PROBLEMS) == [] and root.evaluate(FIND_PROBLEMS) == []
    assert page.evaluate("window.hostile") is None


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_markdown_and_values_are_accessible_and_fit(page: Page, states: str, theme: str, width: int) -> None:
    root = shown(page, states, "markdown", theme, width)
    first = root.locator(".ak-md").first
    expect(first.locator("table")).to_have_count(0)  # of the injected message
    expect(root.locator(".ak-md table").first).to_be_visible()
    records = root.locator(".ak-json details").filter(has_text="12 records").last
    records.locator("summary").first.click()
    expect(records.get_by_role("button", name="price")).to_be_visible()
    check(page, root, f"markdown-{theme}-{width}")
    root = shown(page, states, "writing", theme, width)
    expect(root.locator(".ak-stream table")).to_be_visible()
    check(page, root, f"writing-{theme}-{width}")
    root = shown(page, states, "values", theme, width)
    if width == NARROW:
        root.get_by_role("button", name="More").click()
        root.get_by_role("button", name="Side panel").click()
    root.get_by_role("tab", name="Source").click()
    root.locator(".ak-locals summary").first.click()
    expect(root.locator(".ak-locals")).to_contain_text("I should look at the weather")
    check(page, root, f"values-{theme}-{width}")


def test_the_raw_text_is_one_click_away(page: Page, states: str) -> None:
    root = shown(page, states, "markdown")
    text = root.locator(".ak-text").filter(has=page.get_by_role("button", name="Raw text")).nth(1)
    text.get_by_role("button", name="Raw text").click()
    expect(text).to_contain_text("# Two ways to Chur")
    expect(text).to_contain_text("|-------|------:|-------|")


def test_a_long_text_is_folded_between_blocks(page: Page, states: str) -> None:
    root = shown(page, states, "markdown")
    long = root.locator("[data-entry='111']")
    assert long.locator("table").count() == 1 and long.locator("tbody tr").count() == 2
    long.get_by_role("button", name="Show all").click()
    expect(long.locator("table")).to_have_count(4)


def test_a_link_is_opened_by_nothing_but_a_click(page: Page, states: str) -> None:
    root = shown(page, states, "markdown")
    link = root.get_by_role("link", name="the timetable").first
    link.hover()
    link.focus()
    assert len(page.context.pages) == 1
    assert link.get_attribute("rel") == "noopener noreferrer"
    expect(link.locator("xpath=..")).to_contain_text("(https://example.org/timetable?from=Bern&to=Chur)")


def test_the_live_view_and_the_static_form_read_random_markdown_alike(page: Page, states: str) -> None:
    page.goto(f"{states}markdown.html")
    page.wait_for_function("!!window.skeletonsOf")
    texts = [mask(source) for source in HOSTILE]
    drawn = page.evaluate("texts => skeletonsOf(texts)", texts)
    trimmed = re.compile(" +(?=br\\()")  # one of the parsers keeps a space between a backslash and the end of a line
    different = [
        text
        for text, live in zip(texts, drawn, strict=True)
        if trimmed.sub("", skeleton_of(to_html(text))) != trimmed.sub("", live)
    ]
    assert different == []
    assert page.evaluate("window.hostile") is None
