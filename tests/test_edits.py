"""What a person can change: observations, thoughts, arguments, pending steps; undo, forks, decisions, injections."""

from __future__ import annotations

from typing import Any

import pytest
from splitting import split

from agentkit import Agent, All, Answer, Call, Chat, Loop, Reply, Run, Think, load, tool
from agentkit.errors import Ended, Undecided, UsageError
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

SENT: list[str] = []


@tool(effect="pure")
def look(city: str) -> str:
    """Look at the weather."""
    return f"rain in {city}"


@tool(effect="irreversible")
def send(text: str) -> str:
    """Send a message to the world."""
    SENT.append(text)
    return "sent"


@pytest.fixture(autouse=True)
def nothing_sent() -> None:
    SENT.clear()


def call(name: str, **arguments: Any) -> Reply:
    return Reply(f"I {name}", (Call(name, arguments, f"{name}1"),))


def begin(*replies: Any, **options: Any) -> tuple[Run, Scripted]:
    model = Scripted([*replies], abilities=Abilities(tools=True))
    return Agent(model, [look, send], journal="memory", **split(options)).start("q", paused=True), model


def seen(model: Scripted) -> list[Any]:
    return [message["content"] for message in model.requests[-1]["messages"]]


def test_the_model_gets_the_edited_observation_and_the_original_is_kept() -> None:
    run, model = begin(call("look", city="Oslo"), "sunny")
    next(run)
    original = next(run)
    fresh = run.edit(2, text="sun in Oslo", reason="the sensor is broken")
    next(run)
    assert seen(model)[-1] == "sun in Oslo"
    assert (fresh.original, fresh.author, fresh.reason) == (original.id, "human", "the sensor is broken")
    assert original.result.text == "rain in Oslo" and original in [e for line in run.branches() for e in line]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('[{"day": 1, "sky": "clear"}]', [{"day": 1, "sky": "clear"}]),
        ('{"day": 1}', None),  # no longer a list
        ("no forecast", None),
        ("[1, 2", None),
    ],
)
def test_an_edited_observation_stays_data_if_it_was_data_and_is_json(text: str, value: Any) -> None:
    @tool(effect="pure")
    def forecast() -> list[dict[str, Any]]:
        """Return two days."""
        return [{"day": day, "sky": "rain"} for day in (1, 2)]

    model = Scripted([call("forecast"), "done"], abilities=Abilities(tools=True))
    run = Agent(model, [forecast], journal="memory").start("q", paused=True)
    next(run)
    next(run)
    edited = run.edit(2, text=text)
    assert (edited.result.text, edited.result.value) == (text, value)


def test_a_text_that_was_not_data_does_not_become_data_by_an_edit() -> None:
    run, _ = begin(call("look", city="Oslo"), "sunny")
    next(run)
    next(run)
    assert run.edit(2, text="[1, 2]").result.value is None


def test_the_tool_gets_edited_arguments_and_the_model_sees_them_as_its_own() -> None:
    run, model = begin(call("look", city="Oslo"), "dry")
    next(run)
    thought = run.edit(arguments={"city": "Rome"})
    assert thought.kind == "think" and thought.original
    assert next(run).result.text == "rain in Rome"
    next(run)
    assert '"Rome"' in str(model.requests[-1]["messages"]) and "Oslo" not in str(model.requests[-1]["messages"])


def test_editing_the_arguments_of_an_action_that_ran_runs_it_again() -> None:
    run, _ = begin(call("look", city="Oslo"), "dry")
    next(run)
    next(run)
    run.edit(2, arguments={"city": "Rome"})
    assert len(run) == 2 and next(run).result.text == "rain in Rome"


def test_an_edited_thought_can_answer_or_make_other_calls() -> None:
    run, _ = begin(call("look", city="Oslo"))
    next(run)
    run.edit(1, answer="I know it: rain")
    assert run.drive().answer == "I know it: rain"
    run.edit(1, calls=[Call("send", {"text": "hi"}, "s")])
    assert run.pending[0].step.call.name == "send"  # type: ignore[union-attr]


def test_a_pending_step_can_be_answered_by_hand() -> None:
    run, model = begin(call("look", city="Oslo"), "unused")
    run.edit(text="I say it myself")
    assert run.drive().answer == "I say it myself" and model.requests == []
    other, _ = begin(call("look", city="Oslo"), "done")
    next(other)
    assert other.edit(text="made up").author == "human"
    assert other.entries[2].result.text == "made up"


@pytest.mark.parametrize(
    ("entry", "change", "says"),
    [
        (0, {"text": "x"}, "begin cannot be edited"),
        (1, {"colour": "x"}, "unknown change"),
        (2, {"answer": "x"}, "unknown change"),
        (1, {}, "say what to change"),
        (9, {"text": "x"}, "there is no entry 9"),
    ],
)
def test_a_change_that_makes_no_sense_says_what_would(entry: int, change: dict[str, Any], says: str) -> None:
    run, _ = begin(call("look", city="Oslo"), "done")
    run.drive()
    with pytest.raises(UsageError, match=says):
        run.edit(entry, **change)
    assert run.answer == "done"


