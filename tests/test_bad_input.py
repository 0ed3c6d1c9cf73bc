"""Invalid arguments: a clear error that says what to do, before anything is changed."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest
from splitting import split

from agentkit import Act, All, Answer, Ask, Call, Chat, Loop, Reply, Run, Think, Usage, tool
from agentkit.agent.agent import Agent
from agentkit.errors import EngineError, ReadOnly, Unknown, UsageError
from agentkit.journal.memory import MemoryJournal
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted


@tool(effect="pure")
def look(city: str) -> str:
    """Look at the weather."""
    return f"rain in {city}"


CALL = Reply("I look", (Call("look", {"city": "Oslo"}, "c"),))


def begin(*replies: Any, **options: Any) -> Run:
    model = Scripted([*replies] or [CALL, "rain"], abilities=Abilities(tools=True))
    return Agent(model, [look], **split({"journal": MemoryJournal(), **options})).start("q", paused=True)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"journal": 5}, "journal must be a string, a path or a Journal, not 5"),
        ({"journal": ""}, "journal must be a string that is not empty"),
        ({"approve": 5}, "approve must be True or False, a list, a tuple, a set or a function, not 5"),
        ({"approve": "look"}, "approve must be True or False, a list"),
        ({"approve": ["lok"]}, "unknown tool to approve 'lok'; did you mean 'look'"),
        ({"approver": "allow"}, "approver must be a function"),
        ({"arounds": [5]}, "an item of arounds must be a string or a function"),
        ({"arounds": look}, "arounds must be a list"),
        ({"on_event": 5}, "on_event must be a function"),
        ({"on_step": "print"}, "on_step must be a function"),
        ({"roles": ["plan"]}, "roles must be a dict"),
        ({"settings": 5}, "settings must be a dict"),
        ({"instructions": 5}, "instructions must be a string"),
        ({"raise_errors": "yes"}, "raise_errors must be True or False"),
        ({"dialect": 5}, "dialect must be 'native', 'json' or 'text'"),
    ],
)
def test_an_invalid_setting_is_refused_at_construction(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        Agent("offline", [look], **split(options))
    with pytest.raises(UsageError, match=re.escape(says)):
        Agent("offline", [look]).using(**options)


@pytest.mark.parametrize("task", [None, 5, object(), [None], [5]])
def test_an_invalid_task_starts_no_run(task: Any) -> None:
    journal = MemoryJournal()
    with pytest.raises((UsageError, ValueError), match=r"a task must be a str|the role of a message must be"):
        Agent("offline", journal=journal).start(task)
    assert journal.runs() == []


@pytest.mark.parametrize("timeout", ["x", -1, float("nan"), True, float("inf")])
def test_an_invalid_timeout_performs_nothing(timeout: Any) -> None:
    run = begin()
    for act in (run.drive, run.wait, lambda timeout: run.agent.run("q", timeout=timeout)):
        with pytest.raises(UsageError, match="number of seconds"):
            act(timeout=timeout)
    assert run.agent.model.requests == [] and run.status == "paused" and len(run.agent.journal.runs()) == 1


@pytest.mark.parametrize(
    ("entry", "change", "says"),
    [
        (1, {"calls": ["x"]}, "calls= must be a list of Call"),
        (1, {"calls": "look"}, "calls= must be a list of Call"),
        (1, {"calls": [Call("look", "Oslo")]}, "calls= must be a list of Call"),  # type: ignore[arg-type]
        (1, {"arguments": "x"}, "arguments= must be a dict"),
        (2, {"arguments": {1: 2}}, "arguments= must be a dict"),
        (2, {"text": "x", "arguments": {"city": "Rome"}}, "text= and arguments= contradict"),
        (1, {"answer": "x", "calls": []}, "answer= and calls= contradict"),
        (1, {"calls": [], "arguments": {}}, "calls= and arguments= contradict"),
        (1, {"text": None}, "text= must be a str"),
        (1, {"answer": 5}, "answer= must be a str"),
        ("2", {"text": "x"}, "its number in the trace"),
        (True, {"text": "x"}, "its number in the trace"),
        (-9, {"text": "x"}, "there is no entry -9"),
    ],
)
def test_an_invalid_edit_changes_nothing(entry: Any, change: dict[str, Any], says: str) -> None:
    run = begin()
    run.drive()
    rows = len(run.agent.journal.rows(run.id))
    with pytest.raises(UsageError, match=re.escape(says)):
        run.edit(entry, **change)
    assert run.answer == "rain" and len(run.agent.journal.rows(run.id)) == rows


@pytest.mark.parametrize("change", [{"text": "x", "arguments": {}}, {"arguments": "Rome"}, {"text": 5}])
def test_an_invalid_edit_leaves_the_pending_step_unchanged(change: dict[str, Any]) -> None:
    run = begin()
    next(run)
    with pytest.raises(UsageError):
        run.edit(**change)
    with pytest.raises(UsageError, match="dict"):
        run.approve(arguments="Rome")  # type: ignore[arg-type]
    assert next(run).result.text == "rain in Oslo"


def test_entries_of_another_run_are_refused_but_those_of_an_older_object_are_accepted() -> None:
    run, other = begin(), begin()
    for one in (run, other):
        one.drive()
    for act in (lambda: run.edit(other[2], text="sun"), lambda: run.rewind(other[2]), lambda: run.fork(other[2])):
        with pytest.raises(UsageError, match="another run"):
            act()
    assert run.answer == "rain" and len(run.branches()) == 1
    old = run[2]
    run.close()
    again = run.agent.resume(run.id)
    assert again.edit(old, text="sun").original == old.id


def test_an_unknown_lane_is_named() -> None:
    run = begin()
    with pytest.raises(Unknown, match=re.escape("unknown lane '[3.0]'")):
        run.inject("hello", to="[3.0]")
    for text in (None, 5, b"x"):
        with pytest.raises(UsageError, match="some text"):
            run.inject(text)  # type: ignore[arg-type]
    assert run.trace.injections.notes == {}


def test_an_engine_that_lacks_a_recorded_option_by_now_opens_the_run_read_only_and_names_the_option() -> None:
    def engine_with(parameter: str) -> Any:
        def engine(task: Any, **options: Any) -> Any:
            thought = yield Think(Chat.of(task))
            return Answer(thought.text, Chat.of(task))

        engine.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ("task", parameter)]
        )
        return engine

    run = Agent("echo", engine=Loop(engine_with("rounds"), rounds=3)).start("hi", paused=True)
    run.close()
    for _ in range(2):  # and the run is not left held
        again = Agent("echo", engine=engine_with("turns")).resume(run.id)
        assert again.status == "readonly" and "unknown option 'rounds'" in again.read_only
        again.close()
    assert Agent("echo", engine=engine_with("rounds")).resume(run.id).drive().answer == "hi"


@pytest.mark.parametrize(
    "reply",
    [
        Reply("x", usage=5),  # type: ignore[arg-type]
        Reply("x", usage=Usage("many")),  # type: ignore[arg-type]
        Reply("x", usage=Usage(1, cost=float("nan"))),
        Reply("x", usage=Usage(1, cost=float("inf"))),
        Reply(None),  # type: ignore[arg-type]
        Reply("x", calls=["look"]),  # type: ignore[arg-type]
        Reply("x", calls=(Call("look", "Oslo"),)),  # type: ignore[arg-type]
        Reply("x", reasoning=5),  # type: ignore[arg-type]
    ],
)
def test_an_invalid_reply_is_refused_before_it_is_recorded(reply: Reply) -> None:
    for drive in (Run.drive, lambda run: run.play().wait(10)):
        run = begin(reply, "fine")
        drive(run)
        assert run.status == "failed" and "Reply" in run.hold and len(run) == 1, repr(run)
        assert run.drive().answer == "fine"


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (lambda: Think("text"), "Think takes a Chat"),  # type: ignore[arg-type]
        (lambda: Think(Chat.of("q"), "look"), "tuple of tools"),  # type: ignore[arg-type]
        (lambda: Act(("x",)), "Act takes one Call"),  # type: ignore[arg-type]
        (lambda: Act("x"), "Act takes one Call"),  # type: ignore[arg-type]
        (lambda: Act([Call("look")]), "Act takes one Call"),  # type: ignore[arg-type]
        (lambda: Act(Call("look", "Oslo")), "a dict of arguments"),  # type: ignore[arg-type]
        (lambda: Ask(5), "Ask takes a str"),  # type: ignore[arg-type]
        (lambda: All(5), "All takes a tuple"),  # type: ignore[arg-type]
        (lambda: All((Think("text"),)), "Think takes a Chat"),  # type: ignore[arg-type]
        (lambda: All(("x",)), "an engine yields steps"),
        (lambda: Reply("x"), "an engine yields steps"),
    ],
)
def test_an_invalid_step_is_an_engine_error_that_names_the_mistake(step: Callable[[], Any], says: str) -> None:
    def engine(task: Any) -> Any:
        yield step()
        return Answer("", Chat.of(task))

    for drive in (Run.drive, lambda run: run.play().wait(10), lambda run: next(run, None)):
        run = Agent("echo", [look], engine=engine, journal="memory").start("q", paused=True)
        try:
            drive(run)
        except EngineError as error:
            assert says in str(error)
        assert run.status == "failed" and says in str(run.result.error)


# -- runs that can only be read ----------------------------------------------------------------------------------------


def test_a_run_without_one_of_its_tools_can_be_changed_but_not_driven() -> None:
    run = begin(journal=MemoryJournal())
    next(run)
    next(run)
    run.close()
    again = Agent("echo", journal=run.agent.journal).resume(run.id)
    assert again.status == "readonly"
    again.edit(2, text="sun in Oslo", reason="I was there")
    again.inject("be brief")
    assert again[2].result.text == "sun in Oslo"
    again.undo()
    assert again[2].result.text == "rain in Oslo"
    with pytest.raises(ReadOnly, match="look"):
        next(again)


def test_a_closed_run_cannot_be_changed() -> None:
    run = begin()
    next(run)
    run.close()
    for act in (lambda: run.undo(), lambda: run.edit(1, text="x"), lambda: run.inject("x"), lambda: run.rewind(0)):
        with pytest.raises(ReadOnly, match="closed"):
            act()
    assert run.agent.resume(run.id).drive().answer == "rain"
