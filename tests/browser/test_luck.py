"""Asking a model again from its thought in a real notebook, and the temperature of the next request."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from browser.pages import Notebook
from browser.servers import Jupyter
from browser.test_looks import fits, problems
from browser.views import View
from playwright.sync_api import Locator, expect

pytestmark = pytest.mark.slow

TINY = """
from agentkit import Agent, tool
from agentkit.models.tiny import Tiny

@tool(effect="pure")
def price(item: str) -> float:
    "Look up the price of an item."
    return 4.5

run = Agent(Tiny(pace=None, seed=1, temperature=1.4), [price], journal="memory").start("What is the price of tea?", paused=True)
next(run)
"""

SLOW = """
import threading
from agentkit import Agent
from agentkit.models.scripted import Scripted

bell = threading.Event()

def slow(request):
    bell.wait(30)
    return "never"

model = Scripted(["Heads.", "Tails.", "Heads.", slow, "Tails."])
run = Agent(model, journal="memory").run("Toss a coin.").run
"""


def panel(view: View) -> Locator:
    return view.root.get_by_role("region", name="Luck or skill")


def bars(view: View) -> Locator:
    return panel(view).get_by_role("listitem")


def test_the_price_comes_first_and_python_and_the_view_see_the_same_replies(lab: Notebook) -> None:
    view = View(lab.open(TINY, "run"), 1)
    view.card(1).click()
    view.page.keyboard.press("n")
    times = panel(view).get_by_label("How many times to ask the same")
    expect(times).to_be_focused()
    expect(times).to_have_value("20")
    times.fill("8")
    expect(panel(view)).to_contain_text("8 calls of tiny: about")
    assert view.ask("run.usage.calls") == 1
    view.page.keyboard.press("Enter")
    expect(panel(view)).to_contain_text("Nothing is left to ask: 8 of 8 replies are recorded.")
    counts = "[outcome.count for outcome in run.resample(1, times=8)]"
    shown = [int(text.split(" of 8")[0].split()[-1]) for text in bars(view).all_inner_texts()]
    assert view.ask(counts) == shown and sum(shown) == 8
    assert view.ask("run.usage.calls, len(run)") == (9, 2)

    view.do("run.resample(1, times=12).go()")
    times.fill("12")
    expect(panel(view)).to_contain_text("Nothing is left to ask: 12 of 12 replies are recorded.")
    view.page.keyboard.press("Escape")
    expect(panel(view)).to_have_count(0)
    expect(view.card(1)).to_be_focused()


def test_a_bar_opens_a_run_that_continues_with_its_reply(lab: Notebook) -> None:
    view = View(lab.open(SLOW, "run.resample(1, times=2).go(); run"), 1)
    view.act(1, "Luck")
    expect(bars(view)).to_have_count(2)
    bars(view).filter(has_text="Tails.").get_by_role("button").press("Enter")
    fork = lab.output(1).locator(".ak-root").nth(1)
    expect(fork).to_contain_text("fork from entry")
    expect(fork.locator("[aria-label^='Entry 1,']")).to_contain_text("Tails.")
    expect(fork.locator(".ak-status")).to_have_text("paused")


def test_stop_ends_a_call_in_progress_and_keeps_the_replies(lab: Notebook) -> None:
    view = View(lab.open(SLOW, "run"), 1)
    view.act(1, "Luck")
    panel(view).get_by_role("button", name="Make 20 calls").click()
    expect(panel(view).get_by_role("progressbar")).to_have_attribute("value", "2")
    expect(bars(view)).to_have_count(2)
    panel(view).get_by_role("button", name="Stop").click()
    expect(panel(view).get_by_role("progressbar")).to_have_count(0)
    expect(panel(view)).to_contain_text("18 calls of scripted")
    assert view.ask("run.resample(1).is_asking, run.resample(1).counts") == (False, {"Tails.": 1, "Heads.": 1})


def test_what_python_asks_is_shown_and_can_be_stopped_in_the_view(lab: Notebook) -> None:
    asking = "threading.Thread(target=run.resample(1, times=9).go).start()"
    view = View(lab.open(SLOW, "run"), 1)
    view.act(1, "Luck")
    view.do(asking)
    expect(panel(view).get_by_role("progressbar")).to_have_attribute("max", "9")
    panel(view).get_by_role("button", name="Stop").click()
    expect(panel(view).get_by_role("progressbar")).to_have_count(0)
    assert view.ask("len(run.resample(1).replies)") == 2


PAYS = """
from agentkit import Agent, Call, Reply, tool
from agentkit.models.scripted import Scripted

paid = []

@tool(effect="irreversible")
def pay(amount: int) -> str:
    "Pay an amount."
    paid.append(amount)
    return f"paid {amount}"

def pays(amount):
    return Reply("I pay.", (Call("pay", {"amount": amount}, "c1"),))

