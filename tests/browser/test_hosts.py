"""The live view is drawn, and controls the run, in every supported notebook."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import indent

import pytest
from browser.pages import Notebook
from browser.servers import marimo
from browser.views import SHOP, View
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow


def test_a_cell_shows_the_live_view_and_a_click_steps_the_run(
    any_notebook: Notebook, shot: Callable[[str], None]
) -> None:
    shop = View(any_notebook.open(SHOP, "run"), 1)
    expect(shop.card(0)).to_contain_text("What is the tea?")
    shop.press("Step")
    expect(shop.card(1)).to_contain_text("I look at the tea.")
    shop.press("Step")
    expect(shop.card(2)).to_contain_text("3.2")
    assert shop.ask("(run.status, [entry.kind for entry in run.entries])") == ("paused", ["begin", "think", "act"])
    shot("stepped")


MARIMO = """
import marimo

app = marimo.App()


@app.cell
def _():
{agent}
    return (run,)


@app.cell
def _(run):
    run
"""


def test_marimo_shows_the_live_view_and_a_click_steps_the_run(
    page: Page, tmp_path: Path, shot: Callable[[str], None]
) -> None:
    app = tmp_path / "app.py"
    app.write_text(MARIMO.format(agent=indent(SHOP, "    ")))
    with marimo(app) as url:
        page.goto(url)
        view = page.locator(".ak-root")
        expect(view.get_by_text("What is the tea?").first).to_be_visible()
        view.get_by_role("button", name="Step", exact=True).click()
        expect(view.get_by_text("I look at the tea.").first).to_be_visible()
        shot("stepped")
