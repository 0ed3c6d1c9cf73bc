"""The live table of an experiment in a real notebook: watch it, stop it, go on, and open its runs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from browser.pages import Notebook
from browser.servers import Jupyter
from browser.test_looks import AXE, PROBLEMS
from playwright.sync_api import Locator, expect

pytestmark = pytest.mark.slow

SETUP = """
import threading
from pathlib import Path
from tempfile import mkdtemp
from agentkit import Agent, Call, Reply, Usage, experiment, tool
from agentkit.models.base import Abilities

gate = threading.Semaphore(0)
open_gate = lambda count: gate.release(count)

def model(wrong):
    def model(request):
        gate.acquire()
        n = int(request.messages[-1]["content"].split()[2])
        if wrong and n == 5:
            raise RuntimeError("the host <b>is down</b>")
        answer = n * 17 + (1 if wrong and n % 4 == 0 else 0)
        return Reply(f"FINAL_ANSWER: {answer}", usage=Usage(200, 20, cost=0.0005))
    return model

cases = [{"task": f"What is {n} * 17?", "expected": str(n * 17)} for n in range(2, 14)]
cases[0]["id"] = "<img src=x onerror=document.title='hacked'>"
journal = Path(mkdtemp(), "runs.db")
variants = {"plain": Agent(model(False), journal=journal), "<i>wrong": Agent(model(True), journal=journal)}

def right(result, case):
    return case["expected"] in result.answer
"""

BEGIN = "found = experiment(cases, variants, score=right, repeats=2, on=4)\nfound"

PAYING = """
from agentkit import Agent, Call, Reply, experiment, tool
from agentkit.models.base import Abilities
paid = []

@tool(effect="irreversible")
def pay(amount: int) -> str:
    "Pay."
    paid.append(amount)
    return "paid"

def model(request):
    if any(message["role"] == "tool" for message in request.messages):
        return "FINAL_ANSWER: paid"
    return Reply("", (Call("pay", {"amount": 5}),))

