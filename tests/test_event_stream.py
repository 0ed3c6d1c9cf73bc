"""Events: typed, in order, as JSON, with a cursor; every declared kind really occurs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from agentkit import Act, Agent, Answer, Ask, Call, Chat, Reply, Run, Think, tool
from agentkit.errors import ModelError
from agentkit.hooks import length
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted
from agentkit.trace.events import KINDS, Event


@tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def calls(*pairs: tuple[int, int]) -> Reply:
    return Reply("I add", tuple(Call("add", {"a": a, "b": b}, f"c{a}{b}") for a, b in pairs))


RECORDED = {"journal": "memory"}


def heard(replies: list[Any], drive: Any, limit: Any = (), **options: Any) -> tuple[Run, list[Event]]:
    events: list[Event] = []
    model = Scripted(replies, abilities=Abilities(tools=True, stream=True), **options)
    run = Agent(model, [add], on_event=events.append, **RECORDED, **dict(limit)).start("q", paused=True)
    drive(run)
    return run, events


def kinds(events: Any) -> list[str]:
    return [event.kind for event in events]


def test_started_comes_first_completed_last_and_a_call_before_its_result() -> None:
    run, events = heard([calls((1, 2), (3, 4)), "ten"], Run.drive)
    order = kinds(events)
    assert order[0] == "started" and order[-1] == "completed"
    for call in ("c12", "c34"):
        order = [event.kind for event in events if event.data.get("id") == call]
        assert order == ["tool_call", "tool_result"]
    read = list(run.events())
    assert read[-1].kind == "resume_done" and kinds(read).count("tool_call") == 2
    assert [event for event in read if event.cursor] == [event for event in events if event.cursor]


def test_reading_from_a_cursor_returns_exactly_the_later_events() -> None:
    run, _ = heard([calls((1, 2)), "three"], Run.drive)
    all_events = list(run.events())
    recorded = [n for n, event in enumerate(all_events[:-1]) if event.cursor]
    assert len(recorded) > 3
    for n in recorded:
        assert list(run.events(after=all_events[n].cursor)) == all_events[n + 1 :]


def test_every_event_is_json_with_the_declared_keys() -> None:
    run, _ = heard([calls((1, 2)), "three"], Run.drive)
    for event in run.events():
        data = json.loads(json.dumps(event.to_dict(), allow_nan=False))
        assert data["kind"] in KINDS and data["cursor"] == event.cursor


def test_the_chunks_add_up_to_the_text_and_reasoning_is_separate() -> None:
    reply = Reply("The answer is three", reasoning="let me see")
    run, events = heard([reply], Run.drive, chunks=4)
    pieces = [event.data for event in events if event.kind == "model_chunk"]
    assert len(pieces) > 3 and "".join(piece["text"] for piece in pieces) == "The answer is three" == run.answer
    assert "".join(piece["reasoning"] for piece in pieces) == "let me see"


def test_a_listener_that_raises_is_not_called_again_and_affects_nothing_else() -> None:
    heard: list[str] = []

    def listener(event: Event) -> None:
        heard.append(event.kind)
        raise ValueError("no")

    run = Agent(Scripted(["done"]), journal="memory", on_event=listener).start("q", paused=True)
    assert run.drive().answer == "done" and heard == ["started"]
    assert "warning" in kinds(run.events())


def asks(task: Any) -> Any:
    name = yield Ask("Your name?")
    return Answer(f"Hello {name}", Chat.of(task))


def test_every_declared_kind_of_event_occurs() -> None:
    heard: list[Event] = []
    model = Scripted([calls((1, 2)), ModelError("no"), "three"], abilities=Abilities(tools=True, stream=True), chunks=4)
    run = Agent(model, [add], journal="memory", on_event=heard.append).start("q", paused=True)
    next(run)
    run.break_at(role="evaluate")
    run.inject("soon recalled").recall()
    next(run)
    run.edit(2, text="three")
    run.drive()
    run.on_event(lambda event: 1 / 0)
    run.play().wait()
    question = Agent("echo", engine=asks, journal="memory", on_event=heard.append).start("q", paused=True)
    question.drive()
    question.respond("Ada")
    dear = Scripted([calls((1, 2)), "three"], abilities=Abilities(tools=True))
    asked = Agent(
        dear, [add], journal="memory", on_event=heard.append, budget={"max_model_calls": 1, "ask": True}
    ).start("q", paused=True)
    asked.drive()
    asked.approve()
    asked.dialect = "text"
    mind: list[str] = []

    def engine(task: Any) -> Any:
        thought = yield Think(Chat.of(task), role=mind[0] if mind else "thought")
        return Answer(thought.text, Chat.of(task))

    changed = Agent("echo", engine=engine, journal="memory", on_event=heard.append)
    name = changed.run("q").run.id
    mind.append("plan")
    assert changed.resume(name).status == "diverged"
    begun, over = threading.Event(), threading.Event()
    left = Agent(lambda request: begun.set() or over.wait(30) or "late", journal="memory", on_event=heard.append)
    waiting = left.start("q")
    assert begun.wait(10)
    waiting.wait(0)
    over.set()
    waiting.signal("shipped")
    Agent("echo", journal="memory", on_event=heard.append, guardrails=[length(1)]).run("a question")
    assert {*kinds(heard), *kinds(run.events())} == set(KINDS)


@pytest.mark.parametrize("journal", ["memory", "sqlite"])
@pytest.mark.parametrize("effect", ["pure", "irreversible"])
def test_a_call_and_its_result_have_the_arguments_with_which_the_tool_ran(effect: Any, journal: str) -> None:
    ran: list[int] = []

    @tool(effect=effect)
    def pay(amount: int, password: str = "") -> None:
        ran.append(amount)

    events: list[Event] = []
    reply = Reply("", (Call("pay", {"amount": 90}, "c"),))
    model = Scripted([reply, "paid"], abilities=Abilities(tools=True))
    run = Agent(model, [pay], journal=journal, approve=True, on_event=events.append).start("q", paused=True)
    run.drive()
    run.approve(arguments={"amount": 9})
    run.drive()
    for heard in (events, list(run.events())):
        called = {event.kind: event.data["arguments"] for event in heard if event.kind in ("tool_call", "tool_result")}
        assert called == {"tool_call": {"amount": 9}, "tool_result": {"amount": 9}} and ran == [9]


def test_a_call_without_a_thought_has_arguments_too() -> None:
    def engine(task: Any, tools: Any = ()) -> Any:
        found = yield Act(Call("add", {"a": 1, "b": 2}, "x"))
        return Answer(found.text, Chat.of(task))

    events: list[Event] = []
    steps: list[Any] = []
    Agent(
        "echo",
        [add],
        engine=engine,
        journal="memory",
        on_event=events.append,
        on_step=lambda *step: steps.append(step[1]),
    ).run("q")
    assert next(event for event in events if event.kind == "tool_call").data["arguments"] == {"a": 1, "b": 2}
    assert steps == [{"tool": "add", "arguments": {"a": 1, "b": 2}}]


def over_the_limit() -> tuple[Run, list[Event]]:
    return heard([calls((1, 2), (3, 4), (5, 6)), "done"], Run.drive, limit={"max_tool_calls": 1})


def rejected() -> tuple[Run, list[Event]]:
    return heard([calls((1, 2)), "done"], lambda run: (run.drive(), run.reject(), run.drive()), limit={"approve": True})


def written_by_a_person() -> tuple[Run, list[Event]]:
    return heard([calls((1, 2)), "done"], lambda run: (next(run), run.edit(text="4"), run.drive()))


def answered_after_it_was_performed() -> tuple[Run, list[Event]]:
    def drive(run: Run) -> None:
        next(run), next(run)
        run.rewind(1)
        run.edit(text="4")
        run.drive()

    return heard([calls((1, 2)), "done"], drive)


@pytest.mark.parametrize("journal", ["memory", "sqlite"])
@pytest.mark.parametrize(
    ("make", "performed"),
    [
        (over_the_limit, [True, False, False]),
        (rejected, [False]),
        (written_by_a_person, [False]),
        (answered_after_it_was_performed, [True, False]),
    ],
)
def test_a_call_that_is_answered_instead_of_performed_has_both_events(
    make: Callable[[], tuple[Run, list[Event]]], performed: list[bool], journal: str, monkeypatch: Any
) -> None:
    monkeypatch.setitem(RECORDED, "journal", journal)
    run, events = make()
    for stream in (events, list(run.events())):
        calls_and_results = [event for event in stream if event.kind in ("tool_call", "tool_result")]
        for kind in ("tool_call", "tool_result"):
            data = [event.data["performed"] for event in calls_and_results if event.kind == kind]
            assert sorted(data, reverse=True) == performed
        out: list[Any] = []
        for event in calls_and_results:
            out.append(event.data["id"]) if event.kind == "tool_call" else out.remove(event.data["id"])
        assert out == []


def test_the_events_of_a_fork_begin_with_its_past() -> None:
    run, _ = heard([calls((1, 2)), "three", "four"], Run.drive)
    fork = run.fork(2)
    fork.drive()
    once_more = fork.fork(2)
    for forked in (fork, once_more):
        events = list(forked.events())
        order = [kind for kind in kinds(events) if kind != "diverged"]
        assert order[:5] == ["started", "thought", "tool_call", "tool_result", "moved"]
        assert [event.run for event in events[:4]] == [run.id] * 4 and events[4].run == forked.id
        cursor = events[4].cursor
        assert list(forked.events(after=cursor)) == events[5:]


def test_playing_comes_first_and_nothing_after_the_end() -> None:
    _, events = heard([calls((1, 2)), "three"], lambda run: run.play().wait(30))
    assert kinds(events)[:2] == ["started", "playing"] and kinds(events)[-1] == "completed"
    _, events = heard([calls((1, 2)), "three"], lambda run: (run.break_at(tool="add"), run.drive(), run.drive()))
    assert [kind for kind in kinds(events) if kind in ("playing", "paused", "completed")] == [
        "playing",
        "paused",
        "playing",
        "completed",
    ]


def test_on_step_is_called_for_each_thought_and_each_tool_result() -> None:
    steps: list[Any] = []
    model = Scripted([calls((1, 2)), "three"], abilities=Abilities(tools=True))
    Agent(model, [add], journal="memory", on_step=lambda *step: steps.append(step)).run("q")
    assert steps == [(1, {"tool": "add", "arguments": {"a": 1, "b": 2}}, "3", None, 1), (2, None, None, None, 2)]


def test_parallel_results_come_as_they_finish_and_their_messages_in_the_order_of_the_calls() -> None:
    second_is_done = threading.Event()

    @tool(effect="pure")
    def work(name: str) -> str:
        assert name == "second" or second_is_done.wait(30)
        return name

    def listen(event: Event) -> None:
        events.append(event)
        if event.kind == "tool_result":
            second_is_done.set()

    events: list[Event] = []
    replies = [Reply("", tuple(Call("work", {"name": name}, name) for name in ("first", "second"))), "done"]
    model = Scripted(replies, abilities=Abilities(tools=True))
    run = Agent(model, [work], journal="memory", on_event=listen).run("q").run
    for stream in (events, list(run.events())):
        assert [event.data["id"] for event in stream if event.kind == "tool_result"] == ["second", "first"]
    sent = model.requests[-1]["messages"]
    assert [message["content"] for message in sent if message["role"] == "tool"] == ["first", "second"]


def test_a_call_that_had_begun_when_its_process_ended_is_told_as_it_is_recorded() -> None:
    def open_again() -> Run:
        agent = Agent(Scripted(["three"], abilities=Abilities(tools=True)), [add], on_event=events.append, **RECORDED)
        return agent.resume(run.id)

    events: list[Event] = []
    run = Agent(Scripted([calls((1, 2))]), [add], **RECORDED).start("q", paused=True)
    next(run)
    run.trace.begin_call(run.pending[0], "irreversible", 1.0)  # and nothing more
    run.close()
    resumed = open_again()
    resumed.respond("3")
    resumed.drive()
    told = [event for event in events if event.cursor]
    assert told == [event for event in resumed.events() if event.cursor in {event.cursor for event in told}]
    assert [event.data["performed"] for event in told if event.kind == "tool_result"] == [True]
