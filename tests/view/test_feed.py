"""What a view is sent: it always shows what the run is, in few messages, whoever changes it."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from view.conftest import Viewed, asks, paused

from agentkit import Agent, Call, Reply, tool
from agentkit.errors import AgentkitError
from agentkit.models.base import Abilities, Chunk
from agentkit.view import cards

View = Callable[..., Viewed]


@tool(effect="pure")
def price(item: str) -> int:
    """Give the price of an item."""
    return len(item)


def shows_the_run(viewed: Viewed) -> None:
    """The screen holds exactly the cards, the map and the status that the run has now."""
    viewed.until(lambda: viewed.screen.head["status"] == viewed.run.status and viewed.screen.total == len(viewed.run))
    entries, screen = viewed.run.entries, viewed.screen
    viewed.until(lambda: [card["id"] for card in screen.cards] == [entry.id for entry in entries[screen.first :]])
    assert screen.map == "".join(map(cards.letter, entries))
    assert [card["n"] for card in screen.cards] == list(range(screen.first, screen.total))
    for card, entry in zip(screen.cards, entries[screen.first :], strict=True):
        assert len(card.get("siblings") or [1]) == len(viewed.feed.family.siblings(entry))


def test_a_step_is_one_card_more(view: View) -> None:
    viewed = view(paused(asks("price", item="tea"), "3", tools=[price]))
    assert [card["kind"] for card in viewed.screen.cards] == ["begin"]
    viewed.settle("step", "step")
    kinds = [card["kind"] for card in viewed.screen.cards]
    assert kinds == ["begin", "think", "act"] and viewed.screen.cards[2]["text"] == "3"
    assert (
        sum(len(event["cards"]) for m in viewed.screen.messages for event in m.get("ev", ()) if event["k"] == "line")
        == 2
    )


def test_what_is_done_in_python_is_seen(view: View) -> None:
    viewed = view(paused(asks("price", item="tea"), "3", tools=[price]))
    next(viewed.run)
    shows_the_run(viewed)
    viewed.run.break_at(tool="price")
    viewed.until(lambda: viewed.screen.head["breakpoints"])
    viewed.run.inject("Hurry.")
    viewed.until(lambda: viewed.screen.head["injections"])
    viewed.run.state.breakpoints.clear()
    viewed.until(lambda: not viewed.screen.head["breakpoints"])
    viewed.run.edit(1, text="I guess.", calls=[Call("price", {"item": "coffee"}, "x")])
    shows_the_run(viewed)
    assert viewed.screen.map == "bT"


@pytest.mark.parametrize("seed", range(6))
def test_the_screen_is_right_whatever_is_done(view: View, seed: int) -> None:
    chance = random.Random(seed)
    replies = [
        Reply("two", (Call("price", {"item": "a"}, "1"), Call("price", {"item": "bb"}, "2"))),
        asks("price", item="c"),
    ] * 40
    viewed = view(paused(*replies, tools=[price], max_iterations=30))
    run = viewed.run
    verbs: list[Callable[[], Any]] = [
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
            chance.choice(verbs)()
        except (AgentkitError, StopIteration):
            pass
        if chance.random() < 0.2:
            viewed.feed.hello()
        elif chance.random() < 0.5:
            shows_the_run(viewed)
    shows_the_run(viewed)


def test_a_long_trace_opens_at_its_end_and_is_paged(view: View) -> None:
    run = paused(*[asks("price", item="tea") for _ in range(400)], "done", tools=[price], max_iterations=500)
    run.drive()
    viewed = view(run)
    screen = viewed.screen
    assert screen.total == len(run) and len(screen.cards) == 50 and len(screen.map) == screen.total
    page = viewed.do("page", before=screen.first, count=100)
    assert page["first"] == screen.first - 100 and len(page["cards"]) == 100
    assert viewed.do("page", before=0, count=10)["cards"] == []


def test_a_thousand_steps_are_a_few_messages(view: View) -> None:
    viewed = view(paused(*[asks("price", item="tea") for _ in range(500)], "done", tools=[price], max_iterations=1000))
    began = time.monotonic()
    viewed.settle("play")
    shows_the_run(viewed)
    assert len(viewed.screen.messages) < 10 + 30 * (time.monotonic() - began)


def streaming(pieces: int, pause: float) -> Any:
    """A model that writes its answer in pieces."""

    def model(request: Any) -> Iterator[Chunk]:
        for number in range(pieces):
            time.sleep(pause)
            yield Chunk(text=f"{number} ")
        yield Chunk(finish="stop")

    model.abilities = Abilities(tools=True, stream=True)  # type: ignore[attr-defined]
    return model


def test_what_a_model_says_is_shown_while_it_says_it(view: View) -> None:
    viewed = view(Agent(streaming(30, 0.01), journal="memory").start("Count.", paused=True))
    viewed.do("step")
    viewed.until(lambda: viewed.screen.streaming)
    place, said = next(iter(viewed.screen.streaming.items()))
    assert place == ("", 0) and said.startswith("0 ")
    viewed.until(lambda: viewed.run.status != "running")
    shows_the_run(viewed)
    assert not viewed.screen.streaming
    assert viewed.screen.cards[-1]["text"].split() == [str(number) for number in range(30)]
    deltas = [event["text"] for m in viewed.screen.messages for event in m.get("ev", ()) if event["k"] == "delta"]
    assert "".join(deltas).split() == [str(number) for number in range(len("".join(deltas).split()))]


def test_a_stream_that_is_stopped_leaves_nothing(view: View) -> None:
    viewed = view(Agent(streaming(1000, 0.01), journal="memory").start("Count.", paused=True))
    viewed.do("play")
    viewed.until(lambda: viewed.screen.streaming)
    viewed.do("stop")
    viewed.until(lambda: viewed.screen.head["status"] == "stopped")
    viewed.until(lambda: not viewed.screen.streaming)
    assert len(viewed.run) == 1


def test_what_no_json_can_say_arrives_all_the_same(view: View) -> None:
    viewed = view(paused(asks("odd"), "done", tools=[tool(odd)]))
    viewed.settle("step", "step")
    assert "NaN" in json.dumps(viewed.screen.cards[2], allow_nan=False)


def odd() -> dict[str, Any]:
    """Give what is hard to write."""
    return {"nan": float("nan"), "half": "\ud83d", "deep": [[[[]]]]}


def test_a_run_whose_variable_holds_another_one_now_says_so(view: View) -> None:
    viewed = view(paused("done"))
    viewed.screen.name = ""
    viewed.until(lambda: viewed.screen.head["variable"] == "")


def test_long_texts_are_cut_and_fetched(view: View) -> None:
    long = "x" * 50_000
    viewed = view(paused(long, tools=[price]))
    viewed.settle("step")
    card = viewed.screen.cards[1]
    assert len(card["text"]) == cards.LIMIT and card["long"]["text"] == 50_000
    assert viewed.do("text", entry=card["id"], field="text") == {"text": long}


def test_lanes_side_by_side_are_one_line(view: View) -> None:
    both = Reply("two", (Call("price", {"item": "a"}, "1"), Call("price", {"item": "bb"}, "2")))
    viewed = view(paused(both, "done", "else", tools=[price]))
    viewed.settle("step", "step", "step", "step")
    assert viewed.screen.head["branches"] == 1
    viewed.do("edit", entry=viewed.screen.cards[2]["id"], base=0, change={"text": "9"})
    viewed.until(lambda: viewed.screen.head["branches"] == 2)
    assert len(viewed.do("branches")) == 2
