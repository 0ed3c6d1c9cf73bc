"""The profile of a run in a real notebook: a flame whose bars lead to entries, by mouse and by keyboard, in two themes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from browser.pages import Notebook
from browser.servers import Jupyter
from browser.test_looks import fits, problems
from browser.views import View
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

RUN = """
import time
from agentkit import Agent, Call, Reply, Usage, tool
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

@tool(effect="pure")
def look(city: str) -> str:
    "Look at the weather."
    time.sleep(0.3)
    return f"rain in {city}"

calls = (Call("look", {"city": "Bern"}, "a"), Call("look", {"city": "Rome"}, "b"))
replies = [Reply("", calls, usage=Usage(900, 40, cost=0.002)), Reply("Rain.", usage=Usage(1000, 5, cost=0.001))]
run = Agent(Scripted(replies, abilities=Abilities(tools=True)), [look]).start("Where does it rain?", paused=True)
time.sleep(0.2)
_ = run.drive()
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_bars_of_a_profile_lead_to_entries(
    lab: Notebook, jupyter_server: Jupyter, theme: str, shot: Callable[[str], None]
) -> None:
    jupyter_server.theme(theme)
    lab.page.set_viewport_size({"width": 1280, "height": 1000})
    view = View(lab.open(RUN, "run"), 1)
    view.status("done")
    view.root.get_by_role("tab", name="Profile").click()
    panel = view.root.get_by_role("region", name="Profile")
    expect(panel).to_contain_text("paused")
    bars = panel.get_by_role("treeitem")
    whole, act = bars.first.bounding_box(), panel.get_by_role("treeitem", name="act: ").bounding_box()
    assert whole and act and 0.5 * whole["width"] < act["width"] < whole["width"] and act["y"] > whole["y"]
    panel.get_by_role("treeitem", name="tool_call_1_1 look").click()
    expect(view.card(3)).to_contain_class("ak-current")
    bars.first.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "Enter"):
        lab.page.keyboard.press(key)
    expect(panel.get_by_role("treeitem", selected=True)).to_contain_text("tool_call_1_")
    panel.get_by_role("button", name="Cost").click()
    expect(bars).to_have_count(5)
    expect(bars.nth(2)).to_have_text("scripted")
    panel.get_by_role("button", name="Time").click()
    expect(panel.get_by_role("treeitem", name="act: ")).to_be_visible()
    for width in (1280, 620):
        lab.page.set_viewport_size({"width": width, "height": 1000})
        shot(f"profile-{theme}-{width}")
        assert fits(view) and not problems(view)
