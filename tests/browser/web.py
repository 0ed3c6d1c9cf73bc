"""The pages of a server in a real browser, beside the runs in the process of the test."""

from __future__ import annotations

import threading

from browser.views import View
from playwright.sync_api import ConsoleMessage, Page

from agentkit import Agent, Call, Reply, Run, tool
from agentkit.journal.memory import MemoryJournal
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted
from agentkit.serve import Server

BELL = threading.Event()


@tool(effect="pure")
def price(item: str) -> str:
    """Look up a price."""
    return {"tea": "3.2"}.get(item, f"no price for {item}")


@tool
def order(item: str) -> str:
    """Order an item."""
    return f"ordered {item}"


@tool(effect="pure")
def wait() -> str:
    """Wait for the bell."""
    BELL.wait(30)
    return "rung"


def calling(name: str, text: str = "", **arguments: str) -> Reply:
    """Return a reply that calls one tool."""
    return Reply(text or f"I call {name}.", (Call(name, arguments, f"{name}-1"),))


def shop(*replies: Reply | str) -> Agent:
    """Return an agent of a scripted model with three tools, one of which needs approval."""
    script = replies or (calling("price", "I look at the tea.", item="tea"), "Tea is 3.2.", "Really.", "Yes.")
    model = Scripted(list(script), abilities=Abilities(tools=True))
    return Agent(model, [price, order, wait], journal=MemoryJournal(), approve=["order"])


SOCKETS = """
window.sockets = [];
window.WebSocket = class extends WebSocket {
  constructor(url) {
    super(url);
    window.sockets.push(this);
  }
};
"""


def address_of(server: Server, run: Run, token: str = "") -> str:
    """Return the address of the page of a run."""
    return f"{server.url}/runs/{run.id}/view?token={token or server.app.token}"


class WebView(View):
    """The view of a run on its page."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.errors: list[str] = []
        page.add_init_script(SOCKETS)
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.goto(address)
        self.root = page.locator(".ak-root").first

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def drop(self) -> None:
        """Break the line of every socket of the page, as a network does."""
        self.page.evaluate("() => window.sockets.forEach((socket) => socket.close())")
