"""The appearance of the live view in every state, in both themes, wide and narrow: a screenshot of each, and checks.

Nothing may overflow, and axe must find nothing that is inaccessible by keyboard, by screen reader or to weak eyes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from browser.pages import Notebook
from browser.servers import Jupyter
from browser.views import PICTURES, SHOP, View
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

PROBLEMS = """async root => {
  const { violations } = await axe.run(root, { rules: { region: { enabled: false } } });
  const where = (node) => `${node.html.slice(0, 160)} ${node.any[0]?.message ?? ''}`;
  return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map(where).join(' | ')}`);
}"""
AXE = Path(__file__).parents[2] / "widgets" / "node_modules" / "axe-core" / "axe.min.js"

STATES = {
    "paused": ("next(run); next(run)", "paused"),
    "edited": (
        "next(run); next(run); run.edit(2, text='5.5', reason='prices went up'); run.inject('In euros.'); next(run)",
        "paused",
    ),
    "waiting": (
        "run.edit(text='I order it.', calls=[Call('order', {'item': 'tea'}, 'o')]); run.play()",
        "waiting for you",
    ),
    "running": ("run.edit(text='I wait.', calls=[Call('wait', {}, 'w')]); run.play()", "running"),
    "failed": (
        "run = Agent(Scripted([KeyError('gone')]), [price]).start('x', paused=True); run.play().wait()",
        "failed",
    ),
    "plan": ("run = pictured(planning); next(run); next(run); next(run)", "paused"),
    "tree": ("run = pictured(branching); [next(run) for _ in range(5)]", "paused"),
    "episodes": ("run = pictured(trying); [next(run) for _ in range(6)]", "paused"),
}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_state(lab: Notebook, jupyter_server: Jupyter, theme: str, shot: Callable[[str], None]) -> None:
    jupyter_server.theme(theme)
    cells = [f"{SHOP}\n{PICTURES}\n{act}" for act, _ in STATES.values()]
    lab.open(*[cell for state in cells for cell in (state, "run")])
    for number, (name, (_, status)) in enumerate(STATES.items()):
        lab.page.set_viewport_size({"width": 1280, "height": 1000})
        lab.run(2 * number)
        lab.done(2 * number)
        view = View(lab, 2 * number + 1, after=())
        view.status(status)
        if name in ("plan", "tree", "episodes"):
            view.root.get_by_role("tab", name="Progress").click()
        for width in (1280, 620):
            lab.page.set_viewport_size({"width": width, "height": 1000})
            view.root.scroll_into_view_if_needed()
            lab.page.wait_for_timeout(150)
            shot(f"{name}-{width}")
            assert fits(view), f"{name} overflows at {width}"
        assert not problems(view), problems(view)
    lab.do("bell.set()")


def fits(view: View) -> bool:
    return bool(view.root.evaluate("root => root.scrollWidth <= root.clientWidth + 1"))


def problems(view: View) -> list[str]:
    """Return what axe finds in the view, apart from the landmarks of the page around it."""
    if not view.page.evaluate("() => 'axe' in window"):
        view.page.add_script_tag(path=AXE)
    return list(view.root.evaluate(PROBLEMS))


def test_the_help_and_the_forms(lab: Notebook, shot: Callable[[str], None]) -> None:
    view = View(lab.open(SHOP, "run"), 1)
    view.press("Step")
    expect(view.card(1)).to_be_visible()
    view.act(1, "Edit")
    shot("edit")
    assert not problems(view), problems(view)
    view.page.keyboard.press("Escape")
    view.root.get_by_role("button", name="Step", exact=True).focus()
    view.page.keyboard.press("?")
    expect(view.root.get_by_role("dialog")).to_be_visible()
    shot("help")
    assert not problems(view), problems(view)


COVERED = """root => {
  const bar = [...root.querySelectorAll('.ak-floating')].find((bar) => getComputedStyle(bar).opacity === '1');
  const over = bar.getBoundingClientRect();
  const lines = (element) => {
    const range = document.createRange();
    const all = [];
    for (const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT); walker.nextNode(); ) {
      range.selectNodeContents(walker.currentNode);
      all.push(...range.getClientRects());
    }
    return all;
  };
  const meets = (line) => line.bottom - 2 > over.top && line.top + 2 < over.bottom && line.right > over.left;
  const texts = [...root.querySelectorAll('.ak-text, .ak-title, .ak-tag')];
  return texts.filter((text) => lines(text).some(meets)).map((text) => text.textContent);
}"""


def test_the_actions_of_an_entry_cover_no_text(lab: Notebook) -> None:
    long = "Reply('word ' * 80, (Call('price', {'item': 'tea'}, '1'),))"
    start = f"run = Agent(Scripted([{long}, 'word ' * 80], abilities=Abilities(tools=True)), [price]).start('q ' * 300)\nrun.wait()"
    view = View(lab.open(SHOP, f"{start}; run.undo()", "run"), 2, (0, 1))
    for number in (1, 2, 3):
        view.card(number).hover()
        assert view.root.evaluate(COVERED) == []


def test_every_tab_is_visible(lab: Notebook) -> None:
    act = "run = pictured(branching); [next(run) for _ in range(5)]; run.edit(5, text='other'); run.break_at(tool='x')"
    view = View(lab.open(f"{SHOP}\n{PICTURES}\n{act}", "run"), 1)
    tabs = view.root.get_by_role("tablist")
    expect(tabs.get_by_role("tab")).to_have_count(6)
    assert tabs.evaluate("tabs => tabs.scrollWidth <= tabs.clientWidth")
