"""AG-UI: every event is one of the protocol's own models, in an order that its clients accept."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest
from fake_secrets import ALL
from pydantic import BaseModel, TypeAdapter
from serve.event_source import messages
from serve.streamed import add, asks, look, started

from agentkit import Act, Agent, Answer, Ask, Call, Chat, Loop, Run, Think, tool
from agentkit.errors import ModelError, UsageError
from agentkit.models.scripted import Scripted
from agentkit.serve import agui
from agentkit.serve.log import Log

CALL = Call("add", {"a": 1, "b": 2}, "c1")
OTHER = Call("look", {"what": "sky"}, "c2")


@tool(effect="irreversible")
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def check(model: BaseModel) -> None:
    """Check that a model has no field that the protocol does not know, here or inside."""
    assert not model.model_extra, model
    for value in dict(model).values():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, BaseModel):
                check(item)


def valid(text: str, *, goes_on: bool = False) -> list[dict[str, Any]]:
    """Return the events of one AG-UI run, after checking each of them, and their order.

    A run that goes on may have the results of calls that an earlier one began.
    """
    import ag_ui.core

    adapter: Any = TypeAdapter(ag_ui.core.Event)
    events = [message.json for message in messages(text.encode())]
    for event in events:
        check(adapter.validate_python(event))
        check(adapter.validate_json(json.dumps(event)))
    assert events[0]["type"] == "RUN_STARTED" and events[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
    assert not {"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"} & {event["type"] for event in events[1:-1]}
    is_open: set[str] = set()
    calls: set[str] = set()
    used: set[str] = set()
    for event in events[1:-1]:
        kind = event["type"]
        id = event.get("toolCallId") if kind.startswith("TOOL_CALL") else event.get("messageId")
        if kind == "CUSTOM":
            continue
        if kind == "TOOL_CALL_RESULT":
            assert (id in calls or goes_on) and event["messageId"] not in used
            used.add(event["messageId"])
        elif kind.endswith("_START"):
            name = f"{kind.removesuffix('_START')} {id}"
            assert name not in is_open | used
            is_open.add(name)
            used.add(name)
            calls |= {id} if kind == "TOOL_CALL_START" else set()
        else:
            begun = kind.removesuffix("_END").removesuffix("_CONTENT").removesuffix("_ARGS")
            assert f"{begun} {id}" in is_open, event
            if kind.endswith("_END"):
                is_open.remove(f"{begun} {id}")
    assert events[-1]["type"] == "RUN_ERROR" or not is_open
    return events


def read(run: Run, *, play: bool = False, from_now: bool = False, id: str = "r1") -> list[dict[str, Any]]:
    async def main() -> str:
        stream = Log.of(run).agui("t1", id, from_now=from_now)
        if play:
            run.play()
        return "".join([text async for text in stream])

    return valid(asyncio.run(asyncio.wait_for(main(), 30)), goes_on=from_now)


def types(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events if event["type"] != "CUSTOM"]


def answer(events: list[dict[str, Any]]) -> str:
    """Return the text of the last message."""
    last = [event["messageId"] for event in events if event["type"] == "TEXT_MESSAGE_START"][-1]
    return "".join(event["delta"] for event in events if event.get("messageId") == last and "delta" in event)


REASONING = ["REASONING_START", *(f"REASONING_MESSAGE_{part}" for part in ("START", "CONTENT", "END")), "REASONING_END"]


@pytest.mark.parametrize("live", [False, True], ids=["recorded", "live"])
def test_a_run_is_reasoning_calls_and_an_answer(live: bool) -> None:
    run, _ = started([asks(CALL), "three", "It is three."], synthesize=True, chunks=3)
    if not live:
        run.drive()
    events = read(run, play=live)
    call = [f"TOOL_CALL_{part}" for part in ("START", "ARGS", "END", "RESULT")]
    contents = types(events).count("TEXT_MESSAGE_CONTENT")
    text = ["TEXT_MESSAGE_START", *["TEXT_MESSAGE_CONTENT"] * contents, "TEXT_MESSAGE_END"]
    assert types(events) == ["RUN_STARTED", *REASONING, *call, *text, "RUN_FINISHED"]
    assert answer(events) == run.answer == events[-1]["result"]["answer"] == "It is three."
    assert events[-1]["outcome"] == {"type": "success"}
    assert (events[0]["threadId"], events[0]["runId"]) == (events[-1]["threadId"], events[-1]["runId"]) == ("t1", "r1")
    sent = {event["type"]: event for event in events}
    assert json.loads(sent["TOOL_CALL_ARGS"]["delta"]) == {"a": 1, "b": 2}
    assert sent["TOOL_CALL_RESULT"]["content"] == "3" and sent["TOOL_CALL_START"]["toolCallName"] == "add"


ENGINES = ("react", "plan_and_execute", "dag", "reflexion", "self_ask", "critic", "self_refine", "tree_of_thoughts")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("live", [False, True], ids=["recorded", "live"])
def test_every_engine_gives_a_valid_run(engine: str, live: bool) -> None:
    run, _ = started([], ["math"], "What is 17 * 23?", engine=engine, model="offline", synthesize=True)
    if not live:
        run.drive()
    events = read(run, play=live)
    assert answer(events) == run.answer == events[-1]["result"]["answer"]


def test_calls_with_the_same_id_get_ids_of_their_own() -> None:
    run, _ = started([asks(CALL), asks(CALL), asks(Call("add", {"a": 3, "b": 4}, "")), "done"])
    run.drive()
    events = read(run)
    starts = [event["toolCallId"] for event in events if event["type"] == "TOOL_CALL_START"]
    results = {e["toolCallId"]: e["content"] for e in events if e["type"] == "TOOL_CALL_RESULT"}
    assert len(set(starts)) == 3 and list(results) == starts and list(results.values()) == ["3", "3", "7"]


def test_a_failing_model_ends_the_run_with_an_error_and_the_next_one_goes_on() -> None:
    run, _ = started([asks(CALL), ModelError("down"), "three"])
    events = read(run, play=True)
    assert events[-1] == {"type": "RUN_ERROR", "message": "down", "code": "ModelError"}
    rest = read(run, play=True, from_now=True, id="r2")
    assert types(rest)[0] == "RUN_STARTED" and answer(rest) == "three" and rest[0]["runId"] == "r2"
    assert "TOOL_CALL_START" not in types(rest)


def waiting(replies: list[Any], **options: Any) -> tuple[Run, list[dict[str, Any]]]:
    run, _ = started(replies, [pay, add, look], approve=True, **options)
    events = read(run, play=True)
    assert events[-1]["outcome"]["type"] == "interrupt"
    return run, events


def resolved(events: list[dict[str, Any]], *payloads: Any) -> list[dict[str, Any]]:
    """Return the answers to the interrupts with which a run ended, checked by the protocol's own models."""
    import ag_ui.core

    interrupts = events[-1]["outcome"]["interrupts"]
    entries = [
        {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}
        for interrupt, payload in zip(interrupts, payloads, strict=True)
    ]
    data = {"threadId": "t1", "runId": "r2", "messages": [], "resume": entries}
    check(ag_ui.core.RunAgentInput.model_validate(data))
    return agui.read_input(json.loads(json.dumps(data))).resume