model = Scripted([pays(5), "Paid.", pays(5), "Fine.", pays(6), pays(5), "Paid.", "Paid 6."])
run = Agent(model, [pay], journal="memory").run("Pay the bill.").run
"""


def test_trials_to_the_end_ask_before_they_may_act_and_each_bar_opens_its_run(lab: Notebook) -> None:
    view = View(lab.open(PAYS, "run"), 1)
    view.act(1, "Luck")
    panel(view).get_by_label("How many times to ask the same").fill("3")
    panel(view).get_by_label("How far to go on").select_option("to the end")
    expect(panel(view)).to_contain_text("3 trials to the end, together about 6 calls of scripted")
    expect(panel(view)).to_contain_text("3 runs may call pay (irreversible)")
    assert view.ask("model.calls, paid") == (2, [5])
    panel(view).get_by_role("button", name="Make 3 trials without these calls").click()
    expect(panel(view)).to_contain_text("Nothing is left to try: 3 of 3 trials have ended.")
    assert view.ask("paid, sum(e.count for e in run.resample(1, times=3, until='end'))") == ([5], 3)
    bars(view).filter(has_text="Fine.").get_by_role("button").press("Enter")
    opened = lab.output(1).locator(".ak-root").nth(1)
    expect(opened).to_contain_text("Fine.")
    expect(opened.locator(".ak-status")).to_have_text("done")
    view.do("run.resample(1, times=3, until='end', score=lambda result, case: 'Paid' in result.answer).go()")
    panel(view).get_by_label("How far to go on").select_option("this reply only")
    panel(view).get_by_label("How far to go on").select_option("to the end")
    expect(panel(view)).to_contain_text("95 % (Wilson)")


def test_trials_to_the_end_that_python_makes_are_shown_and_can_be_stopped(lab: Notebook) -> None:
    view = View(lab.open(SLOW, "run"), 1)
    view.act(1, "Luck")
    panel(view).get_by_label("How far to go on").select_option("to the end")
    view.do("threading.Thread(target=run.resample(1, times=9, until='end').go, kwargs={'on': 1}).start()")
    expect(panel(view).get_by_role("progressbar")).to_have_attribute("max", "9")
    panel(view).get_by_role("button", name="Stop").click()
    expect(panel(view).get_by_role("progressbar")).to_have_count(0)
    expect(bars(view)).to_have_count(2)
    assert view.ask("len(run.resample(1, until='end').ended)") == 2


def test_the_slider_sets_the_temperature_of_the_next_requests(lab: Notebook) -> None:
    view = View(lab.open(TINY.replace("next(run)", ""), "run"), 1)
    slider = view.root.get_by_role("slider", name="Temperature")
    expect(slider).to_have_attribute("aria-valuetext", "1.4, the model's own")
    slider.press("Home")
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", "0.2")
    view.until("run.temperature == 0.2 and run.request()['temperature'] == 0.2")
    view.press("Step")
    expect(view.card(1)).to_contain_text("temperature 0.2")
    view.press("Step")
    view.do("run.temperature = 0.7")
    expect(slider).to_have_attribute("aria-valuetext", "0.7")
    view.root.get_by_role("button", name="Reset").click()
    expect(slider).to_have_attribute("aria-valuetext", "1.4, the model's own")
    temperatures = "run.temperature, run.request(1)['temperature'], run.request()['temperature']"
    assert view.ask(temperatures) == (None, 0.2, 1.4)


@pytest.fixture(params=["light", "dark"])
def wide(request: pytest.FixtureRequest, lab: Notebook, jupyter_server: Jupyter) -> Notebook:
    """Return a notebook in each theme, in a wide window."""
    jupyter_server.theme(request.param)
    lab.page.set_viewport_size({"width": 1700, "height": 1000})
    return lab


def check_looks(view: View, shot: Callable[[str], None]) -> Iterator[int]:
    """Check the panel in a wide and in a narrow view; yield each width."""
    expect(bars(view).first).to_be_visible()
    for width in (1280, 400):
        view.root.evaluate("(root, width) => { root.style.width = `${width}px` }", width)
        panel(view).scroll_into_view_if_needed()
        view.page.wait_for_timeout(200)
        shot(f"{width}")
        assert fits(view)
        assert not problems(view), problems(view)
        yield width


def test_the_looks_of_luck_to_the_end(wide: Notebook, shot: Callable[[str], None]) -> None:
    view = View(wide.open(PAYS, "run.resample(1, times=3, until='end').go(approved=False, on=1); run"), 1)
    view.act(1, "Luck")
    panel(view).get_by_label("How far to go on").select_option("to the end")
    assert len(list(check_looks(view, shot))) == 2


def test_the_looks_of_luck(wide: Notebook, shot: Callable[[str], None]) -> None:
    view = View(wide.open(TINY, "run.resample(1, times=15).go(); next(run); run"), 1)
    view.act(1, "Luck")
    for width in check_looks(view, shot):
        view.root.get_by_role("slider", name="Temperature").last.scroll_into_view_if_needed()
        view.page.wait_for_timeout(200)
        shot(f"next-{width}")