def test_undo_reverts_an_edit_and_then_a_step_and_redo_restores_them() -> None:
    run, _ = begin(call("look", city="Oslo"), "done")
    next(run)
    next(run)
    run.edit(2, text="sun")
    run.undo()
    assert run[2].result.text == "rain in Oslo"
    run.undo()
    assert len(run) == 2
    run.redo().redo()
    assert run[2].result.text == "sun"


def test_rewind_makes_an_entry_the_last_one_and_other_branches_can_be_returned_to() -> None:
    run, _ = begin(call("look", city="Oslo"), "first", "second")
    run.drive()
    last = run[3]
    run.rewind(2)
    assert run.drive().answer == "second"
    run.rewind(last)
    assert run.pending[0].step.answer == "first"  # type: ignore[union-attr]
    assert [line[-1].step.answer for line in run.branches() if line[-1].kind == "conclude"] == ["second", "first"]  # type: ignore[union-attr]


def test_an_edit_in_one_lane_takes_off_the_lanes_that_were_opened_after_it() -> None:
    def model(request: Any) -> str:
        return "7 of 10" if request.role == "evaluate" else f"idea {len(request.chat)}"

    agent = Agent(model, engine=Loop("tree_of_thoughts", max_depth=2), journal="memory")
    run = agent.start("q", paused=True)
    for _ in range(6):
        next(run)
    proposals = [entry for entry in run.entries if entry.step and entry.step.role == "propose"]
    assert [entry.step.role for entry in run.entries if entry.step] == ["propose"] * 3 + ["evaluate"] * 3
    run.edit(proposals[1], text="another idea")
    assert {entry.step.role for entry in run.entries if entry.step} == {"propose"}
    positions = [(pending.path, pending.step.role) for pending in run.pending]
    run.close()
    again = agent.resume(run.id)
    assert [(pending.path, pending.step.role) for pending in again.pending] == positions


def test_lanes_that_an_edited_thought_opens_for_the_first_time_come_before_those_that_follow_them() -> None:
    def pair(role: str) -> All:
        return All(tuple(Think(Chat.of(f"{role} {number}"), role=role) for number in range(2)))

    def propose(task: Any) -> Any:
        yield pair("propose")

    def engine(task: Any) -> Any:
        thought = yield Think(Chat.of(task))
        if "propose" in thought.text:
            yield from propose(task)
        yield pair("evaluate")
        return Answer("done", Chat.of(task))

    run = Agent(lambda request: "evaluate", engine=engine, journal="memory").start("q", paused=True)
    run.drive()
    run.edit(1, text="propose first")
    run.drive()
    assert [entry.step.role for entry in run.entries[2:-1] if entry.step] == ["propose"] * 2 + ["evaluate"] * 2
    run.edit(2, text="another idea")
    assert [entry.step.role for entry in run.entries[2:] if entry.step] == ["propose"] * 2


def test_a_fork_reuses_the_recorded_steps_says_so_and_leaves_the_first_run_unchanged() -> None:
    run, model = begin(call("look", city="Oslo"), "first", "second")
    run.drive()
    fork = run.fork(2)
    assert "2 recorded steps are reused" in fork.forecast and len(model.requests) == 2
    fork.edit(2, text="sun")
    assert fork.drive().answer == "second"
    assert run.answer == "first" and run[2].result.text == "rain in Oslo"


def test_a_fork_asks_before_it_repeats_a_call_of_an_irreversible_tool() -> None:
    run, _ = begin(call("send", text="hi"), "first", "second")
    run.drive()
    fork = run.fork(1)
    assert "send(text='hi') [irreversible]" in fork.forecast
    fork.drive()
    assert (fork.status, SENT) == ("waiting", ["hi"])
    with pytest.raises(
        Undecided, match=r"was performed at .*, in run .* would be called again: decide with run.reuse()"
    ):
        next(fork)
    fork.approve()
    assert fork.drive().answer == "second" and SENT == ["hi", "hi"]


def test_a_fork_may_change_the_model_and_the_dialect() -> None:
    run, _ = begin(call("look", city="Oslo"), "first")
    run.drive()
    other = Scripted(["Thought: I see\nFINAL_ANSWER: from text"])
    fork = run.fork(2, model=other, dialect="text")
    assert fork.drive().answer == "from text"
    assert other.requests[0]["messages"][-1]["content"] == "Observation: rain in Oslo"


@pytest.mark.parametrize("journal", ["memory", "file"])
def test_a_fork_may_change_the_options_of_the_engine_and_keeps_them(journal: str, tmp_path: Any) -> None:
    where = "memory" if journal == "memory" else tmp_path / "runs.db"
    calls = [call("look", city=city) for city in ("Oslo", "Rome", "Bern")]
    model = Scripted([*calls[:2], "forced", calls[2], "done", "forced again"], abilities=Abilities(tools=True))
    agent = Agent(model, [look], journal=where, engine=Loop("react", max_iterations=2))
    run = agent.start("q", paused=True)
    assert run.drive().reason == "max_turns" and run.answer == "forced"
    other = run.fork(engine={"max_iterations": 5})
    assert (
        "4 recorded steps are reused" in other.forecast and other.drive().answer == "done" and not other.result.reason
    )
    third = other.fork(2)
    assert third.task["options"] == {"max_iterations": 5} and run.task["options"] == {"max_iterations": 2}
    assert load(other.to_json()).answer == "done" and run.answer == "forced"
    other.close()
    assert agent.resume(other.id).answer == "done"
    assert run.fork(1, engine={"max_iterations": 1}).drive().answer == "forced again"


