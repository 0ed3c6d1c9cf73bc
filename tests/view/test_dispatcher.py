"""The commands of a view do what the methods in Python do; a command that is impossible is refused in a sentence."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from view.conftest import TIMEOUT, Viewed, calling, paused

from agentkit import Answer, Ask, Call, Chat, Reply, Think, tool

View = Callable[..., Viewed]


@tool(effect="pure")
def price(item: str) -> int:
    """Look up the price of an item."""
    return len(item)


@tool(effect="irreversible")
def buy(item: str) -> str:
    """Buy an item."""
    return f"bought {item}"


def test_step_over_performs_parallel_calls_together_and_step_performs_one(view: View) -> None:
    two = Reply("Both.", (Call("price", {"item": "a"}, "1"), Call("price", {"item": "bb"}, "2")))
    viewed = view(paused(two, "done", tools=[price]))
    viewed.settle("step", "step")
    assert viewed.screen.map == "bta" and len(viewed.screen.head["pending"]) == 1
    viewed.settle("undo", "step_over")
    assert viewed.screen.map == "btaa"


def test_an_edit_a_switch_of_branches_and_an_undo_are_shown(view: View) -> None:
    viewed = view(paused(calling("price", item="tea"), "first", "second", tools=[price]))
    viewed.settle("step", "step")
    observation = viewed.screen.cards[2]["id"]
    edited = viewed.execute("edit", entry=observation, base=observation, change={"text": "99"}, reason="too cheap")
    viewed.until(lambda: viewed.screen.cards[-1]["id"] == edited)
    card = viewed.screen.cards[-1]
    assert (card["text"], card["author"], card["reason"], card["original"]) == ("99", "human", "too cheap", observation)
    assert viewed.execute("original", entry=edited)["text"] == "3"
    viewed.execute("switch", entry=observation)
    viewed.until(
        lambda: (
            viewed.screen.cards[-1]["id"] == observation
            and viewed.screen.cards[-1].get("siblings") == [observation, edited]
        )
    )
    viewed.execute("undo")
    viewed.until(lambda: viewed.screen.cards[-1]["id"] == edited)
    assert viewed.screen.head["can"]["redo"]


def test_a_message_that_is_sent_after_edits_is_injected_into_the_edited_branch(view: View) -> None:
    viewed = view(paused(calling("price", item="tea"), "first", "second", tools=[price]))
    viewed.settle("step", "step", "step")
    edit = {"cmd": "edit", "entry": viewed.screen.cards[1]["id"]}
    commands = [{**edit, "change": {"text": "I look."}}, {**edit, "change": {"text": "I look again."}}]
    control = viewed.run.control
    control._take()  # somebody else is changing the run
    for cid, command in enumerate([*commands, {"cmd": "inject", "text": "In euros."}]):
        viewed.dispatcher.take({"t": "cmd", "v": 1, "cid": str(cid), **command})
    control._let_go()
    control.serve()
    viewed.until(lambda: "2" in viewed.screen.answers)
    viewed.settle("play")
    thoughts = [card for card in viewed.screen.cards if card["kind"] == "think"]
    assert thoughts[0]["text"] == "I look again." and thoughts[1]["heard"] == ["[USER INTERRUPT] In euros."]


def test_an_edit_is_refused_if_the_run_has_moved_on(view: View) -> None:
    viewed = view(paused(calling("price", item="tea"), "done", tools=[price]))
    next(viewed.run)
    with pytest.raises(LookupError, match="moved on"):
        viewed.execute("edit", entry=None, base=1, change={"text": "no"})


def test_the_arguments_of_the_pending_call_are_edited(view: View) -> None:
    viewed = view(paused(calling("price", item="tea"), "done", tools=[price]))
    viewed.settle("step")
    viewed.execute("edit", entry=None, base=viewed.screen.cards[-1]["id"], change={"arguments": {"item": "coffee"}})
    viewed.settle("step")
    assert viewed.screen.cards[-1]["text"] == "6"


def test_a_waiting_call_is_approved_with_other_arguments(view: View) -> None:
    viewed = view(paused(calling("buy", item="tea"), "done", tools=[buy], approve=True))
    viewed.settle("play")
    (waiting,) = viewed.screen.head["pending"]
    assert waiting["why"] and waiting["call"]["arguments"] == {"item": "tea"} and waiting["effect"] == "irreversible"
    viewed.execute("approve", which=waiting["which"], arguments={"item": "milk"})
    viewed.settle("play")
    assert "bought milk" in [card["text"] for card in viewed.screen.cards if card["kind"] == "act"]
    assert viewed.screen.head["status"] == "done"


@pytest.mark.parametrize(
    ("command", "arguments", "observation"),
    [("reject", {"comment": "too dear"}, "too dear"), ("respond", {"value": "got it"}, "got it")],
)
def test_a_waiting_call_is_rejected_or_answered(
    view: View, command: str, arguments: dict[str, Any], observation: str
) -> None:
    viewed = view(paused(calling("buy", item="tea"), "done", tools=[buy], approve=True))
    viewed.settle("play")
    viewed.execute(command, which=viewed.screen.head["pending"][0]["which"], **arguments)
    viewed.settle("play")
    assert observation in next(card["text"] for card in viewed.screen.cards if card["kind"] == "act")


def test_a_decision_applies_to_the_step_that_was_shown_and_not_to_one_that_replaced_it(view: View) -> None:
    two = Reply("Both.", (Call("buy", {"item": "tea"}, "1"), Call("buy", {"item": "gold"}, "2")))
    viewed = view(paused(two, "done", tools=[buy], approve=True))
    viewed.settle("play")
    tea, gold = (waiting["which"] for waiting in viewed.screen.head["pending"])
    viewed.run.approve(0)
    viewed.run.edit(viewed.run.pending[1], arguments={"item": "two bars of gold"})
    for outdated in (tea, gold):
        with pytest.raises(LookupError, match="no longer waiting"):
            viewed.execute("approve", which=outdated)


def test_a_repeated_call_shows_the_earlier_result_and_is_answered_with_it(view: View) -> None:
    viewed = view(paused(calling("buy", item="tea"), "done", "again", tools=[buy]))
    viewed.settle("play")
    viewed.until(lambda: viewed.screen.head["status"] == "done")
    viewed.execute("rewind", entry=viewed.run.entries[1].id)
    viewed.until(lambda: "Not undone: buy(item='tea')" in viewed.screen.head["forecast"])
    viewed.settle("play")
    (step,) = viewed.screen.head["pending"]
    assert step["past"] == {"result": "bought tea", "may_have_run": False} and viewed.screen.head["forecast"] == ""
    viewed.execute("reuse", which=step["which"])
    viewed.until(lambda: len(viewed.screen.cards) == 3)
    card = viewed.screen.cards[2]
    assert (card["text"], card["repeats"]) == ("bought tea", True)
    assert card["reason"].startswith("not performed again: buy(item='tea') was performed at")
    viewed.execute("edit", entry=card["id"], change={"text": "sold out"})
    viewed.until(lambda: viewed.screen.cards[2]["text"] == "sold out")
    assert not viewed.screen.cards[2]["repeats"]


def test_a_decision_about_a_repeated_call_does_not_apply_to_a_question_about_another_call(view: View) -> None:
    viewed = view(paused(calling("buy", item="tea"), "done", tools=[buy], approve=True))
    viewed.settle("play")
    approval = viewed.screen.head["pending"][0]["which"]
    viewed.run.approve()
    viewed.run.drive()
    viewed.run.rewind(1)
    viewed.settle("play")
    assert viewed.screen.head["pending"][0]["past"]
    with pytest.raises(LookupError, match="no longer waiting"):
        viewed.execute("approve", which=approval)


def test_each_approval_of_several_waiting_calls_is_shown(view: View) -> None:
    items = [Call("buy", {"item": item}, item) for item in ("tea", "gold", "salt")]
    viewed = view(paused(Reply("All.", tuple(items)), "done", tools=[buy], approve=True))
    viewed.settle("play")
    for left in (2, 1, 0):
        waiting = [step["which"] for step in viewed.screen.head["pending"] if "which" in step]
        viewed.execute("approve", which=waiting[0])
        viewed.until(lambda left=left: sum("which" in step for step in viewed.screen.head["pending"]) == left)


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
    viewed.execute("respond", which=waiting["which"], value="blue")
    viewed.settle("play")
    assert viewed.screen.head["answer"] == "blue"


def test_a_run_is_paused_and_gets_a_message_while_a_tool_runs(view: View) -> None:
    began, bell = threading.Event(), threading.Event()

    def slow() -> str:
        """Wait for the bell."""
        began.set()
        bell.wait(2 * TIMEOUT)
        return "rung"

    viewed = view(paused(calling("slow"), "done", tools=[tool(slow)]))
    viewed.execute("play")
    assert began.wait(5)
    viewed.execute("pause")  # answered while the tool runs, which takes longer than the timeout of this test
    viewed.execute("inject", text="Be brief.")
    viewed.until(lambda: viewed.screen.head["status"] == "pausing")
    assert len(viewed.run) == 2
    bell.set()
    viewed.until(lambda: viewed.screen.head["status"] == "paused")
    viewed.settle("play")
    assert viewed.screen.cards[3]["heard"] == ["[USER INTERRUPT] Be brief."]
    assert viewed.screen.head["injections"][0]["seen"]


def test_a_pause_overtakes_a_run_command_that_still_waits_in_the_queue(view: View) -> None:
    began, bell = threading.Event(), threading.Event()

    viewed = view(paused("one", "two"))

    def predicate(text: str) -> Callable[[Any], Any]:
        began.set()
        bell.wait(TIMEOUT)
        return bool

    viewed.screen.predicate = predicate  # type: ignore[method-assign]
    for cid, command in (
        ("1", {"cmd": "break", "kind": "when", "value": "entry"}),
        ("2", {"cmd": "play"}),
        ("3", {"cmd": "inject", "text": "Be brief."}),
    ):
        viewed.dispatcher.take({"t": "cmd", "v": 1, "cid": cid, **command})
    assert began.wait(TIMEOUT)
    viewed.execute("pause")
    bell.set()
    viewed.until(lambda: {"1", "2", "3"} <= viewed.screen.answers.keys())
    assert [viewed.screen.answers[cid]["t"] for cid in "123"] == ["ack", "nak", "ack"]
    assert viewed.screen.answers["2"]["error"] == "not carried out, because 'pause' was asked for after it"
    assert len(viewed.run) == 1


def test_undo_and_redo_are_not_offered_for_a_closed_run(view: View) -> None:
    viewed = view(paused("done"))
    viewed.settle("step")
    assert viewed.screen.head["can"] == {"undo": True, "redo": False}
    viewed.run.close()
    viewed.until(lambda: viewed.screen.head["status"] == "readonly")
    assert viewed.screen.head["can"] == {"undo": False, "redo": False}


def test_a_message_is_recalled(view: View) -> None:
    viewed = view(paused("done"))
    receipt = viewed.execute("inject", text="Never mind.")
    viewed.execute("recall", id=receipt)
    viewed.settle("play")
    assert viewed.screen.cards[1]["heard"] == []


def test_a_fork_is_a_separate_run(view: View) -> None:
    viewed = view(paused(calling("price", item="tea"), "done", "other", tools=[price]))
    viewed.settle("play")
    result = viewed.execute("fork", entry=viewed.screen.cards[1]["id"])
    (other,) = viewed.screen.shown
    assert other.id == result["run"] and len(other) == 2 and len(viewed.run) == 5


def test_a_branch_that_a_fork_makes_in_python_is_offered_too(view: View) -> None:
    viewed = view(paused(calling("price", item="tea"), "done", tools=[price]))
    viewed.settle("step", "step")
    viewed.until(lambda: len(viewed.screen.cards) == 3)
    viewed.run.fork(2).edit(2, text="7.7")
    viewed.until(lambda: viewed.screen.head["branches"] == 2)
    assert len(viewed.screen.cards[2]["siblings"]) == len(viewed.execute("branches")) == 2


def test_a_step_is_retried_and_both_results_are_kept(view: View) -> None:
    viewed = view(paused("first", "second", tools=[price]))
    viewed.settle("step")
    viewed.execute("retry", entry=viewed.screen.cards[1]["id"])
    viewed.until(lambda: viewed.screen.cards[-1].get("text") == "second")
    viewed.until(lambda: len(viewed.screen.cards[-1].get("siblings") or ()) == 2)


def test_a_breakpoint_on_a_line_applies_only_to_its_file(view: View) -> None:
    viewed = view(paused("done", tools=[price]))
    frame = viewed.screen.head["where"][0]
    viewed.execute("break", kind="line", value=str(frame["line"]), file="another.py")
    viewed.settle("play")
    assert viewed.screen.head["status"] == "done"
    viewed.settle("undo", "undo")
    viewed.execute("break", kind="line", value=str(frame["line"]), file=frame["file"])
    viewed.settle("play")
    assert viewed.screen.head["hold"] == f"breakpoint on line {frame['line']}"


def test_breakpoints_are_set_listed_and_removed(view: View) -> None:
    viewed = view(paused(calling("price", item="tea"), calling("price", item="tea"), "done", tools=[price]))
    first = viewed.execute("break", kind="tool", value="price")["id"]
    viewed.execute("break", kind="when", value="failed")
    viewed.settle("play")
    point = viewed.screen.head["breakpoints"][0]
    assert (point["kind"], point["value"], point["hits"]) == ("tool", "price", 1)
    assert "price" in viewed.screen.head["hold"]
    viewed.execute("enable", id=first, enabled=False)
    viewed.settle("play")
    assert viewed.screen.head["status"] == "done"
    viewed.execute("unbreak", id=first)
    viewed.until(lambda: [point["kind"] for point in viewed.screen.head["breakpoints"]] == ["when"])


@pytest.mark.parametrize(
    ("command", "arguments", "error"),
    [
        ("nonsense", {}, "unknown command"),
        (["step"], {}, "unknown command"),
        ({"step": 1}, {}, "unknown command"),
        ("edit", {"entry": "x", "base": 0, "change": {}}, "entry"),
        ("edit", {"entry": 999, "base": 0, "change": {"text": "x"}}, "no entry 999"),
        ("inject", {"text": "  "}, "needs some text"),
        ("approve", {"which": "3"}, "no longer waiting"),
        ("respond", {"which": 0, "value": "x"}, "which"),
        ("break", {"kind": "tool", "value": ""}, "enter the tool"),
        ("break", {"kind": "when", "value": " "}, "an expression of entry"),
        ("break", {"kind": "line", "value": "x"}, "must be a number, not 'x'"),
        ("break", {"kind": "moon", "value": "x"}, "kind"),
        ("unbreak", {"id": 0}, "no longer exists"),
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
            "bytes are too much for a view to send",
        ),
        ("inject", {"text": ["x" * 6_000_000]}, "do it in Python"),
    ],
)
def test_an_impossible_command_is_refused_in_a_sentence(
    view: View, command: Any, arguments: dict[str, Any], error: str
) -> None:
    viewed = view(paused("done", tools=[price]))
    with pytest.raises(LookupError, match=error):
        viewed.execute(command, **arguments)
    assert len(viewed.run) == 1


@pytest.mark.parametrize("format", ["ipynb", "markdown", "html", "json"])
def test_the_trace_is_exported(view: View, format: str) -> None:
    viewed = view(paused("done"))
    viewed.settle("play")
    file = viewed.execute("export", format=format)
    assert viewed.run.id in file["name"] and "done" in file["text"]


def test_the_trace_is_exported_as_cells(view: View) -> None:
    viewed = view(paused("done"))
    viewed.settle("play")
    assert viewed.execute("export", format="cells")["inserted"] == len(viewed.screen.cells) > 3


def test_a_run_with_a_delay_can_be_paused_between_two_steps(view: View) -> None:
    viewed = view(paused(*[calling("price", item="tea")] * 5, "done", tools=[price]))
    viewed.execute("pace", seconds=30)
    viewed.execute("play")
    viewed.until(lambda: len(viewed.screen.cards) == 2)
    assert viewed.screen.head["pace"] == 30
    viewed.execute("pause")
    viewed.until(lambda: viewed.screen.head["status"] == "paused")
    assert len(viewed.run) == 2


def test_a_single_step_does_not_wait_for_the_delay(view: View) -> None:
    viewed = view(paused(*[calling("price", item="tea")] * 5, "done", tools=[price]))
    viewed.execute("pace", seconds=30)
    viewed.execute("step")
    viewed.until(lambda: len(viewed.screen.cards) == 2 and viewed.screen.head["status"] == "paused")


def answers(viewed: Viewed, command: str) -> list[str]:
    """Return the kinds of the answers to a command."""
    return [m["t"] for m in viewed.screen.messages if m.get("cid") == command and m["t"] in ("ack", "nak")]


def test_an_answer_that_was_lost_is_given_again_without_performing_the_command_again(view: View) -> None:
    viewed = view(paused(calling("price", item="tea"), "done", tools=[price]))
    viewed.dispatcher.take({"t": "cmd", "cid": "1", "cmd": "step"})
    viewed.until(lambda: answers(viewed, "1") == ["ack"] and len(viewed.screen.cards) == 2)
    viewed.dispatcher.answer_again(["1"])
    viewed.until(lambda: answers(viewed, "1") == ["ack", "ack"])
    assert len(viewed.run) == 2


def test_a_command_in_progress_is_answered_once(view: View) -> None:
    running, goes_on = threading.Event(), threading.Event()

    @tool
    def wait() -> str:
        """Wait."""
        running.set()
        assert goes_on.wait(TIMEOUT)
        return "waited"

    viewed = view(paused(calling("wait"), "done", tools=[wait]))
    viewed.settle("step")
    viewed.execute("play")
    assert running.wait(TIMEOUT)
    viewed.dispatcher.take({"t": "cmd", "cid": "1", "cmd": "inject", "text": "And milk."})
    viewed.dispatcher.take({"t": "cmd", "cid": "2", "cmd": "undo"})
    viewed.dispatcher.answer_again(["2"])
    goes_on.set()
    viewed.until(lambda: len(answers(viewed, "2")) == 1 and len(answers(viewed, "1")) == 1)


@pytest.mark.parametrize("ids", [["never"], ["x" * 1_000], [None], [{"a": 1}]])
def test_a_command_that_never_arrived_is_refused_and_can_be_repeated(view: View, ids: list[Any]) -> None:
    viewed = view(paused("done"))
    viewed.dispatcher.answer_again(ids)
    viewed.until(lambda: answers(viewed, str(ids[0])[:100]) == ["nak"])
    assert viewed.screen.answers[str(ids[0])[:100]]["type"] == "Lost"


@pytest.mark.parametrize("ids", [None, "1", 5, {"1": 2}])
def test_a_greeting_without_a_list_of_commands_is_only_a_greeting(view: View, ids: Any) -> None:
    viewed = view(paused("done"))
    viewed.dispatcher.answer_again(ids)
    viewed.execute("step")
    assert not [message for message in viewed.screen.messages if message["t"] == "nak"]
