"""What a person does in a view is what the verb in Python does; what cannot be done is refused in a sentence."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from view.conftest import PATIENCE, Viewed, asks, paused

from agentkit import Answer, Ask, Call, Chat, Reply, Think, tool

View = Callable[..., Viewed]


@tool(effect="pure")
def price(item: str) -> int:
    """Give the price of an item."""
    return len(item)


@tool
def buy(item: str) -> str:
    """Buy an item."""
    return f"bought {item}"


def test_step_over_takes_parallel_calls_together_and_step_one_at_a_time(view: View) -> None:
    two = Reply("Both.", (Call("price", {"item": "a"}, "1"), Call("price", {"item": "bb"}, "2")))
    viewed = view(paused(two, "done", tools=[price]))
    viewed.settle("step", "step")
    assert viewed.screen.map == "bta" and len(viewed.screen.head["pending"]) == 1
    viewed.settle("undo", "step_over")
    assert viewed.screen.map == "btaa"


def test_an_edit_an_undo_and_a_switch_between_the_branches(view: View) -> None:
    viewed = view(paused(asks("price", item="tea"), "first", "second", tools=[price]))
    viewed.settle("step", "step")
    observation = viewed.screen.cards[2]["id"]
    fresh = viewed.do("edit", entry=observation, base=observation, change={"text": "99"}, reason="too cheap")
    viewed.until(lambda: viewed.screen.cards[-1]["id"] == fresh)
    card = viewed.screen.cards[-1]
    assert (card["text"], card["author"], card["reason"], card["original"]) == ("99", "human", "too cheap", observation)
    assert viewed.do("original", entry=fresh)["text"] == "3"
    viewed.do("switch", entry=observation)
    viewed.until(
        lambda: (
            viewed.screen.cards[-1]["id"] == observation
            and viewed.screen.cards[-1].get("siblings") == [observation, fresh]
        )
    )
    viewed.do("undo")
    viewed.until(lambda: viewed.screen.cards[-1]["id"] == fresh)
    assert viewed.screen.head["can"]["redo"]


def test_what_is_said_after_edits_is_said_on_the_edited_line(view: View) -> None:
    viewed = view(paused(asks("price", item="tea"), "first", "second", tools=[price]))
    viewed.settle("step", "step", "step")
    edit = {"cmd": "edit", "entry": viewed.screen.cards[1]["id"]}
    orders = [{**edit, "change": {"text": "I ask."}}, {**edit, "change": {"text": "I ask again."}}]
    control = viewed.run.control
    control._take()  # somebody is changing the run just now
    for cid, order in enumerate([*orders, {"cmd": "inject", "text": "In euros."}]):
        viewed.hand.take({"t": "cmd", "v": 1, "cid": str(cid), **order})
    control._let_go()
    control.serve()
    viewed.until(lambda: "2" in viewed.screen.answers)
    viewed.settle("play")
    thoughts = [card for card in viewed.screen.cards if card["kind"] == "think"]
    assert thoughts[0]["text"] == "I ask again." and thoughts[1]["heard"] == ["[USER INTERRUPT] In euros."]


def test_an_edit_of_what_has_moved_is_refused(view: View) -> None:
    viewed = view(paused(asks("price", item="tea"), "done", tools=[price]))
    next(viewed.run)
    with pytest.raises(LookupError, match="moved on"):
        viewed.do("edit", entry=None, base=1, change={"text": "no"})


def test_the_arguments_of_the_pending_call_are_edited(view: View) -> None:
    viewed = view(paused(asks("price", item="tea"), "done", tools=[price]))
    viewed.settle("step")
    viewed.do("edit", entry=None, base=viewed.screen.cards[-1]["id"], change={"arguments": {"item": "coffee"}})
    viewed.settle("step")
    assert viewed.screen.cards[-1]["text"] == "6"


def test_a_waiting_call_is_approved_with_other_arguments(view: View) -> None:
    viewed = view(paused(asks("buy", item="tea"), "done", tools=[buy], approve=True))
    viewed.settle("play")
    (waiting,) = viewed.screen.head["pending"]
    assert waiting["why"] and waiting["call"]["arguments"] == {"item": "tea"} and waiting["effect"] == "irreversible"
    viewed.do("approve", which=waiting["which"], arguments={"item": "milk"})
    viewed.settle("play")
    assert "bought milk" in [card["text"] for card in viewed.screen.cards if card["kind"] == "act"]
    assert viewed.screen.head["status"] == "done"


@pytest.mark.parametrize(
    ("command", "more", "said"),
    [("reject", {"comment": "too dear"}, "too dear"), ("respond", {"value": "got it"}, "got it")],
)
def test_a_waiting_call_is_rejected_or_answered(view: View, command: str, more: dict[str, Any], said: str) -> None:
    viewed = view(paused(asks("buy", item="tea"), "done", tools=[buy], approve=True))
    viewed.settle("play")
    viewed.do(command, which=viewed.screen.head["pending"][0]["which"], **more)
    viewed.settle("play")
    assert said in next(card["text"] for card in viewed.screen.cards if card["kind"] == "act")


def test_a_decision_holds_for_what_was_looked_at_and_for_nothing_that_came_into_its_place(view: View) -> None:
    two = Reply("Both.", (Call("buy", {"item": "tea"}, "1"), Call("buy", {"item": "gold"}, "2")))
    viewed = view(paused(two, "done", tools=[buy], approve=True))
    viewed.settle("play")
    tea, gold = (waiting["which"] for waiting in viewed.screen.head["pending"])
    viewed.run.approve(0)
    viewed.run.edit(viewed.run.pending[1], arguments={"item": "two bars of gold"})
    for seen_before in (tea, gold):
        with pytest.raises(LookupError, match="does not wait any more"):
            viewed.do("approve", which=seen_before)


def asking(task: Any) -> Any:
    chat = Chat.of(task)
    colour = yield Ask("Which colour?", choices=("red", "blue"))
    chat += yield Think(chat + colour)
    return Answer(colour, chat)


def test_a_question_is_answered(view: View) -> None:
    viewed = view(paused("ok", engine=asking))
    viewed.settle("play")
    (waiting,) = viewed.screen.head["pending"]
    assert waiting["question"] == "Which colour?" and waiting["choices"] == ["red", "blue"]
    viewed.do("respond", which=waiting["which"], value="blue")
    viewed.settle("play")
    assert viewed.screen.head["answer"] == "blue"


def test_a_run_is_paused_and_spoken_to_while_a_tool_is_out(view: View) -> None:
    began, bell = threading.Event(), threading.Event()

    def slow() -> str:
        """Wait for the bell."""
        began.set()
        bell.wait(2 * PATIENCE)
        return "rung"

    viewed = view(paused(asks("slow"), "done", tools=[tool(slow)]))
    viewed.do("play")
    assert began.wait(5)
    viewed.do("pause")  # answered while the tool is out: it waits for longer than anybody waits for an answer
    viewed.do("inject", text="Be brief.")
    viewed.until(lambda: viewed.screen.head["status"] == "pausing")
    assert len(viewed.run) == 2
    bell.set()
    viewed.until(lambda: viewed.screen.head["status"] == "paused")
    viewed.settle("play")
    assert viewed.screen.cards[3]["heard"] == ["[USER INTERRUPT] Be brief."]
    assert viewed.screen.head["injections"][0]["seen"]


def test_a_run_that_was_closed_goes_neither_back_nor_forth(view: View) -> None:
    viewed = view(paused("done"))
    viewed.settle("step")
    assert viewed.screen.head["can"] == {"undo": True, "redo": False}
    viewed.run.close()
    viewed.until(lambda: viewed.screen.head["status"] == "readonly")
    assert viewed.screen.head["can"] == {"undo": False, "redo": False}


def test_a_message_is_taken_back(view: View) -> None:
    viewed = view(paused("done"))
    receipt = viewed.do("inject", text="Never mind.")
    viewed.do("recall", id=receipt)
    viewed.settle("play")
    assert viewed.screen.cards[1]["heard"] == []


def test_a_fork_is_a_run_of_its_own(view: View) -> None:
    viewed = view(paused(asks("price", item="tea"), "done", "other", tools=[price]))
    viewed.settle("play")
    made = viewed.do("fork", entry=viewed.screen.cards[1]["id"])
    (other,) = viewed.screen.shown
    assert other.id == made["run"] and len(other) == 2 and len(viewed.run) == 5


def test_what_a_fork_does_in_python_adds_to_the_branches_that_are_offered(view: View) -> None:
    viewed = view(paused(asks("price", item="tea"), "done", tools=[price]))
    viewed.settle("step", "step")
    viewed.until(lambda: len(viewed.screen.cards) == 3)
    viewed.run.fork(2).edit(2, text="7.7")
    viewed.until(lambda: viewed.screen.head["branches"] == 2)
    assert len(viewed.screen.cards[2]["siblings"]) == len(viewed.do("branches")) == 2


def test_a_step_is_tried_again_and_both_are_kept(view: View) -> None:
    viewed = view(paused("first", "second", tools=[price]))
    viewed.settle("step")
    viewed.do("retry", entry=viewed.screen.cards[1]["id"])
    viewed.until(lambda: viewed.screen.cards[-1].get("text") == "second")
    viewed.until(lambda: len(viewed.screen.cards[-1].get("siblings") or ()) == 2)


def test_a_breakpoint_on_a_line_means_that_line_of_that_file(view: View) -> None:
    viewed = view(paused("done", tools=[price]))
    place = viewed.screen.head["where"][0]
    viewed.do("break", kind="line", value=str(place["line"]), file="another.py")
    viewed.settle("play")
    assert viewed.screen.head["status"] == "done"
    viewed.settle("undo", "undo")
    viewed.do("break", kind="line", value=str(place["line"]), file=place["file"])
    viewed.settle("play")
    assert viewed.screen.head["hold"] == f"breakpoint on line {place['line']}"


def test_breakpoints_are_set_listed_and_removed(view: View) -> None:
    viewed = view(paused(asks("price", item="tea"), asks("price", item="tea"), "done", tools=[price]))
    first = viewed.do("break", kind="tool", value="price")["id"]
    viewed.do("break", kind="when", value="failed")
    viewed.settle("play")
    point = viewed.screen.head["breakpoints"][0]
    assert (point["kind"], point["value"], point["hits"]) == ("tool", "price", 1)
    assert "price" in viewed.screen.head["hold"]
    viewed.do("enable", id=first, enabled=False)
    viewed.settle("play")
    assert viewed.screen.head["status"] == "done"
    viewed.do("unbreak", id=first)
    viewed.until(lambda: [point["kind"] for point in viewed.screen.head["breakpoints"]] == ["when"])


@pytest.mark.parametrize(
    ("command", "more", "said"),
    [
        ("nonsense", {}, "unknown command"),
        (["step"], {}, "unknown command"),
        ({"step": 1}, {}, "unknown command"),
        ("edit", {"entry": "x", "base": 0, "change": {}}, "entry"),
        ("edit", {"entry": 999, "base": 0, "change": {"text": "x"}}, "no entry 999"),
        ("inject", {"text": "  "}, "needs some text"),
        ("approve", {"which": "3"}, "does not wait any more"),
        ("respond", {"which": 0, "value": "x"}, "which"),
        ("break", {"kind": "tool", "value": ""}, "say which tool"),
        ("break", {"kind": "moon", "value": "x"}, "kind"),
        ("unbreak", {"id": 0}, "not there"),
        ("pace", {"seconds": -1}, "seconds"),
        ("source", {"file": "/etc/passwd"}, "only the source"),
        ("compare", {"branch": 4}, "no branch 4"),
        ("request", {"entry": 1}, "not a model call"),
        ("undo", {}, "nothing to undo"),
        ("redo", {}, "nothing to redo"),
        ("play", {"surprise": 1}, "surprise"),
        (
            "edit",
            {"entry": 1, "base": 0, "change": {"text": "x" * 6_000_000}},
            "bytes are more than a view can hand over",
        ),
        ("inject", {"text": ["x" * 6_000_000]}, "do it in Python"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(
    view: View, command: Any, more: dict[str, Any], said: str
) -> None:
    viewed = view(paused("done", tools=[price]))
    with pytest.raises(LookupError, match=said):
        viewed.do(command, **more)
    assert len(viewed.run) == 1


@pytest.mark.parametrize("format", ["ipynb", "markdown", "html", "json"])
def test_the_trace_is_exported(view: View, format: str) -> None:
    viewed = view(paused("done"))
    viewed.settle("play")
    made = viewed.do("export", format=format)
    assert viewed.run.id in made["name"] and "done" in made["text"]


def test_the_trace_becomes_cells(view: View) -> None:
    viewed = view(paused("done"))
    viewed.settle("play")
    assert viewed.do("export", format="cells")["inserted"] == len(viewed.screen.cells) > 3


def test_a_paced_run_is_paused_between_two_steps(view: View) -> None:
    viewed = view(paused(*[asks("price", item="tea")] * 5, "done", tools=[price]))
    viewed.do("pace", seconds=30)
    viewed.do("play")
    viewed.until(lambda: len(viewed.screen.cards) == 2)
    assert viewed.screen.head["pace"] == 30
    viewed.do("pause")
    viewed.until(lambda: viewed.screen.head["status"] == "paused")
    assert len(viewed.run) == 2


def test_a_step_of_a_paced_run_ends_with_the_step(view: View) -> None:
    viewed = view(paused(*[asks("price", item="tea")] * 5, "done", tools=[price]))
    viewed.do("pace", seconds=30)
    viewed.do("step")
    viewed.until(lambda: len(viewed.screen.cards) == 2 and viewed.screen.head["status"] == "paused")
