"""The docs site as a reader uses it: it can be searched, has a dark theme, and works without the network."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browser.servers import free_port, running
from playwright.sync_api import ConsoleMessage, Page, expect

pytestmark = pytest.mark.slow

AXE = Path(__file__).parents[2] / "widgets" / "node_modules" / "axe-core" / "axe.min.js"
PROBLEMS = """async () => {
  const { violations } = await axe.run();
  const where = (node) => `${node.html.slice(0, 160)} ${node.any[0]?.message ?? ''}`;
  return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map(where).join(' | ')}`);
}"""
PAGES = {
    "landing": "docs/index.html",
    "guide": "docs/hold-a-run.html",
    "notebook": "notebooks/00_quickstart.html",
    "reference": "docs/reference/run.html",
}


@pytest.fixture(scope="module")
def address(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the site, and yield its address."""
    url = f"http://127.0.0.1:{(port := free_port())}"
    command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(site)]
    with running(command, tmp_path_factory.mktemp("server"), url):
        yield url


@pytest.fixture
def reader(page: Page) -> Iterator[Page]:
    """Yield a page that must not log an error; the fixtures of this folder fail it if it asks for anything outside."""
    errors: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            errors.append(f"{message.text} ({message.location.get('url')})")

    page.on("console", note)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    assert errors == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_in_both_themes(
    reader: Page, address: str, name: str, theme: str, shot: Callable[[str], None]
) -> None:
    reader.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    reader.goto(f"{address}/{PAGES[name]}")
    expect(reader.locator("html")).to_have_attribute("data-theme", theme)
    reader.add_script_tag(path=AXE)
    shot(theme)
    assert reader.evaluate(PROBLEMS) == []


def test_the_theme_can_be_chosen(reader: Page, address: str) -> None:
    reader.goto(f"{address}/docs/index.html")
    background = "() => getComputedStyle(document.body).backgroundColor"
    seen = set()
    for theme in ("Light", "Dark"):
        reader.get_by_role("button", name="Color mode").click()
        reader.get_by_role("button", name=theme, exact=True).click()
        expect(reader.locator("html")).to_have_attribute("data-theme", theme.lower())
        seen.add(reader.evaluate(background))
    assert len(seen) == 2


@pytest.mark.parametrize(("words", "found"), [("breakpoints", "Step through a run"), ("rewind", "agentkit.Run.rewind")])
def test_the_search_finds_pages_and_names_of_the_reference(reader: Page, address: str, words: str, found: str) -> None:
    reader.goto(f"{address}/docs/index.html")
    reader.get_by_role("button", name="Search").first.click()
    reader.keyboard.type(words)
    reader.keyboard.press("Enter")
    expect(reader.locator("#search-results")).to_contain_text(found)


def test_a_reader_gets_from_the_front_to_a_notebook_with_its_outputs(reader: Page, address: str) -> None:
    reader.goto(address)
    reader.get_by_role("link", name="the notebooks").click()
    reader.get_by_role("article").get_by_role("link", name="00_quickstart").click()
    expect(reader.locator("article h1")).to_be_visible()
    expect(reader.locator(".cell_output").first).to_be_visible()
