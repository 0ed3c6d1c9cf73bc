"""How quick the page of a run is: from a click on Step to the entry that it performed, over a websocket.

A server in a process of its own, its page in a real Chromium on this machine, a model and a tool that cost nothing. The
clock is that of the page: from the click (made by script, so without the mouse) to the entry in the page, and until the
browser has drawn it. "On the wire" is the same step asked for by a program, without a page.

    python tests/benchmarks/socket_click.py [CLICKS]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from browser.chromium import chromium
from playwright.sync_api import Page
from rich.console import Console
from rich.table import Table
from websockets.sync.client import connect

WARM = 20

SERVER = """
import sys
from agentkit import Agent, Call, Loop, Reply, tool
from agentkit.models.base import Abilities
from agentkit.serve import Server, app

@tool(effect="pure")
def price(item: str) -> str:
    "Look up a price."
    return "3.2"

class Turns:
    "Ask for the same call again and again."
    name, abilities, calls = "turns", Abilities(tools=True), 0
    def __call__(self, request):
        self.calls += 1
        return Reply("I look at the tea.", (Call("price", {"item": "tea"}, f"c{self.calls}"),))

agent = Agent(Turns(), [price], journal=sys.argv[1], engine=Loop("react", max_iterations=100_000))
server = Server(app(agent), "127.0.0.1", 0)
for _ in range(2):
    print(server.show(agent.start("Go.", paused=True), browser=False), flush=True)
sys.stdin.read()
"""

CLICK = """(step) => new Promise((done) => {
  const root = document.querySelector('.ak-root');
  const button = root.querySelector('[aria-label=Step]');
  const press = () => {
    if (button.getAttribute('aria-disabled') === 'true') return setTimeout(press, 2);
    const start = performance.now();
    const changes = new MutationObserver(() => {
      if (!root.querySelector(`[data-n="${step}"]`)) return;
      changes.disconnect();
      const shown = performance.now() - start;
      requestAnimationFrame(() => setTimeout(() => done([shown, performance.now() - start])));
    });
    changes.observe(root, { subtree: true, childList: true });
    button.click();
  };
  press();
})"""


def main() -> None:
    clicks = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    table = Table("ms", "p50", "p95", "largest", title=f"from the click to the entry, {clicks} steps")
    for journal in ("memory", "sqlite"):
        with server(journal) as (first, second):
            wire = on_the_wire(first, clicks)
            with chromium() as browser:
                shown, drawn = zip(*in_the_page(browser.new_page(), second, clicks), strict=True)
        for name, times in (("on the wire", wire), ("in the page", shown), ("drawn", drawn)):
            row = [statistics.median(times), statistics.quantiles(times, n=20)[-1], max(times)]
            table.add_row(f"{name}, journal {journal}", *(f"{value:.1f}" for value in row))
    Console(width=100).print(table)


@contextmanager
def server(journal: str) -> Iterator[list[str]]:
    """Yield the addresses of the pages of two runs."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", SERVER, "memory" if journal == "memory" else f"{folder}/runs.db"]
        env = {**os.environ, "AGENTKIT_HOME": folder}
        with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None and process.stdout is not None
            yield [process.stdout.readline().strip() for _ in range(2)]
            process.stdin.close()


def in_the_page(page: Page, address: str, clicks: int) -> list[tuple[float, float]]:
    """Return how long each step took until its entry was in the page, and until it was drawn."""
    page.goto(address)
    page.locator(".ak-root [aria-label=Step]").wait_for()
    times = [page.evaluate(CLICK, step) for step in range(1, WARM + clicks + 1)]
    return times[WARM:]


def on_the_wire(address: str, clicks: int) -> list[float]:
    """Return how long each step took from the command to the message with its entry, in milliseconds."""
    times: list[float] = []
    start = 0.0
    with connect(address.replace("http", "ws").replace("/view?", "/socket?"), max_size=None) as socket:
        socket.send(json.dumps({"t": "hello", "v": 1, "have": 0, "can": {}, "unanswered": []}))
        total, status, number = 0, "", 0
        while number < WARM + clicks:
            while status != "paused" or total <= number:
                frame = json.loads(socket.recv(30)).get("custom", {})
                for event in [frame, *frame.get("ev", ())]:
                    total = event.get("total", total)
                    status = event.get("head", {}).get("status", status)
            if number:
                times.append((time.perf_counter() - start) * 1_000)
            number, status = number + 1, ""
            start = time.perf_counter()
            socket.send(json.dumps({"t": "cmd", "v": 1, "cid": str(number), "cmd": "step"}))
    return times[WARM - 1 :]


if __name__ == "__main__":
    main()
