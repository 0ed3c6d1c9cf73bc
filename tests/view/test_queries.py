"""The queries of a view: requests as they were sent, sources, branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from view.conftest import Viewed, calling, paused

from agentkit import Act, Agent, Answer, Chat, Think, Usage, tool
from agentkit.core.messages import Call, Reply, Token
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

View = Callable[..., Viewed]


@tool(effect="pure")
def price(item: str) -> int:
    """Look up the price of an item."""
    return len(item)


def thoughts(viewed: Viewed) -> list[int]:
    return [card["id"] for card in viewed.screen.cards if card["kind"] == "think"]


def test_a_request_is_shown_as_it_was_sent_beside_the_previous_one(view: View) -> None:
    model = Scripted(
        [calling("price", item="tea"), calling("price", item="milk"), "done"], abilities=Abilities(tools=True)
    )
    viewed = view(Agent(model, [price], journal="memory").start("Shop.", paused=True))
    viewed.settle("play")
    first, second, third = (viewed.execute("request", entry=entry) for entry in thoughts(viewed))
    assert [first["body"], second["body"], third["body"]] == model.requests
    assert first["previous"] == 0 and second["previous"] == first["entry"] and second["previous_body"] == first["body"]
    assert (first["same"], second["same"], third["same"]) == (0, 1, 3)
    assert [segment["kind"] for segment in third["segments"]] == ["tools", "task", "step", "step", "step", "step"]
    assert [segment["cached"] for segment in third["segments"]] == [True, True, True, True, False, False]


def test_tokens_are_distributed_over_the_segments_and_marked_if_estimated(view: View) -> None:
    counted = Reply("done", usage=Usage(input=1000, output=5, cached=600, calls=1))
    viewed = view(paused(calling("price", item="tea"), counted, tools=[price]))
    viewed.settle("play")
    first, second = (viewed.execute("request", entry=entry) for entry in thoughts(viewed))
    assert first["estimated"] and first["cached"] == {"tokens": 0, "says": "prefix"}
    assert not second["estimated"] and second["tokens"] == 1000
    assert abs(sum(segment["tokens"] for segment in second["segments"]) - 1000) <= len(second["segments"])
    assert second["cached"] == {"tokens": 600, "says": "provider"}


def test_an_injected_message_is_a_separate_segment(view: View) -> None:
    viewed = view(paused(calling("price", item="tea"), "done", tools=[price]))
    viewed.settle("step", "step")
    viewed.execute("inject", text="In euros.")
    viewed.settle("step")
    request = viewed.execute("request", entry=thoughts(viewed)[-1])
    assert [segment["kind"] for segment in request["segments"]][-1] == "injected"


def inner(chat: Chat) -> Any:
    chat += yield Think(chat)
    chat += yield Act(Call("price", {"item": "tea"}, "1"))
    chat += yield Think(chat)
    return Answer("inner", chat)


def outer(task: Any) -> Any:
    answer = yield from inner(Chat.of(task))
    yield Think(answer.chat, role="evaluate")
    return Answer(answer.text, answer.chat)


def engine_frames(viewed: Viewed) -> list[Any]:
    return [frame for frame in viewed.screen.head["where"] if not frame["around"]]


def test_the_source_of_each_frame_is_shown(view: View) -> None:
    viewed = view(paused("a", "b", "c", engine=outer, tools=[price]))
    frames = engine_frames(viewed)
    assert [frame["function"] for frame in frames] == ["outer", "inner"]
    source = viewed.execute("source", file=frames[1]["file"])
    assert "chat += yield Think(chat)" in source["text"].split("\n")[frames[1]["line"] - source["first"]]
    variables = {name: value["text"] for name, value, _ in frames[1]["locals"]}
    assert variables["chat"] == "1 message"
    place = {"frame": 1, "function": "inner", "name": "chat"}
    assert [text["text"] for _, text in viewed.execute("value", **place, path=[])["members"]] == ["user: Go."]
    assert viewed.execute("value", **place, path=[0, 1])["text"] == "Go."
    assert viewed.execute("source", file="")["text"].startswith("def outer(")


def test_the_recorded_source_of_an_engine_that_has_ended_has_the_line_numbers_of_its_file(view: View) -> None:
    viewed = view(paused("a", "b", "c", engine=outer, tools=[price]))
    (frame, _) = engine_frames(viewed)
    during = viewed.execute("source", file=frame["file"])["text"].split("\n")[frame["line"] - 1]
    viewed.settle("play")
    source = viewed.execute("source", file="")
    assert source["first"] > 1
    assert source["text"].split("\n")[frame["line"] - source["first"]] == during


def test_the_recorded_source_of_an_engine_that_has_changed_since_is_numbered_from_1(view: View) -> None:
    run = paused("a", "b", "c", engine=outer, tools=[price])
    run.task["source"] = "def outer(task): ..."
    assert view(run).execute("source", file="") == {"file": "", "first": 1, "text": "def outer(task): ..."}


def test_step_over_leaves_a_nested_engine(view: View) -> None:
    viewed = view(paused("a", "b", "c", engine=outer, tools=[price]))
    viewed.settle("step_over")
    assert viewed.screen.map == "btat" and engine_frames(viewed)[-1]["function"] == "outer"
    viewed.settle("undo", "undo")
    viewed.run.step_over()
    assert len(viewed.run) == 4


def test_branches_are_listed_and_compared_from_the_first_difference(view: View) -> None:
    viewed = view(paused(calling("price", item="tea"), "first", "second", tools=[price]))
    viewed.settle("play")
    viewed.execute("edit", entry=viewed.screen.cards[2]["id"], base=0, change={"text": "99"})
    viewed.settle("play")
    here, there = viewed.execute("branches")
    assert (here["branch"], there["branch"], there["parts"]) == (0, 1, 2)
    compared = viewed.execute("compare", branch=1)
    assert compared["first"] == 2
    assert [card.get("text") for card in compared["here"]][:2] == ["99", "second"]
    assert [card.get("text") for card in compared["there"]][:2] == ["3", "first"]
    assert viewed.screen.head["branches"] == 2


def test_the_probabilities_of_tokens_are_sent_only_when_they_are_asked_for(view: View) -> None:
    tokens = (Token("do", 0.9, {"rea": 0.1}), Token("ne", 1.0))
    viewed = view(paused(calling("price", item="tea"), Reply("done", tokens=tokens), tools=[price]))
    viewed.settle("play")
    first, second = (card for card in viewed.screen.cards if card["kind"] == "think")
    assert (first["tokens"], second["tokens"]) == (0, 2)
    answer = viewed.execute("tokens", entry=second["id"])
    assert answer == {"tokens": [["do", 0.9, {"rea": 0.1}], ["ne", 1.0]], "total": 2}
    with pytest.raises(LookupError, match="not known how likely"):
        viewed.execute("tokens", entry=first["id"])


def test_only_the_first_tokens_of_a_very_long_reply_are_sent(view: View) -> None:
    viewed = view(paused(Reply("a" * 3_000, tokens=(Token("a", 0.5),) * 3_000)))
    viewed.settle("play")
    answer = viewed.execute("tokens", entry=thoughts(viewed)[0])
    assert (len(answer["tokens"]), answer["total"]) == (1_000, 3_000)
