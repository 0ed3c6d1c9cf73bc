"""A run that is controlled in a view and in Python at the same time: each side sees what the other does."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from view.conftest import TIMEOUT, Viewed, calling, paused

from agentkit import Act, Agent, Answer, Call, Chat, Reply, Run, Think, tool
from agentkit.core.messages import user
from agentkit.errors import UsageError
from agentkit.models.base import Abilities, Chunk
from agentkit.models.scripted import in_pieces as pieces

pytestmark = pytest.mark.slow

View = Callable[..., Viewed]
BOTH = Reply("Both.", (Call("price", {"item": "a"}, "1"), Call("price", {"item": "bb"}, "2")))


@tool(effect="pure")
def price(item: str) -> int:
    """Look up the price of an item."""
    return len(item)


@contextlib.contextmanager
def in_update(viewed: Viewed, name: str) -> Iterator[threading.Event]:
    """Hold a view in the middle of an update until the block is over or the event is set; `name` is the run's variable."""
    is_held, release = threading.Event(), threading.Event()

    def variable_name(run: Run) -> str:
        is_held.set()
        release.wait(TIMEOUT)
        return name

    viewed.screen.variable_name = variable_name  # type: ignore[method-assign]
    assert is_held.wait(TIMEOUT)
    yield release
    release.set()


class EndlessModel:
    """A model that asks for a price and then streams for ever; each piece is the number of the model call."""

    abilities = Abilities(tools=True, stream=True)

    def __init__(self) -> None:
        self.calls = 0
        self.is_over = threading.Event()

    def __call__(self, request: Any) -> Iterator[Chunk]:
        self.calls += 1
        return iter(pieces(calling("price", item="tea"), 2)) if self.calls == 1 else self._stream(f"{self.calls} ")

    def _stream(self, text: str) -> Iterator[Chunk]:
        while not self.is_over.wait(0.005):
            yield Chunk(text=text)


def test_the_pieces_of_an_abandoned_call_do_not_mix_with_those_of_the_next_one(view: View) -> None:
    model = EndlessModel()
    viewed = view(Agent(model, [price], journal="memory").start("Go.", paused=True))
    viewed.execute("play")
    viewed.until(lambda: "2 " in viewed.screen.streaming.get(("", 2), ""))
    viewed.run.edit(2, text="another price")
    viewed.until(lambda: viewed.screen.streaming.get(("", 2), "").count("3 ") > 3)
    text = viewed.screen.streaming["", 2]
    viewed.execute("stop")
    model.is_over.set()
    assert set(text.split()) == {"3"}


def test_a_view_counts_the_branches_of_its_run(view: View) -> None:
    viewed = view(paused(BOTH, "done", "again", tools=[price]))
    viewed.settle("step", "step_over", "step")
    viewed.run.rewind(1)
    viewed.until(lambda: viewed.screen.head["branches"] == len(viewed.run.branches()) == 2)
    fork = view(viewed.run.fork(0))
    viewed.until(lambda: fork.screen.head["branches"] == len(fork.run.branches()) == 2)
    fork.settle("step")  # the model is called again, which makes a branch
    viewed.until(lambda: viewed.screen.head["branches"] == len(viewed.run.branches()) == 3)
    viewed.until(lambda: fork.screen.head["branches"] == len(fork.run.branches()) == 2)


def test_the_hundredth_retry_of_a_step_takes_as_little_data_as_the_second(view: View) -> None:
    viewed = view(paused(*map(str, range(110)), tools=[price]))
    for _ in range(100):
        next(viewed.run)
        viewed.run.undo()
    viewed.until(lambda: viewed.feed.siblings.size > 100 and len(viewed.screen.cards) == 1)
    before = len(viewed.screen.messages)
    next(viewed.run)
    viewed.until(lambda: [len(card.get("siblings") or ()) for card in viewed.screen.cards[1:]] == [101])
    assert sum(len(str(message)) for message in viewed.screen.messages[before:]) < 10_000


def test_a_page_that_was_requested_before_a_switch_contains_the_cards_after_it(view: View) -> None:
    run = paused(*[calling("price", item="tea")] * 300, tools=[price], max_iterations=200)
    run.drive()
    run.edit(1, text="On another branch.", calls=[Call("price", {"item": "milk"}, "x")])
    run.drive()
    viewed, (here, there) = view(run), run.branches()
    with in_update(viewed, "run"):
        viewed.dispatcher.take({"t": "cmd", "v": 1, "cid": "page", "cmd": "page", "before": 100, "count": 50})
        viewed.until(lambda: viewed.feed._replies)
        run.rewind(there[-1])
    viewed.until(lambda: "page" in viewed.screen.answers)
    cards = viewed.screen.answers["page"]["result"]["cards"]
    assert viewed.screen.cards[-1]["id"] == there[-1].id != here[-1].id
    assert [card["id"] for card in cards] == [entry.id for entry in there[50:100]]


def with_clock(task: Any) -> Any:
    """Tell the model the time, which differs whenever the engine is replayed."""
    chat = Chat.of(task)
    chat += yield Think(chat + user(f"It is {time.monotonic()}."))
    chat += yield Think(chat)
    return Answer("done", chat)


