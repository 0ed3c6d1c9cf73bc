"""A real browser before real notebooks, with the network cut: whoever asks for anything from outside fails the test."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browser.chromium import chromium
from browser.pages import LONG_ENOUGH, Notebook
from browser.servers import Jupyter, jupyter
from playwright.sync_api import Browser, BrowserContext, Error, Page, Route, expect

expect.set_options(timeout=LONG_ENOUGH * 1000)  # on a slow machine everything comes later, and nothing else is wrong
SHOTS = Path(__file__).parent / "shots"
OUTSIDE = re.compile(r"^(?!(https?|wss?)://127\.0\.0\.1[:/]|data:|blob:|about:)")


@pytest.fixture(scope="session")
def jupyter_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    """One Jupyter server for all tests; each has notebooks and a kernel of its own."""
    with jupyter(tmp_path_factory.mktemp("jupyter")) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for a module: Playwright keeps an event loop running, which tests elsewhere could not stand.

    Without Chromium these tests fail; they are never skipped.
    """
    with chromium() as browser:
        yield browser


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh profile; it fails the test when a page asked for anything that is not on this machine, or our module raised."""
    asked: list[str] = []
    errors: list[str] = []

    def cut(route: Route) -> None:
        asked.append(route.request.url)
        route.abort()

    context = browser.new_context(viewport={"width": 1280, "height": 1000}, reduced_motion="reduce")
    context.set_default_timeout(LONG_ENOUGH * 1000)
    context.route(OUTSIDE, cut)
    context.on("weberror", lambda error: ours(error.error) and errors.append(str(error.error)))
    yield context
    context.close()
    assert not asked, f"asked of the outside: {asked}"
    assert not errors, f"raised in the page: {errors}"


def ours(error: Error) -> bool:
    """Tell whether an error came from a widget: its module is loaded from a blob. Notebook 7 raises some of its own."""
    return "blob:" in (error.stack or "")


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """Give an empty page."""
    return context.new_page()


@pytest.fixture
def lab(page: Page, jupyter_server: Jupyter, tmp_path: Path) -> Iterator[Notebook]:
    """A notebook in JupyterLab 4."""
    yield from notebook(page, jupyter_server, "lab", tmp_path)


@pytest.fixture
def notebook7(page: Page, jupyter_server: Jupyter, tmp_path: Path) -> Iterator[Notebook]:
    """A notebook in Notebook 7."""
    yield from notebook(page, jupyter_server, "notebook", tmp_path)


@pytest.fixture(params=["lab", "notebook"])
def any_notebook(
    request: pytest.FixtureRequest, page: Page, jupyter_server: Jupyter, tmp_path: Path
) -> Iterator[Notebook]:
    """A notebook in JupyterLab 4, then one in Notebook 7."""
    yield from notebook(page, jupyter_server, request.param, tmp_path)


def notebook(page: Page, server: Jupyter, app: str, folder: Path) -> Iterator[Notebook]:
    """Give a notebook in a folder of this test, in the light theme; its kernel goes with it."""
    server.theme("light")
    notebook = Notebook(page, server, app, server.root / folder.name)
    yield notebook
    notebook.close()


@pytest.fixture
def shot(request: pytest.FixtureRequest, page: Page) -> Callable[[str], None]:
    """Take a picture of the page into tests/browser/shots, under the name of the test."""
    SHOTS.mkdir(exist_ok=True)
    name = re.sub(r"\W+", "-", request.node.name).strip("-")
    return lambda state: page.screenshot(path=SHOTS / f"{name}-{state}.png") and None
