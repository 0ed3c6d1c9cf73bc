"""A real browser with real notebooks, without network: a page that requests anything from outside fails its test."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browser.chromium import chromium
from browser.pages import LONG_ENOUGH, Notebook
from browser.servers import Jupyter, jupyter
from playwright.sync_api import Browser, BrowserContext, Error, Page, Route, expect

expect.set_options(timeout=LONG_ENOUGH * 1000)  # on a slow machine everything takes longer
SHOTS = Path(__file__).parent / "shots"
OUTSIDE = re.compile(r"^(?!(https?|wss?)://127\.0\.0\.1[:/]|data:|blob:|about:)")


@pytest.fixture(scope="session")
def jupyter_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    """Yield one Jupyter server for all tests; each test has its own notebooks and kernel."""
    with jupyter(tmp_path_factory.mktemp("jupyter")) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Yield one browser per module: Playwright keeps an event loop running, which would disturb other tests.

    Without Chromium these tests fail; they are never skipped.
    """
    with chromium() as browser:
        yield browser


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Yield a fresh profile; fail the test if a page requested anything from outside, or our module raised an error."""
    requested: list[str] = []
    errors: list[str] = []

    def block(route: Route) -> None:
        requested.append(route.request.url)
        route.abort()

    context = browser.new_context(viewport={"width": 1280, "height": 1000}, reduced_motion="reduce")
    context.set_default_timeout(LONG_ENOUGH * 1000)
    context.route(OUTSIDE, block)
    context.on("weberror", lambda error: is_ours(error.error) and errors.append(str(error.error)))
    yield context
    context.close()
    assert not requested, f"requested from outside: {requested}"
    assert not errors, f"raised in the page: {errors}"


def is_ours(error: Error) -> bool:
    """Return whether an error came from a widget, whose module is loaded from a blob. Notebook 7 raises errors too."""
    return "blob:" in (error.stack or "")


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """Return an empty page."""
    return context.new_page()


@pytest.fixture
def lab(page: Page, jupyter_server: Jupyter, tmp_path: Path) -> Iterator[Notebook]:
    """Yield a notebook in JupyterLab 4."""
    yield from notebook(page, jupyter_server, "lab", tmp_path)


@pytest.fixture
def notebook7(page: Page, jupyter_server: Jupyter, tmp_path: Path) -> Iterator[Notebook]:
    """Yield a notebook in Notebook 7."""
    yield from notebook(page, jupyter_server, "notebook", tmp_path)


@pytest.fixture(params=["lab", "notebook"])
def any_notebook(
    request: pytest.FixtureRequest, page: Page, jupyter_server: Jupyter, tmp_path: Path
) -> Iterator[Notebook]:
    """Yield a notebook in JupyterLab 4, then one in Notebook 7."""
    yield from notebook(page, jupyter_server, request.param, tmp_path)


def notebook(page: Page, server: Jupyter, app: str, folder: Path) -> Iterator[Notebook]:
    """Yield a notebook in the folder of this test, in the light theme; shut down its kernel afterwards."""
    server.theme("light")
    notebook = Notebook(page, server, app, server.root / folder.name)
    yield notebook
    notebook.close()


@pytest.fixture
def shot(request: pytest.FixtureRequest, page: Page) -> Callable[[str], None]:
    """Return a function that saves a screenshot of the page in tests/browser/shots, under the name of the test."""
    SHOTS.mkdir(exist_ok=True)
    name = re.sub(r"\W+", "-", request.node.name).strip("-")
    return lambda state: page.screenshot(path=SHOTS / f"{name}-{state}.png") and None
