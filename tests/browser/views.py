"""The live view on a page, so that a test reads like what a person does."""

from __future__ import annotations

from browser.pages import Notebook, eventually
from playwright.sync_api import Locator, TimeoutError, expect

SHOP = """
import threading
from agentkit import Agent, Call, Loop, Reply, tool
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

bell = threading.Event()

@tool(effect="pure")
def price(item: str) -> str:
    "Look up a price."
    return {"tea": "3.2"}.get(item, f"no price for {item}")

@tool
def order(item: str) -> str:
    "Order an item."
    return f"ordered {item}"

@tool(effect="pure")
def wait() -> str:
    "Wait for the bell."
    bell.wait(30)
    return "rung"

replies = [Reply("I look at the tea.", (Call("price", {"item": "tea"}, "1"),)), "Tea is 3.2.", "Really.", "Yes."]
model = Scripted(replies, abilities=Abilities(tools=True))
run = Agent(model, [price, order, wait], approve=["order"]).start("What is the tea?", paused=True)
"""


PICTURES = """
from agentkit import Answer, Chat, Conclude, Think

def pictured(engine):
    return Agent(Scripted(["one", "two", "three", "four", "five", "six"]), engine=engine).start("Think.", paused=True)

def planning(task):
    chat, plan = Chat.of(task), ("look at the menu", "choose what is cheap", "order it", "say what it cost")
    yield Think(chat, role="plan")
    yield Think(chat, tags={"plan": plan, "plan_step": 1})
    yield Think(chat, tags={"plan": plan, "plan_step": 2})
    yield Think(chat, tags={"plan": plan, "plan_step": 4, "plan_states": {2: "failed", 3: "skipped"}})
    return Answer("over", chat)

def trying(task):
    chat = Chat.of(task)
    for episode, score in ((1, 0.2), (2, 0.9)):
        yield Think(chat, tags={"episode": episode})
        yield Think(chat, role="evaluate", tags={"episode": episode})
        yield Think(chat, role="reflect", tags={"episode": episode, "score": score, "ok": score > 0.5})
    return Answer("over", chat)

def branching(task):
    chat = Chat.of(task)
    for node in ("1", "2"):
        yield Think(chat, role="propose", tags={"node": node, "parent": ""})
        yield Think(chat, role="evaluate", tags={"node": node})
    known = {"scores": {"1": 3, "2": 8}, "pruned": ["1"], "chosen": ["2"]}
    yield Think(chat, role="propose", tags={"node": "2.1", "parent": "2", **known})
    return Answer("over", chat)
"""


class View:
    """The view in the output of a cell; runs that cell, and before it the cells `after`, unless they have run."""

    def __init__(self, notebook: Notebook, cell: int, after: tuple[int, ...] = (0,)) -> None:
        self.notebook, self.page = notebook, notebook.page
        for number in (*after, cell):
            if not notebook.executed(number):
                notebook.run(number)
                notebook.done(number)
        self.root: Locator = notebook.output(cell).locator(".ak-root").first
        self.ask, self.do, self.until = notebook.ask, notebook.do, notebook.until

    def press(self, name: str) -> None:
        """Press a button of the toolbar."""
        self.root.get_by_role("toolbar").get_by_role("button", name=name, exact=True).click()

    def status(self, status: str) -> None:
        """Wait until the view shows a status."""
        expect(self.root.locator(".ak-status")).to_have_text(status)

    def card(self, number: int) -> Locator:
        """Return the entry at a position of the trace."""
        return self.root.locator(f"[aria-label^='Entry {number},']")

    def act(self, number: int, name: str) -> None:
        """Press one of the small buttons of an entry."""
        card = self.card(number)

        def pressed() -> bool:
            card.hover()
            try:
                card.get_by_role("button", name=name).first.click(timeout=2_000)
            except TimeoutError:
                return False  # the page moved in the meantime: a person would try again
            return True

        eventually(pressed, f"{name} of entry {number} was pressed")

    def edit(self, number: int, text: str, reason: str = "") -> None:
        """Replace the text of an entry."""
        self.act(number, "Edit")
        form = self.root.get_by_label("Edit", exact=True)
        form.get_by_role("textbox").first.fill(text)
        if reason:
            form.get_by_label("Reason").fill(reason)
        self.page.keyboard.press("Control+Enter")

    def inject(self, text: str) -> None:
        """Send a message to the model."""
        self.press("Inject")
        self.root.get_by_label("Message to the model").fill(text)
        self.page.keyboard.press("Control+Enter")