def test_a_thought_that_is_already_shown_is_marked_when_its_request_changes(view: View) -> None:
    viewed = view(paused("first", "second", engine=with_clock))
    viewed.settle("step", "step")
    assert "drifted" not in viewed.screen.cards[1]
    viewed.run.undo()  # the engine is replayed at another time
    viewed.until(lambda: len(viewed.screen.cards) == 2 and viewed.screen.cards[1].get("drifted"))


def test_the_task_cannot_be_retried(view: View) -> None:
    viewed = view(paused("first", "second"))
    viewed.settle("step")
    with pytest.raises(LookupError, match="can be retried"):
        viewed.execute("retry", entry=viewed.run.entries[0].id)
    assert len(viewed.run) == 2


def test_retrying_a_step_of_a_playing_run_does_not_pause_it(view: View) -> None:
    bell = threading.Event()

    def slow() -> str:
        """Wait for the bell."""
        bell.wait(TIMEOUT)
        return "rung"

    viewed = view(paused(calling("slow"), calling("slow"), "done", tools=[tool(slow, effect="pure")]))
    viewed.execute("play")
    viewed.until(lambda: len(viewed.screen.cards) == 2)
    viewed.dispatcher.take({"t": "cmd", "v": 1, "cid": "again", "cmd": "retry", "entry": viewed.screen.cards[1]["id"]})
    viewed.until(lambda: "again" in viewed.screen.answers)
    bell.set()
    viewed.until(lambda: viewed.run.status == "done")


def test_a_stop_cancels_a_step_that_is_still_queued(view: View) -> None:
    bell, calls = threading.Event(), []

    def slow() -> str:
        """Wait for the bell."""
        calls.append(bell.wait(TIMEOUT))
        return "rung"

    viewed = view(paused(calling("slow"), "done", tools=[tool(slow, effect="pure")]))
    viewed.execute("play")
    viewed.until(lambda: len(viewed.screen.cards) == 2)
    viewed.dispatcher.take({"t": "cmd", "v": 1, "cid": "step", "cmd": "step"})
    viewed.until(lambda: viewed.screen.head["status"] == "pausing")
    viewed.execute("stop")
    viewed.until(lambda: "step" in viewed.screen.answers and viewed.run.status != "running")
    bell.set()
    assert viewed.run.status == "stopped" and len(viewed.run) == 2


def buying(task: Any) -> Any:
    """Call a tool without a thought that asks for it."""
    chat = Chat.of(task)
    chat += yield Act(Call("price", {"item": "tea"}, "1"))
    chat += yield Think(chat)
    return Answer("done", chat)


def test_a_call_of_the_engine_itself_is_distinguished_from_one_that_a_thought_asked_for(view: View) -> None:
    viewed = view(paused("done", engine=buying, tools=[price]))
    assert [step["own"] for step in viewed.screen.head["pending"]] == [True]
    with pytest.raises(LookupError, match="the engine calls"):
        viewed.execute("edit", entry=None, change={"arguments": {"item": "cake"}})
    viewed = view(paused(BOTH, tools=[price]))
    viewed.settle("step")
    assert [step["own"] for step in viewed.screen.head["pending"]] == [False, False]


def test_a_fork_that_cannot_be_shown_is_discarded(view: View) -> None:
    viewed = view(paused("done"))

    def show(run: Run) -> None:
        raise UsageError("there is no room")

    viewed.screen.show = show  # type: ignore[method-assign]
    journal: Any = viewed.run.trace.journal
    before = len(journal.runs())
    with pytest.raises(LookupError, match="no room"):
        viewed.execute("fork", entry=viewed.run.entries[0].id)
    assert len(journal.runs()) == before


def test_a_view_whose_update_failed_answers_commands_and_is_reset_later(view: View) -> None:
    viewed = view(paused("done"))
    original, is_repaired = viewed.screen.variable_name, threading.Event()

    def variable_name(run: Run) -> str:
        if not is_repaired.is_set():
            raise RuntimeError("the shell is gone")
        return original(run)

    viewed.screen.variable_name = variable_name  # type: ignore[method-assign]
    next(viewed.run)
    assert viewed.execute("branches")
    is_repaired.set()
    viewed.until(lambda: len(viewed.screen.cards) == 2 and viewed.screen.head["can"]["undo"])


def test_nothing_is_sent_after_a_view_is_closed(view: View) -> None:
    viewed = view(paused("done"))
    with in_update(viewed, "another") as release:
        threading.Timer(0.1, release.set).start()
        viewed.feed.close()
    before = len(viewed.screen.messages)
    time.sleep(0.3)
    assert len(viewed.screen.messages) == before


def test_a_view_is_updated_while_a_slow_engine_is_replayed(view: View, caplog: pytest.LogCaptureFixture) -> None:
    delays: list[float] = []

    def slow_engine(task: Any, *, tools: Any = ()) -> Any:
        chat = Chat.of(task)
        time.sleep(sum(delays))
        thought = yield Think(chat, tools)
        chat += thought
        chat += yield Act.each(thought.calls)
        return Answer("done", chat)

    viewed = view(paused(BOTH, engine=slow_engine, tools=[price]))
    viewed.settle("step")
    delays.append(4.0)
    viewed.execute("rewind", entry=viewed.run.entries[0].id)
    viewed.until(lambda: len(viewed.screen.cards) == len(viewed.screen.head["pending"]) == 1)
    assert not caplog.records


def test_a_run_that_was_stopped_while_paused_is_paused_after_a_step() -> None:
    run = paused("first", "second")
    run.stop()
    next(run)
    assert run.status == "paused"
