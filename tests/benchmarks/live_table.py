"""What the live table of an experiment costs: CPU per update in the kernel, and the time of the page's main thread.

In the kernel, 20 runs end between two updates. An update without figures is what is sent at most twice a second; figures
need all cells, and are computed so rarely that they take at most a twentieth of the time. In the page, a real JupyterLab
and a real Chromium show an experiment of 2,000 runs while it goes on.

    python tests/benchmarks/live_table.py [--kernel-only]
"""

from __future__ import annotations

import sys
import tempfile
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from rich.console import Console
from rich.table import Table

from agentkit import Agent, Reply, experiment
from agentkit.experiments.outcome import SCORED, Outcome
from agentkit.view.table import TableFeed
from agentkit.view.wire import CLOCK

SIZES = (200, 2_000, 20_000)
UPDATES, CHANGES = 30, 20

NOTEBOOK = """
import time
from agentkit import Agent, Reply, experiment

def model(request):
    time.sleep(0.1)
    return Reply("FINAL_ANSWER: 1")

agents = {"one": Agent(model, journal=None), "other": Agent(model, journal=None)}
"""
BEGIN = """
found = experiment([f"Task {n}" for n in range(500)], agents, score=lambda r, c: 1, repeats=2, on=10)
found
"""


class Page:
    """A page that takes all messages."""

    def send(self, message: Any) -> None:
        pass

    def idle(self, status: str, seq: int) -> None:
        pass


def asks_first(cells: int) -> Any:
    """Return an experiment of so many runs that has not begun."""
    from agentkit import tool

    @tool(effect="irreversible")
    def pay() -> str:
        """Pay."""
        return "paid"

    agent = Agent(lambda request: Reply("1"), [pay], journal=None)
    return experiment([f"Task {n}" for n in range(cells // 2)], {"a": agent, "b": agent}, score=lambda r, c: 1)


def kernel(cells: int) -> list[str]:
    """Return what updates of a table of so many cells cost."""
    found, page = asks_first(cells), Page()
    found.question, found._working = "", Future()  # as if it were running
    feed = TableFeed(found, page)  # type: ignore[arg-type]
    CLOCK.remove(feed.update)
    plain, figures, at = [], [], 0
    for _ in range(UPDATES):
        for times, due in ((plain, float("inf")), (figures, 0.0)):
            for cell in found.cells[at : at + CHANGES]:
                found._set(cell, Outcome(cell.run_name, SCORED, scores={"score": 1.0}, answer=f"{due}", calls=1))
            feed._latest, feed._figures_due = 0.0, due
            began = time.thread_time()
            feed.update()
            times.append(time.thread_time() - began)
        at = (at + CHANGES) % (cells - CHANGES)
    middle = UPDATES // 2
    return [f"{cells:,}", *(f"{1000 * sorted(times)[middle]:.2f} ms" for times in (plain, figures))]


def in_a_page() -> list[tuple[str, str]]:
    """Return what a page does while it shows 2,000 runs that go on."""
    from browser.chromium import chromium
    from browser.pages import Notebook
    from browser.servers import jupyter

    with tempfile.TemporaryDirectory() as folder, jupyter(Path(folder)) as server, chromium() as browser:
        page = browser.new_context(viewport={"width": 1280, "height": 1000}).new_page()
        server.theme("light")
        lab = Notebook(page, server, "lab", server.root / "bench")
        lab.open(NOTEBOOK, BEGIN)
        lab.run(0)
        lab.done(0)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        lab.run(1)
        lab.output(1).locator(".ak-e-table").first.wait_for()
        page.evaluate(LONG_TASKS)
        before, began = metrics(session), time.monotonic()
        cpu = lab.ask("__import__('time').process_time()")
        page.wait_for_timeout(15_000)
        after, took = metrics(session), time.monotonic() - began
        used = lab.ask("__import__('time').process_time()") - cpu
        longest = page.evaluate("() => Math.max(0, ...window.longTasks)")
        done = lab.ask("len(found.cells) - len(found.missing)")
        lab.do("found.stop(); None")
        lab.close()
    busy = {name: 100 * (after[name] - before[name]) / took for name in ("TaskDuration", "ScriptDuration")}
    return [
        ("runs that ended in the meantime", f"{done:,}"),
        ("main thread of the page busy", f"{busy['TaskDuration']:.1f} %, {busy['ScriptDuration']:.1f} % of it scripts"),
        ("longest task of the page", f"{longest:.0f} ms"),
        ("CPU of the kernel, runs included", f"{100 * used / took:.0f} %"),
    ]


LONG_TASKS = """() => {
  window.longTasks = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.longTasks.push(entry.duration);
  }).observe({ entryTypes: ["longtask"] });
}"""


def metrics(session: Any) -> dict[str, float]:
    """Return the counters of the page."""
    return {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}


if __name__ == "__main__":
    console = Console()
    table = Table("cells", "update of 20 changes", "with figures", title="CPU in the kernel")
    for size in SIZES:
        table.add_row(*kernel(size))
    console.print(table)
    if "--kernel-only" not in sys.argv:
        table = Table("what", "figure", title="A page that shows 2,000 runs, 10 at once")
        for row in in_a_page():
            table.add_row(*row)
        console.print(table)