model.abilities = Abilities(tools=True)
agent = Agent(model, [pay], max_tool_calls=1, journal="memory")
"""


class Table:
    """The live table in the output of a cell; runs that cell, and the one before it."""

    def __init__(self, notebook: Notebook, cell: int = 1) -> None:
        self.notebook, self.page = notebook, notebook.page
        for number in range(cell + 1):
            notebook.run(number)
            notebook.done(number)
        self.root = notebook.output(cell).locator(".ak-e-table").first
        self.bar = self.root.get_by_role("progressbar")
        self.status = self.root.locator(".ak-e-table-status")
        self.marks = self.root.locator("button[data-cell]")
        expect(self.root).to_be_visible()

    def button(self, name: str) -> Locator:
        return self.root.get_by_role("button", name=name)

    def problems(self) -> list[str]:
        """Return what axe finds in the table."""
        if not self.page.evaluate("() => 'axe' in window"):
            self.page.add_script_tag(path=AXE)
        return list(self.root.evaluate(PROBLEMS))

    def runs(self) -> Locator:
        return self.notebook.output(1).locator(".ak-root:not(.ak-e-table)")


def test_the_table_moves_stops_goes_on_and_opens_a_run_that_is_stepped(lab: Notebook) -> None:
    table = Table(lab.open(SETUP, BEGIN))
    expect(table.status).to_have_text("running")
    lab.do("open_gate(10)")
    expect(table.bar).to_have_attribute("value", "10")
    expect(table.root.locator(".ak-e-mark-score")).to_have_count(13)  # three explain the marks
    table.button("Stop").click()
    lab.do("import time; time.sleep(0.2); open_gate(4)")
    expect(table.status).to_have_text("stopped")
    assert lab.ask("found.status") == "stopped"
    missing = lab.ask("len(found.missing)")
    table.button(f"Go on: {missing} runs missing").click()
    expect(table.status).to_have_text("running")
    lab.do("open_gate(1000)")
    expect(table.status).to_have_text("done")
    expect(table.bar).to_have_attribute("value", "48")
    differences = table.root.get_by_role("list", name="Compared with plain").get_by_role("listitem")
    expect(differences).to_contain_text("worse")
    expect(table.root).to_contain_text("<img src=x onerror=")
    assert lab.page.title() != "hacked"

    wrong = table.root.get_by_role("button", name="<i>wrong, case 2, repeat 1: score 0. 69")
    wrong.hover()
    expect(table.root.locator(".ak-e-pointed")).to_contain_text("score 0 · <i>wrong, case 2, repeat 1 · 69")
    wrong.press("Enter")
    expect(table.runs()).to_have_count(1)
    run = table.runs().first
    expect(run.locator("[aria-label^='Entry 1,']")).to_contain_text("69")
    expect(wrong).to_have_attribute("aria-pressed", "true")
    assert table.root.evaluate("root => root.scrollHeight <= root.clientHeight + 1")  # the style of views is not its
    run.get_by_role("button", name="Undo").click()
    run.get_by_role("button", name="Undo").click()
    run.get_by_role("button", name="Step", exact=True).click()
    lab.until("agent_run.entries[-1].kind == 'think'")
    assert lab.ask("agent_run is found['<i>wrong', 2, 1].run") is True

    lab.do("agent_run.edit(1, answer='68'); agent_run.drive()")
    table.button("Score again: 1 changed").click()
    lab.until("found['<i>wrong', 2, 1].scores == {'score': 1.0}")
    changed = table.root.get_by_role("button", name="<i>wrong, case 2, repeat 1: score 1. 68")
    expect(changed).to_have_count(1)
    table.button("Close <i>wrong, case 2, repeat 1").click()
    expect(table.runs()).to_have_count(0)
    expect(changed).to_have_attribute("aria-pressed", "false")


def test_what_python_does_is_shown_and_the_other_way_round(lab: Notebook) -> None:
    table = Table(lab.open(SETUP, BEGIN))
    lab.do("open_gate(3)")
    expect(table.bar).to_have_attribute("value", "3")
    lab.do("threading.Thread(target=found.stop).start(); time = __import__('time'); time.sleep(.2); open_gate(4)")
    expect(table.status).to_have_text("stopped")
    lab.do("found.begin(); open_gate(1000); None")
    expect(table.status).to_have_text("done")
    failed = table.root.get_by_role("button", name="<i>wrong, case 3, repeat 0: failed")
    expect(failed).to_have_accessible_name(
        "<i>wrong, case 3, repeat 0: failed. RuntimeError: the host <b>is down</b>", ignore_case=False
    )
    table.button("Try again: 2 failed").click()
    lab.until("found.status == 'done' and found.cached == 46")
    expect(table.status).to_have_text("done")


def test_it_asks_before_irreversible_calls(lab: Notebook) -> None:
    table = Table(lab.open(PAYING, "found = experiment(['Pay 5.', 'Pay 6.'], agent)\nfound"))
    expect(table.status).to_have_text("waits for your yes")
    question = table.root.get_by_role("group", name="Question")
    expect(question).to_contain_text("2 runs may call pay (irreversible), at most 2 times in all")
    assert lab.ask("paid") == []
    table.button("Approve, and begin").click()
    expect(table.status).to_have_text("done")
    assert lab.ask("paid") == [5, 5]


def test_marks_are_reached_with_the_arrow_keys(lab: Notebook) -> None:
    table = Table(lab.open(SETUP + "open_gate(1000)\n", BEGIN))
    expect(table.status).to_have_text("done")
    table.root.get_by_role("searchbox").focus()
    table.page.keyboard.press("Tab")
    table.page.keyboard.press("Tab")  # the part that scrolls
    if not table.root.evaluate("() => document.activeElement.matches('[data-cell]')"):
        table.marks.first.focus()
    expect(table.marks.first).to_be_focused()
    for key, position in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowDown", 6), ("ArrowLeft", 5), ("ArrowUp", 1)):
        table.page.keyboard.press(key)
        expect(table.marks.nth(position)).to_be_focused()
    table.page.keyboard.press("End")
    expect(table.marks.nth(3)).to_be_focused()
    table.page.keyboard.press("Enter")
    expect(table.runs()).to_have_count(1)
    assert lab.executed(1) and len(lab) == 2


def test_rows_are_sorted_and_filtered(lab: Notebook) -> None:
    table = Table(lab.open(SETUP + "open_gate(1000)\n", BEGIN))
    expect(table.status).to_have_text("done")
    rows = table.root.get_by_role("table", name="Runs by case and variant").get_by_role("rowheader")
    expect(rows).to_have_count(12)
    table.root.get_by_label("Show", exact=True).select_option("lost against the first")
    expect(rows).to_have_text([f"{n - 2} What is {n} * 17? −1" for n in (4, 5, 8, 12)])
    table.root.get_by_role("searchbox").fill("is down")
    expect(rows).to_have_text(["3 What is 5 * 17? −1"])
    table.root.get_by_role("searchbox").fill("")
    table.root.get_by_label("Show", exact=True).select_option("all cases")
    table.root.get_by_label("Sort", exact=True).select_option("problems first")
    expect(rows.first).to_have_text("3 What is 5 * 17? −1")


def test_a_reload_and_a_dead_kernel_leave_the_table(lab: Notebook) -> None:
    table = Table(lab.open(SETUP, BEGIN))
    lab.do("open_gate(20)")
    expect(table.bar).to_have_attribute("value", "20")
    lab.do("open_gate(1000); found.wait(); None")
    expect(table.status).to_have_text("done")
    lab.until("'48 done' in str(__import__('agentkit.notebook.table').notebook.table.view(found).moments._newest.data)")
    lab.page.wait_for_timeout(500)
    saved = lab.save()
    [output] = saved.cells[1].outputs
    assert "application/vnd.jupyter.widget-view+json" not in output.data
    assert "48 done" in output.data["text/html"] and "worse" in output.data["text/plain"]
    lab.reload()
    again = lab.output(1).locator(".ak-e-table").first
    expect(again.locator(".ak-e-table-status")).to_have_text("done")
    lab.restart()
    expect(lab.output(1)).to_contain_text("48 done")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_looks_of_the_table(
    lab: Notebook, jupyter_server: Jupyter, theme: str, shot: Callable[[str], None]
) -> None:
    jupyter_server.theme(theme)
    lab.page.set_viewport_size({"width": 1700, "height": 1300})
    table = Table(lab.open(SETUP, BEGIN))
    lab.do("open_gate(30)")
    expect(table.bar).to_have_attribute("value", "30")
    for state, width in (("running", 1280), ("done", 1280), ("done", 390)):
        if state == "done":
            lab.do("open_gate(1000)")
            expect(table.status).to_have_text("done")
            expect(table.root.get_by_role("list", name="Compared with plain")).to_be_visible()
        table.root.evaluate("(root, width) => { root.style.width = `${width}px` }", width)
        table.root.scroll_into_view_if_needed()
        table.page.wait_for_timeout(300)
        shot(f"{state}-{width}")
        assert table.root.evaluate("root => root.scrollWidth <= root.clientWidth + 1")
        assert not table.problems(), table.problems()
