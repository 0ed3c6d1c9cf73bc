"""The whole way through the quickstart in Firefox: open, run, step, edit, save and open again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import nbformat
import pytest
from browser.conftest import SHOTS
from browser.firefox import FirefoxPage, firefox
from browser.pages import Notebook
from browser.servers import Jupyter
from playwright.sync_api import Page

pytestmark = pytest.mark.slow

QUICKSTART = Path(__file__).parents[2] / "notebooks" / "00_quickstart.ipynb"


@pytest.fixture
def page(tmp_path: Path) -> Iterator[FirefoxPage]:
    """Yield a page of Firefox. Without Firefox this fails; it is never skipped."""
    with firefox(tmp_path / "firefox") as page:
        yield page


def test_the_quickstart_is_run_stepped_edited_saved_and_opened_again(
    page: FirefoxPage, jupyter_server: Jupyter, tmp_path: Path
) -> None:
    folder = jupyter_server.root / tmp_path.name
    folder.mkdir()
    path = Path(shutil.copy(QUICKSTART, folder))
    cells = [cell.id for cell in nbformat.read(path, as_version=4).cells]
    notebook = Notebook(cast(Page, page), jupyter_server, "lab", folder).visit(path)
    for cell in ("quickstart-03", "quickstart-05", "quickstart-07"):
        notebook.run(cells.index(cell))
        notebook.done(cells.index(cell))
    page.see(".ak-root", "What is 3 times the price of cake?")
    page.click(".ak-root [role=toolbar] button", "Step")
    page.see(entry(1), "price")
    page.press("Enter")
    page.see(entry(2), "4.5")
    page.click(entry(2))
    page.press("e")
    page.wait_for_function("() => document.activeElement.matches('.ak-root form[aria-label=Edit] *')")
    page.press("Control", "a")
    page.type("5.5")
    page.press("Control", "Enter")
    page.see(entry(2), "5.5")
    notebook.until("len(run) == 3 and run[2].result.text == '5.5'")
    page.screenshot(SHOTS / "firefox-edited.png")
    page.click(".ak-root [role=toolbar] button", "Run")
    page.see(".ak-root .ak-status", "done")
    page.wait_for_function(MOMENT, arg=[cells.index("quickstart-07"), "16.5"])
    page.press("Control", "s")
    page.wait_for_function("() => !jupyterapp.shell.currentWidget.context.model.dirty")
    notebook.close()

    again = Notebook(cast(Page, page), jupyter_server, "lab", folder).visit(path)
    try:
        shown = page.evaluate(OUTPUT, cells.index("quickstart-07"))
        assert "16.5" in shown and "edited by human" in shown
        page.screenshot(SHOTS / "firefox-opened-again.png")
    finally:
        again.close()


def entry(number: int) -> str:
    """Return a selector of an entry in the live view."""
    return f".ak-root [aria-label^='Entry {number},']"


MOMENT = """([i, text]) => {
  const { outputs } = jupyterapp.shell.currentWidget.content.widgets[i].model;
  return JSON.stringify(outputs.toJSON()).includes(text);
}"""

OUTPUT = "(i) => jupyterapp.shell.currentWidget.content.widgets[i].node.querySelector('.jp-OutputArea').textContent"