CALLS = asks(Call("pay", {"amount": 5}, "c1"), Call("pay", {"amount": 6}, "c2"))


@pytest.mark.parametrize(
    ("payload", "observation"),
    [
        ({"decision": "approve"}, "paid 5"),
        (True, "paid 5"),
        ({"decision": "reject", "comment": "too much"}, "too much"),
        (False, "reject"),
        ({"decision": "respond", "value": "it is paid already"}, "it is paid already"),
        ({"decision": "respond", "value": {"paid": 5}}, '{"paid": 5}'),
    ],
)
def test_an_interrupt_is_resumed_with_a_decision(payload: Any, observation: str) -> None:
    run, events = waiting([asks(Call("pay", {"amount": 5}, "c1")), "done"])
    interrupt = events[-1]["outcome"]["interrupts"][0]
    assert interrupt["reason"] == "tool_approval" and interrupt["toolCallId"] == "c1"
    assert "TOOL_CALL_START" in types(events) and "TOOL_CALL_RESULT" not in types(events)
    resume = resolved(events, payload)
    log = Log.of(run)

    async def main() -> str:
        stream = log.agui("t1", "r2", from_now=True)
        agui.decide(run, resume)
        run.play()
        return "".join([text async for text in stream])

    text = asyncio.run(asyncio.wait_for(main(), 30))
    rest = [message.json for message in messages(text.encode())]
    result = next(event for event in rest if event["type"] == "TOOL_CALL_RESULT")
    assert result["toolCallId"] == "c1" and observation in result["content"].replace(": ", ": ")
    assert rest[-1]["result"]["answer"] == "done"


