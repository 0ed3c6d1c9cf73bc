"""A view without a browser: it applies the messages that it receives as the store of the browser does."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from splitting import split

from agentkit import Agent, Call, Reply, Run
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted
from agentkit.view.dispatcher import Dispatcher
from agentkit.view.feed import Feed

Data = dict[str, Any]
TIMEOUT = 10.0


class Screen:
    """A page that shows a run: it applies every message, and fails if a browser could not apply one."""

    refuses = frozenset[str]()

    def __init__(self) -> None:
        self.messages: list[Data] = []
        self.answers: dict[str, Data] = {}
        self.cards: list[Data] = []
        self.map = ""
        self.head: Data = {}
        self.pictures: Data = {}
        self.streaming: dict[tuple[str, int], str] = {}
        self.first = self.total = self.seq = 0
        self.idle_statuses: list[str] = []
        self.is_frozen = False
        self.shown: list[Run] = []
        self.cells: list[Data] = []
        self.name = "run"

    def send(self, message: Data) -> None:
        self.messages.append(message)
        if message["t"] in ("ack", "nak"):
            self.answers[message["cid"]] = message
        assert message["seq"] == self.seq + 1 or message["t"] == "reset", "a message was lost"
        self.seq = message["seq"]
        if message["t"] == "reset":
            self.cards, self.first, self.total = list(message["cards"]), message["first"], message["total"]
            self.map, self.head, self.pictures = message["map"], message["head"], message["pictures"]
            self.streaming = {(s["path"], s["index"]): s["text"] for s in message["streaming"]}
        for event in message.get("ev", ()):
            self._apply(event)

    def _apply(self, event: Data) -> None:
        kind = event["k"]
        if kind == "line":
            assert event["keep"] <= self.first + len(self.cards), "a card is missing"
            self.first = min(self.first, event["keep"])  # earlier cards have not been loaded
            del self.cards[event["keep"] - self.first :]
            if event["first"] > event["keep"]:  # nor have those that were left out
                self.first, self.cards = event["first"], []
            self.cards += event["cards"]
            self.total, self.map = event["total"], self.map[: event["keep"]] + event["map"]
        elif kind == "siblings":
            for card in self.cards:
                card["siblings"] = event["of"].get(str(card["id"]), card.get("siblings"))
        elif kind == "delta":
            position = event["path"], event["index"]
            self.streaming[position] = self.streaming.get(position, "") + event["text"]
        elif kind == "undelta":
            self.streaming.pop((event["path"], event["index"]), None)
        else:
            setattr(self, kind, event[kind])

    def idle(self, status: str, seq: int) -> None:
        self.idle_statuses.append(status)

    def variable_name(self, run: Run) -> str:
        return self.name

    def predicate(self, text: str) -> Callable[[Any], Any]:
        return {"failed": lambda entry: entry.kind == "act" and not entry.result.ok}[text]

    def show(self, run: Run) -> None:
        self.shown.append(run)

    def insert(self, cells: list[Data]) -> Future[int]:
        self.cells += cells
        done: Future[int] = Future()
        done.set_result(len(cells))
        return done

    def freeze(self) -> None:
        self.is_frozen = True


class Person:
    """The person in front of a screen, who sends commands and waits."""

    screen: Any
    dispatcher: Dispatcher
    patience = TIMEOUT

    def execute(self, cmd: Any, **arguments: Any) -> Any:
        """Send a command, and return its result. Raises `LookupError` with the text of a refusal."""
        cid = f"{cmd}-{uuid.uuid4()}"
        self.dispatcher.take({"t": "cmd", "v": 1, "cid": cid, "cmd": cmd, **arguments})
        self.until(lambda: cid in self.screen.answers)
        answer = self.screen.answers[cid]
        if answer["t"] == "nak":
            raise LookupError(answer["error"])
        return answer["result"]

    def until(self, condition: Callable[[], Any]) -> None:
        """Wait until a condition is true."""
        end = time.monotonic() + self.patience
        while not condition():
            assert time.monotonic() < end, f"never true; the last message: {self.screen.messages[-1:]}"
            time.sleep(0.005)


class Viewed(Person):
    """A run, the screen that shows it, and the commands of the person in front of it."""

    def __init__(self, run: Run) -> None:
        self.run, self.screen = run, Screen()
        self.feed = Feed(run, self.screen)
        self.dispatcher = Dispatcher(self.feed)
        self.feed.hello()
        self.until(lambda: any(message["t"] == "reset" for message in self.screen.messages))

    def settle(self, *commands: str) -> None:
        """Send commands one after the other, each as soon as the run has stopped running."""
        for command in commands:
            self.execute(command)
            self.until(lambda: self.run.status != "running")
        self.until(lambda: self.screen.head["status"] == self.run.status and self.screen.total == len(self.run))


@pytest.fixture
def view() -> Iterator[Callable[[Run], Viewed]]:
    """Return a function that shows a run."""
    shown: list[Viewed] = []

    def show(run: Run) -> Viewed:
        shown.append(Viewed(run))
        return shown[-1]

    yield show
    for viewed in shown:
        viewed.feed.close()


def calling(name: str, text: str = "", **arguments: Any) -> Reply:
    """Return a reply that calls one tool."""
    return Reply(text or f"I call {name}.", (Call(name, arguments, f"{name}-{len(arguments)}"),))


def paused(*replies: Any, tools: Any = (), **options: Any) -> Run:
    """Return a paused run of a scripted model with native tool calls."""
    model = Scripted(list(replies), abilities=Abilities(tools=True))
    return Agent(model, list(tools), journal=options.pop("journal", "memory"), **split(options)).start(
        "Go.", paused=True
    )
