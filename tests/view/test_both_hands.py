"""A run that is driven in a view and in Python at once: whatever one hand does, the other sees, and nothing else."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from view.conftest import PATIENCE, Viewed, asks, paused

from agentkit import Act, Agent, Answer, Call, Chat, Reply, Run, Think, tool
from agentkit.core.messages import user
from agentkit.errors import UsageError
from agentkit.models.base import Abilities, Chunk
from agentkit.models.scripted import in_pieces as pieces

View = Callable[..., Viewed]
BOTH = Reply("Both.", (Call("price", {"item": "a"}, "1"), Call("price", {"item": "bb"}, "2")))


@tool(effect="pure")
def price(item: str) -> int:
    """Give the price of an item."""
    return len(item)


@contextlib.contextmanager
def looking(viewed: Viewed, name: str) -> Iterator[threading.Event]:
    """Hold a view in the middle of a look, until the event is set or the block is over; it finds the run under that name."""
    held, go = threading.Event(), threading.Event()

    def variable(run: Run) -> str:
        held.set()
        go.wait(PATIENCE)
        return name

    viewed.screen.variable = variable  # type: ignore[method-assign]
    assert held.wait(PATIENCE)
    yield go
    go.set()


class Speaker:
    """A model that asks for a price and then speaks for ever, in pieces that say which of its calls says them."""

    abilities = Abilities(tools=True, stream=True)

    def __init__(self) -> None:
        self.calls = 0
        self.over = threading.Event()

    def __call__(self, request: Any) -> Iterator[Chunk]:
        self.calls += 1
        return iter(pieces(asks("price", item="tea"), 2)) if self.calls == 1 else self._speak(f"{self.calls} ")

    def _speak(self, word: str) -> Iterator[Chunk]:
        while not self.over.wait(0.005):
            yield Chunk(text=word)


def test_a_call_that_was_given_up_is_not_heard_between_the_words_of_the_one_after_it(view: View) -> None:
    model = Speaker()
    viewed = view(Agent(model, [price], journal="memory").start("Go.", paused=True))
    viewed.do("play")
    viewed.until(lambda: "2 " in viewed.screen.streaming.get(("", 2), ""))
    viewed.run.edit(2, text="another price")
    viewed.until(lambda: viewed.screen.streaming.get(("", 2), "").count("3 ") > 3)
    said = viewed.screen.streaming["", 2]
    viewed.do("stop")
    model.over.set()
    assert set(said.split()) == {"3"}


def test_the_branches_that_a_view_counts_are_those_of_the_run(view: View) -> None:
    viewed = view(paused(BOTH, "done", "again", tools=[price]))
    viewed.settle("step", "step_over", "step")
    viewed.run.rewind(1)
    viewed.until(lambda: viewed.screen.head["branches"] == len(viewed.run.branches()) == 2)
    fork = view(viewed.run.fork(0))
    viewed.until(lambda: fork.screen.head["branches"] == len(fork.run.branches()) == 2)
    fork.settle("step")  # the model is asked again: a line of its own
    viewed.until(lambda: viewed.screen.head["branches"] == len(viewed.run.branches()) == 3)
    viewed.until(lambda: fork.screen.head["branches"] == len(fork.run.branches()) == 2)


def test_a_step_that_is_tried_for_the_hundredth_time_is_told_as_shortly_as_the_second_time(view: View) -> None:
    viewed = view(paused(*map(str, range(110)), tools=[price]))
    for _ in range(100):
        next(viewed.run)
        viewed.run.undo()
    viewed.until(lambda: viewed.feed.family.size > 100)
    before = len(viewed.screen.messages)
    next(viewed.run)
    viewed.until(lambda: len(viewed.screen.cards) == 2)
    assert len(viewed.screen.cards[1]["siblings"]) == 101
    assert sum(len(str(message)) for message in viewed.screen.messages[before:]) < 10_000


def test_a_page_that_was_asked_for_before_a_switch_holds_the_cards_that_are_there_after_it(view: View) -> None:
    run = paused(*[asks("price", item="tea")] * 300, tools=[price], max_iterations=200)
    run.drive()
    run.edit(1, text="On another line.", calls=[Call("price", {"item": "milk"}, "x")])
    run.drive()
    viewed, (here, there) = view(run), run.branches()
    with looking(viewed, "run"):
        viewed.hand.take({"t": "cmd", "v": 1, "cid": "page", "cmd": "page", "before": 100, "count": 50})
        viewed.until(lambda: viewed.feed._replies)
        run.rewind(there[-1])
    viewed.until(lambda: "page" in viewed.screen.answers)
    cards = viewed.screen.answers["page"]["result"]["cards"]
    assert viewed.screen.cards[-1]["id"] == there[-1].id != here[-1].id
    assert [card["id"] for card in cards] == [entry.id for entry in there[50:100]]


def asking_the_clock(task: Any) -> Any:
    """Tell the model what time it is."""
    chat = Chat.of(task)
    chat += yield Think(chat + user(f"It is {time.monotonic()}."))
    chat += yield Think(chat)
    return Answer("done", chat)


def test_a_thought_whose_request_has_changed_is_marked_where_it_is_shown_already(view: View) -> None:
    viewed = view(paused("first", "second", engine=asking_the_clock))
    viewed.settle("step", "step")
    assert "drifted" not in viewed.screen.cards[1]
    viewed.run.undo()  # the engine is run again, and asks at another time
    viewed.until(lambda: len(viewed.screen.cards) == 2 and viewed.screen.cards[1].get("drifted"))


def test_the_task_is_no_step_that_could_be_tried_again(view: View) -> None:
    viewed = view(paused("first", "second"))
    viewed.settle("step")
    with pytest.raises(LookupError, match="can be tried again"):
        viewed.do("retry", entry=viewed.run.entries[0].id)
    assert len(viewed.run) == 2


def test_a_step_that_is_tried_again_while_the_run_plays_is_no_pause(view: View) -> None:
    bell = threading.Event()

    def slow() -> str:
        """Wait for the bell."""
        bell.wait(PATIENCE)
        return "rung"

    viewed = view(paused(asks("slow"), asks("slow"), "done", tools=[tool(slow, effect="pure")]))
    viewed.do("play")
    viewed.until(lambda: len(viewed.screen.cards) == 2)
    viewed.hand.take({"t": "cmd", "v": 1, "cid": "again", "cmd": "retry", "entry": viewed.screen.cards[1]["id"]})
    viewed.until(lambda: "again" in viewed.screen.answers)
    bell.set()
    viewed.until(lambda: viewed.run.status == "done")


def test_a_stop_is_the_last_word_on_a_step_that_waits_for_its_turn(view: View) -> None:
    bell, calls = threading.Event(), []

    def slow() -> str:
        """Wait for the bell."""
        calls.append(bell.wait(PATIENCE))
        return "rung"

    viewed = view(paused(asks("slow"), "done", tools=[tool(slow, effect="pure")]))
    viewed.do("play")
    viewed.until(lambda: len(viewed.screen.cards) == 2)
    viewed.hand.take({"t": "cmd", "v": 1, "cid": "step", "cmd": "step"})
    viewed.until(lambda: viewed.screen.head["status"] == "pausing")
    viewed.do("stop")
    viewed.until(lambda: "step" in viewed.screen.answers and viewed.run.status != "running")
    bell.set()
    assert viewed.run.status == "stopped" and len(viewed.run) == 2


def buying(task: Any) -> Any:
    """Look a price up that no model has asked for."""
    chat = Chat.of(task)
    chat += yield Act(Call("price", {"item": "tea"}, "1"))
    chat += yield Think(chat)
    return Answer("done", chat)


def test_a_call_that_the_engine_makes_by_itself_is_told_from_one_that_a_thought_asked_for(view: View) -> None:
    viewed = view(paused("done", engine=buying, tools=[price]))
    assert [step["own"] for step in viewed.screen.head["pending"]] == [True]
    with pytest.raises(LookupError, match="the engine calls"):
        viewed.do("edit", entry=None, change={"arguments": {"item": "cake"}})
    viewed = view(paused(BOTH, tools=[price]))
    viewed.settle("step")
    assert [step["own"] for step in viewed.screen.head["pending"]] == [False, False]


def test_a_fork_that_cannot_be_shown_is_not_begun(view: View) -> None:
    viewed = view(paused("done"))

    def show(run: Run) -> None:
        raise UsageError("there is no room")

    viewed.screen.show = show  # type: ignore[method-assign]
    journal: Any = viewed.run.trace.journal
    before = len(journal.runs())
    with pytest.raises(LookupError, match="no room"):
        viewed.do("fork", entry=viewed.run.entries[0].id)
    assert len(journal.runs()) == before


def test_a_view_that_could_not_be_drawn_once_is_drawn_anew_and_answers_all_the_same(view: View) -> None:
    viewed = view(paused("done"))
    usual, broken = viewed.screen.variable, threading.Event()

    def variable(run: Run) -> str:
        if not broken.is_set():
            raise RuntimeError("the shell is gone")
        return usual(run)

    viewed.screen.variable = variable  # type: ignore[method-assign]
    next(viewed.run)
    assert viewed.do("branches")
    broken.set()
    viewed.until(lambda: len(viewed.screen.cards) == 2 and viewed.screen.head["can"]["undo"])


def test_nothing_is_sent_once_a_view_is_closed(view: View) -> None:
    viewed = view(paused("done"))
    with looking(viewed, "another") as go:
        threading.Timer(0.1, go.set).start()
        viewed.feed.close()
    before = len(viewed.screen.messages)
    time.sleep(0.3)
    assert len(viewed.screen.messages) == before


def test_a_view_is_drawn_while_an_engine_takes_its_time_to_come_back(
    view: View, caplog: pytest.LogCaptureFixture
) -> None:
    seconds: list[float] = []

    def sleepy(task: Any, *, tools: Any = ()) -> Any:
        chat = Chat.of(task)
        time.sleep(sum(seconds))
        thought = yield Think(chat, tools)
        chat += thought
        chat += yield Act.each(thought.calls)
        return Answer("done", chat)

    viewed = view(paused(BOTH, engine=sleepy, tools=[price]))
    viewed.settle("step")
    seconds.append(4.0)
    viewed.do("rewind", entry=viewed.run.entries[0].id)
    viewed.until(lambda: len(viewed.screen.cards) == len(viewed.screen.head["pending"]) == 1)
    assert not caplog.records


def test_a_run_that_was_stopped_while_it_rested_is_paused_after_a_step() -> None:
    run = paused("first", "second")
    run.stop()
    next(run)
    assert run.status == "paused"