def test_parallel_calls_are_interrupts_that_are_answered_together() -> None:
    run, events = waiting([CALLS, "done"])
    assert [interrupt["toolCallId"] for interrupt in events[-1]["outcome"]["interrupts"]] == ["c1", "c2"]
    agui.decide(run, resolved(events, {"decision": "reject"}, {"decision": "approve"}))
    run.drive()
    texts = {entry.step.call.id: entry.result.text for entry in run.entries if type(entry.step) is Act}
    assert texts["c2"] == "paid 6" and "paid" not in texts["c1"]


def test_a_run_that_waits_says_so_to_a_front_end_that_opens_later() -> None:
    run, events = waiting([CALLS, "done"])
    assert read(run)[-1]["outcome"] == events[-1]["outcome"]
    assert Log.of(run).forget() and Log.of(run, agui.Agui).forget()
    assert read(run)[-1]["outcome"] == events[-1]["outcome"]


def test_a_question_is_an_interrupt_whose_payload_is_the_reply() -> None:
    def asking(chat: Chat) -> Any:
        color = yield Ask("Which color?")
        reply = yield Think(chat + f"It is {color}.")
        return Answer(reply.text, reply.chat if hasattr(reply, "chat") else chat)

    run, _ = started(["so blue"], [], engine=asking)
    events = read(run, play=True)
    interrupt = events[-1]["outcome"]["interrupts"][0]
    assert (interrupt["reason"], interrupt["message"]) == ("question", "Which color?")
    with pytest.raises(UsageError, match="respond"):
        agui.decide(run, [{"interruptId": interrupt["id"], "status": "cancelled"}])
    agui.decide(run, resolved(events, "blue"))
    assert run.drive().answer == "so blue" and run.entries[1].result == "blue"


def test_a_cancelled_interrupt_rejects_the_call() -> None:
    run, events = waiting([asks(Call("pay", {"amount": 5}, "c1")), "done"])
    id = events[-1]["outcome"]["interrupts"][0]["id"]
    agui.decide(run, [{"interruptId": id, "status": "cancelled"}])
    assert run.drive().answer == "done" and "paid" not in run.entries[2].result.text


def test_a_paused_run_is_an_interrupt_that_playing_resolves() -> None:
    run, _ = started([asks(CALL), "three"])
    run.break_at(tool="add")
    events = read(run, play=True)
    assert [interrupt["id"] for interrupt in events[-1]["outcome"]["interrupts"]] == [agui.PAUSED]
    agui.decide(run, resolved(events, None))
    assert answer(read(run, play=True, from_now=True)) == "three"


def test_an_answer_decides_only_about_the_call_that_the_person_saw() -> None:
    run, events = waiting([asks(Call("pay", {"amount": n}, "c1")) for n in (5, 5000)] + ["done"])
    resume = resolved(events, {"decision": "approve"})
    run.rewind(run.entries[0])
    now = read(run, play=True, from_now=True)
    assert len(run.waiting) == 1
    with pytest.raises(UsageError, match="is not an interrupt"):
        agui.decide(run, resume)
    agui.decide(run, resolved(now, {"decision": "approve"}))
    assert run.drive().answer == "done" and run.entries[2].result.text == "paid 5000"


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"interruptId": "nothing", "status": "resolved", "payload": True},
        {"interruptId": "WAITS", "status": "ended", "payload": True},
        {"interruptId": "WAITS", "status": "resolved"},
        {"interruptId": "WAITS", "status": "resolved", "payload": "yes"},
        {"interruptId": "WAITS", "status": "resolved", "payload": {"decision": "discard"}},
        {"interruptId": "WAITS", "status": "resolved", "payload": {"decision": "reuse"}},
        {"interruptId": ["WAITS"], "status": "resolved", "payload": True},
        {"interruptId": "FIRST", "status": "resolved", "payload": False},
    ],
)
def test_what_does_not_answer_an_interrupt_is_refused_before_anything_is_decided(entry: dict[str, Any]) -> None:
    run, events = waiting([CALLS, "done"])
    first, second = (interrupt["id"] for interrupt in events[-1]["outcome"]["interrupts"])
    known = {"WAITS": second, "FIRST": first}
    bad = {key: known.get(value, value) if isinstance(value, str) else value for key, value in entry.items()}
    with pytest.raises(UsageError):
        agui.decide(run, [{"interruptId": first, "status": "resolved", "payload": True}, bad])
    assert len(run.waiting) == 2


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"threadId": "t", "runId": "r"},
        {"threadId": 1, "runId": "r", "messages": []},
        {"threadId": "t", "runId": "r", "messages": []},
        {"threadId": "t", "runId": "r", "messages": ["hi"]},
        {"threadId": "t", "runId": "r", "messages": [{"role": "assistant", "content": "hi"}]},
        {"threadId": "t", "runId": "r", "messages": [{"role": "user", "content": 3}]},
        {"threadId": "t", "runId": "r", "messages": [{"role": "user", "content": [{"type": "image"}]}]},
        {"threadId": "t", "runId": "r", "messages": [], "resume": {"interruptId": "x"}},
        {"threadId": "t", "runId": "r", "messages": [], "resume": ["x"]},
    ],
)
def test_an_input_that_is_not_one_is_refused(data: Any) -> None:
    with pytest.raises(UsageError):
        agui.read_input(data)


