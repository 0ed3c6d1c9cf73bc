"""A view without a browser: it keeps what it was sent, and draws it as the browser's store does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from splitting import split

from agentkit import Agent, Call, Reply, Run
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted
from agentkit.view.feed import Feed
from agentkit.view.hand import Hand

Data = dict[str, Any]
PATIENCE = 10.0


class Screen:
    """A place that shows a run: it applies every message, and refuses what a browser could not apply."""

    def __init__(self) -> None:
        self.messages: list[Data] = []
        self.answers: dict[str, Data] = {}
        self.cards: list[Data] = []
        self.map = ""
        self.head: Data = {}
        self.pictures: Data = {}
        self.streaming: dict[tuple[str, int], str] = {}
        self.first = self.total = self.seq = 0
        self.rests: list[str] = []
        self.shown: list[Run] = []
        self.cells: list[Data] = []
        self.name = "run"

    def send(self, message: Data) -> None:
        self.messages.append(message)
        if message["t"] in ("ack", "nak"):
            self.answers[message["cid"]] = message
        if "seq" not in message:
            return
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
            self.first = min(self.first, event["keep"])  # what stood before that was not asked for
            self.cards[event["keep"] - self.first :] = event["cards"]
            self.total, self.map = event["total"], self.map[: event["keep"]] + event["map"]
            for card in event["cards"]:
                self.streaming.pop((card["path"], card["index"]), None)
        elif kind == "siblings":
            for card in self.cards:
                card["siblings"] = event["of"].get(str(card["id"]), card.get("siblings"))
        elif kind == "delta":
            place = event["path"], event["index"]
            self.streaming[place] = self.streaming.get(place, "") + event["text"]
        elif kind == "undelta":
            self.streaming.pop((event["path"], event["index"]), None)
        else:
            setattr(self, kind, event[kind])

    def rest(self, status: str, seq: int) -> None:
        self.rests.append(status)

    def variable(self, run: Run) -> str:
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
        self.rests.append("frozen")


class Viewed:
    """A run, its screen, and a hand to act with."""

    def __init__(self, run: Run) -> None:
        self.run, self.screen = run, Screen()
        self.feed = Feed(run, self.screen)
        self.hand = Hand(self.feed)
        self.feed.hello()
        self.until(lambda: self.screen.head)

    def do(self, cmd: Any, **more: Any) -> Any:
        """Give a command, and its result once it is there; a refusal is raised as text."""
        cid = f"{cmd}-{len(self.screen.messages)}-{time.monotonic()}"
        self.hand.take({"t": "cmd", "v": 1, "cid": cid, "cmd": cmd, **more})
        self.until(lambda: cid in self.screen.answers)
        answer = self.screen.answers[cid]
        if answer["t"] == "nak":
            raise LookupError(answer["error"])
        return answer["result"]

    def settle(self, *commands: str) -> None:
        """Give commands one after the other, each when the run rests again."""
        for command in commands:
            self.do(command)
            self.until(lambda: self.run.status != "running")
        self.until(lambda: self.screen.head["status"] == self.run.status and self.screen.total == len(self.run))

    def until(self, true: Callable[[], Any]) -> None:
        """Wait until something is so."""
        end = time.monotonic() + PATIENCE
        while not true():
            assert time.monotonic() < end, f"never so: {self.screen.head.get('status')}, {self.screen.messages[-1:]}"
            time.sleep(0.005)


@pytest.fixture
def view() -> Iterator[Callable[[Run], Viewed]]:
    """Show runs."""
    shown: list[Viewed] = []

    def show(run: Run) -> Viewed:
        shown.append(Viewed(run))
        return shown[-1]

    yield show
    for each in shown:
        each.feed.close()


def asks(name: str, text: str = "", **arguments: Any) -> Reply:
    """A reply that asks for one tool."""
    return Reply(text or f"I ask {name}.", (Call(name, arguments, f"{name}-{len(arguments)}"),))


def paused(*replies: Any, tools: Any = (), **options: Any) -> Run:
    """A paused run of a scripted model with native tool calls."""
    model = Scripted(list(replies), abilities=Abilities(tools=True))
    return Agent(model, list(tools), journal=options.pop("journal", "memory"), **split(options)).start(
        "Go.", paused=True
    )
