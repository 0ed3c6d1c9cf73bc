"""What is sent to a view: it always shows the present state of the run, whoever changes it, and needs few messages."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from view.conftest import Viewed, calling, paused

from agentkit import Agent, Call, Reply, tool
from agentkit.errors import AgentkitError
from agentkit.models.base import Abilities, Chunk
from agentkit.view import cards
from agentkit.view.feed import TAIL
from agentkit.view.wire import CLOCK

pytestmark = pytest.mark.slow

View = Callable[..., Viewed]


@tool(effect="pure")
def price(item: str) -> int:
    """Look up the price of an item."""
    return len(item)


def check_screen(viewed: Viewed) -> None:
    """Check that the screen comes to have exactly the cards, the map and the status of the run, which may be playing."""
    viewed.until(lambda: shows_all(viewed))


def shows_all(viewed: Viewed) -> bool:
    """Return whether the screen has exactly the cards, the map and the status of the run."""
    screen, entries = viewed.screen, viewed.run.entries
    shown = list(enumerate(entries))[screen.first :]
    return (
        screen.head["status"] == viewed.run.status
        and screen.total == len(entries)
        and screen.map == "".join(map(cards.map_letter, entries))
        and [(card["n"], card["id"]) for card in screen.cards] == [(number, entry.id) for number, entry in shown]
        and [len(card.get("siblings") or [1]) for card in screen.cards]
        == [len(viewed.feed.siblings.of(entry)) for _, entry in shown]
    )


def test_a_step_adds_one_card(view: View) -> None:
    viewed = view(paused(calling("price", item="tea"), "3", tools=[price]))
    assert [card["kind"] for card in viewed.screen.cards] == ["begin"]
    viewed.settle("step", "step")
    kinds = [card["kind"] for card in viewed.screen.cards]
    assert kinds == ["begin", "think", "act"] and viewed.screen.cards[2]["text"] == "3"
    line_events = [event for m in viewed.screen.messages for event in m.get("ev", ()) if event["k"] == "line"]
    assert sum(len(event["cards"]) for event in line_events) == 2


def test_changes_in_python_are_shown(view: View) -> None:
    viewed = view(paused(calling("price", item="tea"), "3", tools=[price]))
    next(viewed.run)
    check_screen(viewed)
    viewed.run.break_at(tool="price")
    viewed.until(lambda: viewed.screen.head["breakpoints"])
    viewed.run.inject("Hurry.")
    viewed.until(lambda: viewed.screen.head["injections"])
    viewed.run.state.breakpoints.clear()
    viewed.until(lambda: not viewed.screen.head["breakpoints"])
    viewed.run.edit(1, text="I guess.", calls=[Call("price", {"item": "coffee"}, "x")])
    check_screen(viewed)
    assert viewed.screen.map == "bT"


@pytest.mark.parametrize("seed", range(6))
def test_the_screen_is_correct_after_any_sequence_of_changes(view: View, seed: int) -> None:
    chance = random.Random(seed)
    replies = [
        Reply("two", (Call("price", {"item": "a"}, "1"), Call("price", {"item": "bb"}, "2"))),
        calling("price", item="c"),
    ] * 40
    viewed = view(paused(*replies, tools=[price], max_iterations=30))
    run = viewed.run
    changes: list[Callable[[], Any]] = [
        lambda: next(run),
        run.step_over,
        run.undo,
        run.redo,
        lambda: run.rewind(chance.randrange(len(run))),
        lambda: run.edit(chance.randrange(len(run)), text=f"edited {chance.random()}"),
        lambda: run.play().wait(0.01),
    ]
    for _ in range(25):
        try:
            chance.choice(changes)()
        except (AgentkitError, StopIteration):
            pass
        if chance.random() < 0.2:
            viewed.feed.hello()
        elif chance.random() < 0.5:
            check_screen(viewed)
    check_screen(viewed)


def test_a_long_trace_opens_at_its_end_and_is_paged(view: View) -> None:
    run = paused(*[calling("price", item="tea") for _ in range(400)], "done", tools=[price], max_iterations=500)
    run.drive()
    viewed = view(run)
    screen = viewed.screen
    assert screen.total == len(run) and len(screen.cards) == TAIL and len(screen.map) == screen.total
    page = viewed.execute("page", before=screen.first, count=100)
    assert page["first"] == screen.first - 100 and len(page["cards"]) == 100
    assert viewed.execute("page", before=0, count=10)["cards"] == []


@pytest.mark.parametrize(("turns", "sent"), [(2, 6), (500, TAIL)])
def test_steps_between_two_updates_are_one_message_with_the_last_cards(view: View, turns: int, sent: int) -> None:
    replies = [calling("price", item="tea") for _ in range(turns)]
    viewed = view(paused(*replies, "done", tools=[price], max_iterations=1000))
    CLOCK.remove(viewed.feed.update)  # from here on, only this test updates the view
    viewed.feed.update()
    before = len(viewed.screen.messages)
    viewed.run.drive()
    viewed.feed.update()
    (message,) = viewed.screen.messages[before:]
    (line,) = [event for event in message["ev"] if event["k"] == "line"]
    assert len(line["cards"]) == sent and line["total"] == line["first"] + sent == len(viewed.run)
    check_screen(viewed)


def streaming(pieces: int, pause: float) -> Any:
    """Return a model that streams its answer in pieces."""

    def model(request: Any) -> Iterator[Chunk]:
        for number in range(pieces):
            time.sleep(pause)
            yield Chunk(text=f"{number} ")
        yield Chunk(finish="stop")

    model.abilities = Abilities(tools=True, stream=True)  # type: ignore[attr-defined]
    return model


def test_a_reply_is_shown_while_it_is_streamed(view: View) -> None:
    viewed = view(Agent(streaming(30, 0.01), journal="memory").start("Count.", paused=True))
    viewed.execute("step")
    viewed.until(lambda: viewed.screen.streaming)
    position, text = next(iter(viewed.screen.streaming.items()))
    assert position == ("", 0) and text.startswith("0 ")
    viewed.until(lambda: viewed.run.status != "running")
    check_screen(viewed)
    assert not viewed.screen.streaming
    assert viewed.screen.cards[-1]["text"].split() == [str(number) for number in range(30)]
    deltas = [event["text"] for m in viewed.screen.messages for event in m.get("ev", ()) if event["k"] == "delta"]
    assert "".join(deltas).split() == [str(number) for number in range(len("".join(deltas).split()))]


def test_a_stopped_stream_leaves_nothing(view: View) -> None:
    viewed = view(Agent(streaming(1000, 0.01), journal="memory").start("Count.", paused=True))
    viewed.execute("play")
    viewed.until(lambda: viewed.screen.streaming)
    viewed.execute("stop")
    viewed.until(lambda: viewed.screen.head["status"] == "stopped")
    viewed.until(lambda: not viewed.screen.streaming)
    assert len(viewed.run) == 1


def test_values_that_are_not_json_are_sent_too(view: View) -> None:
    viewed = view(paused(calling("unusual"), "done", tools=[tool(unusual)]))
    viewed.settle("step", "step")
    assert "NaN" in json.dumps(viewed.screen.cards[2], allow_nan=False)


def unusual() -> dict[str, Any]:
    """Return values that JSON cannot express."""
    return {"nan": float("nan"), "half": "\ud83d", "deep": [[[[]]]]}


def test_the_name_of_the_variable_disappears_when_it_no_longer_holds_the_run(view: View) -> None:
    viewed = view(paused("done"))
    viewed.screen.name = ""
    viewed.until(lambda: viewed.screen.head["variable"] == "")


def test_a_long_text_is_truncated_and_loaded_in_full(view: View) -> None:
    long = "x" * 50_000
    viewed = view(paused(long, tools=[price]))
    viewed.settle("step")
    card = viewed.screen.cards[1]
    assert len(card["text"]) == cards.MAX_TEXT and card["long"]["text"] == 50_000
    assert viewed.execute("text", entry=card["id"], field="text") == {"text": long}


def test_parallel_lanes_are_one_branch(view: View) -> None:
    both = Reply("two", (Call("price", {"item": "a"}, "1"), Call("price", {"item": "bb"}, "2")))
    viewed = view(paused(both, "done", "else", tools=[price]))
    viewed.settle("step", "step", "step", "step")
    assert viewed.screen.head["branches"] == 1
    viewed.execute("edit", entry=viewed.screen.cards[2]["id"], base=0, change={"text": "9"})
    viewed.until(lambda: viewed.screen.head["branches"] == 2)
    assert len(viewed.execute("branches")) == 2