def test_the_last_message_of_the_user_is_the_task() -> None:
    import ag_ui.core

    parts = [{"type": "text", "text": "two"}, {"type": "text", "text": "parts"}]
    for content, task in [("hello", "hello"), (parts, "two\n\nparts")]:
        said = [
            {"id": "1", "role": "user", "content": "before"},
            {"id": "2", "role": "assistant", "content": "hm"},
            {"id": "3", "role": "user", "content": content},
        ]
        data = {"threadId": "t", "runId": "r", "state": {}, "messages": said, "tools": [], "context": []}
        sent = ag_ui.core.RunAgentInput.model_validate(data).model_dump(by_alias=True, exclude_none=True, mode="json")
        known = agui.read_input(sent)
        assert (known.thread, known.run, known.task, known.resume) == ("t", "r", task, [])


def test_what_agui_has_no_event_for_is_custom() -> None:
    run, _ = started([asks(CALL)] * 9, engine=Loop("react", max_iterations=9), budget={"max_model_calls": 5})
    next(run)
    run.inject("go on")
    run.edit(1, text="no", calls=[CALL])
    run.drive()
    names = {event["name"] for event in read(run) if event["type"] == "CUSTOM"}
    assert {"injected", "edited", "moved", "budget_warning", "budget_exceeded"} <= names


def test_a_server_that_closes_ends_the_run_with_an_error() -> None:
    run, _ = started([asks(CALL), "three"])
    run.drive()
    run.undo()

    async def main() -> str:
        log = Log.of(run)
        stream = log.agui("t", "r", from_now=True)
        first = await anext(stream)
        reader = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.1)
        log.close()
        return first + await reader

    assert valid(asyncio.run(asyncio.wait_for(main(), 10)))[-1]["code"] == "closed"


HOSTILE = ("\n\ndata: {}\n\n", "\u2028", "\r", "\0", "\x1b[2J", "\ud800", "end: {}", '"}\n\n', "😀")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_leaves_the_stream_valid(text: str) -> None:
    said = f"a{text}b"

    @tool(effect="pure")
    def echo(text: str) -> str:
        """Echo."""
        return text

    calls = asks(Call("echo", {"text": said}, said), Call(said, {said: said}, said), text=said, reasoning=said)
    run, _ = started([calls, said, said], [echo], task=said, synthesize=True, chunks=2)
    run.inject(said)
    events = read(run, play=True)
    assert answer(events) == run.answer.replace("\ud800", "?") or text == "\ud800"  # type: ignore[union-attr]


def test_secrets_are_masked() -> None:
    fake = random.Random(2).choice([fake for fake in ALL if len(fake.secret) > 20])
    secret = f"{fake.head}{fake.secret}{fake.tail}"
    run, _ = started([asks(Call("pay", {"amount": secret}, "c1"), text=secret), secret], [pay], approve=True)
    assert fake.secret not in json.dumps(read(run, play=True))
    run.approve()
    assert fake.secret not in json.dumps(read(run, play=True, from_now=True))


def test_a_thread_is_a_session() -> None:
    agent = Agent(Scripted(["Bern.", "134,000."]), journal="memory")
    for task in ("The capital?", "How many people?"):
        data = {"threadId": "t7", "runId": "r", "messages": [{"role": "user", "content": task}]}
        known = agui.read_input(data)
        run = agent.start(known.task, session=known.thread, paused=True)
        assert answer(read(run, play=True))
    assert [message.text for message in run.messages] == ["The capital?", "Bern.", "How many people?", "134,000."]