def test_a_fork_can_turn_synthesis_on_or_off() -> None:
    run, _ = begin(call("look", city="Oslo"), "rain", "**Rain.**", "It rains.")
    run.drive()
    other = run.fork(synthesize=True)
    assert other.drive().answer == "**Rain.**" and other.fork(2, synthesize=False).drive().answer == "It rains."
    with pytest.raises(ValueError, match="max_iterations"):
        run.fork(engine={"max_iterations": 0})


@pytest.mark.parametrize(
    "change", [{"instructions": "Be kind."}, {"recall": 0}, {"retained_turns": 3}, {"journal": None}]
)
def test_a_fork_says_what_it_cannot_change(change: Any) -> None:
    run, _ = begin("first")
    with pytest.raises(UsageError, match=f"a fork cannot change {next(iter(change))}"):
        run.fork(**change)


# -- injection ---------------------------------------------------------------------------------------------------------


def test_an_injected_message_arrives_once_and_its_receipt_says_so() -> None:
    run, model = begin(call("look", city="Oslo"), "done")
    next(run)
    receipt = run.inject("be quick")
    assert not receipt.seen
    next(run)
    next(run)
    assert receipt.seen and seen(model)[-2:] == ["rain in Oslo", "[USER INTERRUPT] be quick"]


def test_a_recalled_message_never_reaches_a_prompt() -> None:
    run, model = begin(call("look", city="Oslo"), "done")
    run.inject("forget it").recall()
    run.drive()
    assert "forget it" not in str(model.requests)


def test_blank_injections_are_refused() -> None:
    run, _ = begin("done")
    with pytest.raises(UsageError, match="some text"):
        run.inject("  \n")


def test_the_final_answer_waits_for_injected_messages() -> None:
    run, model = begin("first", "second")
    next(run)
    run.inject("and in French?")
    assert run.drive().answer == "second"
    assert seen(model)[-1] == "[USER INTERRUPT] and in French?"


def test_a_message_that_no_model_has_seen_at_the_end_is_reported() -> None:
    held: list[Run] = []

    def last(request: Any) -> Reply:
        held[0].inject("too late")
        return call("look", city="Oslo")

    run, _ = begin(call("look", city="Oslo"), last, budget={"max_model_calls": 2})
    held.append(run)
    run.drive()
    assert run.result.reason == "budget:max_model_calls" and run.result.pending_injections == ("too late",)
    with pytest.raises(Ended, match="undo"):
        run.inject("later still")


# -- decisions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decision", "sent"),
    [
        (True, ["hi"]),
        ("allow", ["hi"]),
        (False, []),
        ("deny", []),
        (None, []),
        ("yes please", []),
        ({"text": "ho"}, ["ho"]),
    ],
)
def test_an_approver_decides_and_only_an_explicit_approval_counts(decision: Any, sent: list[str]) -> None:
    model = Scripted([call("send", text="hi"), "done"], abilities=Abilities(tools=True))
    result = Agent(model, [send], journal="memory", approve=["send"], approver=lambda call: decision).run("q")
    assert (result.answer, SENT) == ("done", sent)
    if not sent:
        assert "rejected" in seen(model)[-1] or "denied" in seen(model)[-1]


def test_without_an_approver_a_blocking_run_rejects() -> None:
    _run, _model = begin(call("send", text="hi"), "done", approve=True)
    model2 = Scripted([call("send", text="hi"), "done"], abilities=Abilities(tools=True))
    assert Agent(model2, [send], journal="memory", approve=True).run("q").answer == "done"
    assert SENT == [] and "approval" in seen(model2)[-1]


def test_in_a_held_run_a_person_can_approve_edit_reject_or_respond() -> None:
    for decide, sent, text in (
        (lambda run: run.approve(), ["hi"], "sent"),
        (lambda run: run.approve(arguments={"text": "ho"}), ["ho"], "sent"),
        (lambda run: run.reject("not today"), [], "not today"),
        (lambda run: run.respond("done by hand"), [], "done by hand"),
    ):
        SENT.clear()
        run, model = begin(call("send", text="hi"), "done", approve=["send"])
        run.drive()
        assert run.status == "waiting" and "approval" in run.waiting[0][1].why
        decide(run)
        assert run.drive().answer == "done"
        assert text in seen(model)[-1] and sent == SENT


def test_an_approval_can_be_remembered() -> None:
    run, _ = begin(call("send", text="1"), call("send", text="2"), "done", approve=["send"])
    run.drive()
    run.approve(remember=True)
    assert run.drive().answer == "done" and SENT == ["1", "2"]
