"""The past in a view: the engine as it was at a step, without performing anything, and with a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any

from view.conftest import Viewed, calling, paused

from agentkit import Agent, Answer, Call, Reply, Think, tool
from agentkit.core.messages import Chat
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

View = Callable[..., Viewed]
Engine = Generator[Any, Any, Answer]

bought: list[str] = []


@tool(effect="irreversible")
def buy(item: str) -> str:
    """Buy an item."""
    bought.append(item)
    return f"bought {item}"


def shopping() -> Any:
    replies = [calling("buy", item="tea"), calling("buy", item="milk"), "done"]
    return paused(*replies, tools=[buy], approve=False)


def ids(viewed: Viewed) -> list[int]:
    return [card["id"] for card in viewed.screen.cards]


def test_a_moment_has_the_line_the_variables_then_and_what_they_were_before(view: View) -> None:
    viewed = view(shopping())
    viewed.settle("play")
    moment = viewed.execute("at", entry=ids(viewed)[3])
    frame = moment["where"][0]
    assert (frame["function"], frame["around"], moment["problem"]) == ("react", False, "")
    variables = {name: preview["text"] for name, preview, _ in frame["locals"]}
    assert (variables["chat"], variables["iterations"]) == ("3 messages", "1")
    assert frame["before"]["chat"] == "2 messages" and "iterations" not in frame["before"]
    assert viewed.execute("at", entry=ids(viewed)[2])["where"][0]["before"]["thought"] == ""


def test_looking_at_the_past_calls_nothing_and_changes_nothing(view: View) -> None:
    run = shopping()
    viewed, events = view(run), []
    viewed.settle("play")
    run.on_event(events.append)
    before = list(bought), run.usage, run.rows(), changes(viewed)
    for entry in ids(viewed):
        viewed.execute("at", entry=entry)
    assert (list(bought), run.usage, run.rows(), changes(viewed)) == before
    assert events == []


def changes(viewed: Viewed) -> int:
    """Return the number of messages that change what is shown of the run."""
    return sum(message["t"] in ("reset", "events") for message in viewed.screen.messages)


def test_a_variable_of_the_past_opens_as_it_was_then(view: View) -> None:
    viewed = view(shopping())
    viewed.settle("play")
    for entry, messages in ((ids(viewed)[1], 1), (ids(viewed)[5], 5), (ids(viewed)[3], 3)):
        opened = viewed.execute("value", frame=0, function="react", name="chat", path=[], at=entry)
        assert opened["total"] == messages


def test_the_source_of_an_engine_that_has_ended_can_be_shown_for_a_moment(view: View) -> None:
    viewed = view(shopping())
    viewed.settle("play")
    file = viewed.execute("at", entry=ids(viewed)[1])["where"][0]["file"]
    assert "def react" in viewed.execute("source", file=file)["text"]


def test_an_engine_that_computes_for_ever_is_given_up(view: View) -> None:
    endless = False

    def engine(task: Chat) -> Engine:
        yield Think(task)
        while endless:
            try:
                sum(range(1000))
            except KeyboardInterrupt:
                continue  # it takes more than one interrupt
        reply = yield Think(task)
        return Answer(reply.text, task)

    viewed = view(Agent(Scripted(["a", "b"]), engine=engine, journal="memory").start("Go", paused=True))
    viewed.settle("play")
    endless = True
    started = time.monotonic()
    moment = viewed.execute("at", entry=ids(viewed)[2])
    assert moment["where"] == [] and moment["problem"] == "the engine takes more than 2 s to get there"
    assert time.monotonic() - started < 9
    endless = False
    while viewed.execute("at", entry=ids(viewed)[2])["problem"]:
        time.sleep(0.05)  # until the thread that was given up has ended


def test_an_engine_that_differs_now_says_so_in_one_sentence(view: View) -> None:
    role = "thought"

    def engine(task: Chat) -> Engine:
        reply = yield Think(task, role=role)
        return Answer(reply.text, task)

    viewed = view(Agent(Scripted(["a", "b"]), engine=engine, journal="memory").start("Go", paused=True))
    viewed.settle("play")
    role = "plan"
    moment = viewed.execute("at", entry=ids(viewed)[1])
    assert moment["problem"].startswith("the engine now asks for think (plan)")


def test_the_map_marks_thoughts_that_heard_a_message_and_the_head_where_other_branches_begin(view: View) -> None:
    look = Reply("", (Call("buy", {"item": "tea"}, "c1"),))
    model = Scripted([look, "a", "b"], abilities=Abilities(tools=True))
    viewed = view(Agent(model, [buy], journal="memory", approve=False).start("Shop.", paused=True))
    viewed.settle("step", "step")
    viewed.execute("inject", text="In euros.")
    viewed.settle("play")
    assert viewed.screen.map == "btahc" and viewed.screen.head["forks"] == []
    viewed.execute("retry", entry=ids(viewed)[3])
    viewed.settle()
    assert viewed.screen.head["forks"] == [3]
