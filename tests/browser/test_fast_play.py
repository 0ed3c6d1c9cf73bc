"""A run that plays at full speed, and a view that stays where it is: counts, and no times."""

from __future__ import annotations

import itertools

import pytest
from browser.pages import Notebook, eventually
from browser.views import SHOP, View
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow

LONG = """
class Turns:
    "Ask for the same call again and again."
    name, abilities = "turns", Abilities(tools=True)
    left = 100_000
    def __call__(self, request):
        self.left -= 1
        return Reply("I look at the tea.", (Call("price", {"item": "tea"}, f"c{self.left}"),))

run = Agent(Turns(), [price], journal="memory", engine=Loop("react", max_iterations=100_000)).start("Go.", paused=True)
"""
PLAY = "run.play(until=lambda: 'pause' if len(run) >= {0} else '').wait()"

COUNTER = """() => {
  window.forced = 0;
  let isDirty = false;
  const root = document.querySelector('.ak-root');
  const changes = new MutationObserver(() => { isDirty = true; });
  changes.observe(root, { subtree: true, childList: true, characterData: true });
  const tick = () => requestAnimationFrame(() => { setTimeout(() => { isDirty = false; changes.takeRecords(); }); tick(); });
  tick();
  const count = (element) => {
    if (!root.contains(element) || !(isDirty || changes.takeRecords().length)) return;
    window.forced++;
    isDirty = false;
  };
  const reads = [
    [Element, ['scrollTop', 'scrollHeight', 'clientHeight', 'clientWidth', 'scrollLeft', 'scrollWidth']],
    [HTMLElement, ['offsetTop', 'offsetHeight', 'offsetLeft', 'offsetWidth']],
  ];
  for (const [{ prototype }, names] of reads)
    for (const name of names) {
      const { get, ...rest } = Object.getOwnPropertyDescriptor(prototype, name);
      Object.defineProperty(prototype, name, { ...rest, get() { count(this); return get.call(this); } });
    }
  for (const name of ['getBoundingClientRect', 'getClientRects', 'scrollIntoView', 'scrollTo', 'scrollBy']) {
    const read = Element.prototype[name];
    Element.prototype[name] = function (...args) { count(this); return read.apply(this, args); };
  }
}"""

HEIGHTS = """() => {
  const cell = document.querySelector('.ak-root').closest('.jp-Cell');
  window.heights = [];
  new ResizeObserver(() => window.heights.push(cell.offsetHeight)).observe(cell);
}"""


def long_run(notebook: Notebook) -> View:
    view = View(notebook.open(SHOP + LONG, "run"), 1)
    expect(view.card(0)).to_be_visible()
    return view


def frame(page: Page) -> None:
    """Wait until the page has drawn what has changed."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_a_run_at_full_speed_forces_hardly_a_layout_and_ends_with_all_that_happened(lab: Notebook) -> None:
    view = long_run(lab)
    lab.page.evaluate(COUNTER)
    view.do(PLAY.format(140))
    expect(view.card(139)).to_be_visible()
    assert lab.page.evaluate("() => window.forced") < 20
    eventually(lambda: view.root.locator("[data-n]").count() == view.ask("len(run)"), "all entries are drawn")


def test_pause_acts_in_the_middle_of_a_run_at_full_speed(lab: Notebook) -> None:
    view = long_run(lab)
    view.press("Run")
    lab.page.wait_for_function("() => [...document.querySelectorAll('[data-n]')].some(e => Number(e.dataset.n) > 300)")
    view.press("Pause")
    view.status("paused")
    last = view.ask("len(run)") - 1
    expect(view.card(last)).to_be_visible()
    assert view.ask("run.status") == "paused"


def test_the_notebook_does_not_move_while_the_run_goes_on(lab: Notebook) -> None:
    view = long_run(lab)
    lab.page.evaluate(HEIGHTS)
    for n in range(20):
        view.do("next(run)")
        expect(view.card(n + 1)).to_be_visible()
    frame(lab.page)
    assert len(set(lab.page.evaluate("() => window.heights"))) == 1


@pytest.mark.parametrize("width", [400, 1280])
def test_the_toolbar_is_one_row(lab: Notebook, width: int) -> None:
    view = View(lab.open(SHOP, "run"), 1)
    view.root.evaluate("(root, width) => { root.parentElement.style.maxWidth = `${width}px`; }", width)
    frame(lab.page)
    toolbar = view.root.get_by_role("toolbar")
    rows = toolbar.evaluate(
        "bar => new Set([...bar.querySelectorAll('button')].filter(b => b.offsetParent).map(b => Math.round(b.getBoundingClientRect().top / 10))).size"
    )
    assert rows == 1
    more = toolbar.get_by_role("button", name="More")
    assert more.is_visible() == (width == 400)
    if width == 400:
        expect(toolbar.get_by_role("button", name="Inject")).to_be_hidden()
        more.click()
        toolbar.get_by_role("button", name="Inject").click()
        expect(view.root.get_by_label("Message to the model", exact=True)).to_be_visible()


IN_SIGHT = """box => {
  const [outer, line] = [box, box.querySelector('.ak-current-line')].map((e) => e.getBoundingClientRect());
  const bottom = Math.min(line.bottom, line.top + box.clientHeight); // a line that is higher is seen from its top on
  return line.top >= outer.top - 1 && bottom <= outer.bottom + 1;
}"""


def test_the_lit_line_stays_in_sight_when_the_source_shrinks_and_long_lines_are_wrapped(lab: Notebook) -> None:
    view = View(lab.open(SHOP, "run"), 1)
    lines = view.root.locator(".ak-lines")
    eventually(lambda: lines.evaluate(IN_SIGHT), "the lit line is in sight")
    for width, height in itertools.product(("auto", "120px"), (300, 90, 20, 150, 90, 400, 40)):
        style = f"flex: none; min-height: 0; height: {height}px; width: {width}"
        lines.evaluate("(box, style) => { box.style.cssText = style; }", style)
        eventually(lambda: lines.evaluate(IN_SIGHT), f"the lit line is in sight in {height} pixels")
        frame(lab.page)  # the box is at rest before it changes again
        assert lines.evaluate(IN_SIGHT)
    view.do("next(run)")
    eventually(lambda: view.card(1).is_visible() and lines.evaluate(IN_SIGHT), "the next lit line is in sight")
    assert lines.evaluate("box => box.scrollWidth <= box.clientWidth")


def test_a_reader_may_scroll_the_source_away_from_the_lit_line(lab: Notebook) -> None:
    view = View(lab.open(SHOP, "run"), 1)
    lines = view.root.locator(".ak-lines")
    eventually(lambda: lines.evaluate(IN_SIGHT), "the lit line is in sight")
    lines.evaluate("box => { box.scrollTop = 1e6; }")
    for _ in range(5):
        frame(lab.page)
    assert not lines.evaluate(IN_SIGHT)
