"""The frames of document 004: its table row by row, in live runs and in recorded ones."""

from __future__ import annotations

import json
import random
import threading
import time
from typing import Any

import pytest
from fake_secrets import ALL
from hostile_text import ATTACKS
from serve.event_source import messages
from serve.streamed import add, asks, frames, is_kept, look, started

from agentkit import Agent, Call, Loop, Run, tool
from agentkit.errors import ModelError, UsageError
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted
from agentkit.serve.frames import Frame, Frames, position
from agentkit.trace.events import Event

TABLE: dict[tuple[str, Any, Any], set[str]] = {
    ("step", "thinking", "start"): {"type", "status", "iteration"},
    ("step", "thinking", "done"): {"type", "status", "iteration", "reasoning"},
    ("step", "iteration", "start"): {"type", "status", "iteration", "tool_name", "tool_args"},
    ("step", "iteration", "done"): {
        *("type", "status", "iteration", "tool_name", "observation", "error", "iter_elapsed"),
    },
    ("step", "answer", "start"): {"type", "status"},
    ("answer", None, "start"): {"status"},
    ("answer", None, "delta"): {"status", "content"},
    ("answer", None, "done"): {"status"},
    ("compact", None, None): {"original_messages", "kept_messages"},
    ("phase", None, None): {"phase", "total_tools"},
    ("inject", "inject", None): {"type", "content"},
    ("done", None, None): {"answer", "iterations", "usage", "elapsed"},
}
"""The table "SSE event protocol" of document 004: the channel, type and status of each frame, and its keys."""

CALL = Call("add", {"a": 1, "b": 2}, "c1")
OTHER = Call("look", {"what": "sky"}, "c2")
JSON_CALL = '{"reasoning": "I add", "tool": "add", "arguments": {"a": 1, "b": 2}}'


def row(frame: Frame) -> tuple[str, Any, Any]:
    return frame.event, frame.data.get("type"), frame.data.get("status") if frame.event != "budget" else None


def rows(some: list[Frame]) -> list[tuple[str, Any, Any]]:
    return [row(frame) for frame in some]


def steps(some: list[Frame]) -> list[str]:
    """Return the frames of the table as short texts, without the others."""
    return [" ".join(filter(None, row(frame))) for frame in some if row(frame) in TABLE]


def tool_selection() -> tuple[Run, list[Event]]:
    others = [tool(effect="pure")(_named(f"tool_{n}")) for n in range(13)]
    return started(['{"tools": ["add"]}', asks(CALL), "three"], [add, *others], select_tools=True)


def _named(name: str) -> Any:
    def nothing() -> str:
        """Do nothing."""
        return ""

    nothing.__name__ = name
    return nothing


def injected() -> tuple[Run, list[Event]]:
    run, events = started([asks(CALL), "three", "bonjour"])
    next(run)
    run.inject("in French, please")
    return run, events


def compacted() -> tuple[Run, list[Event]]:
    long = "x" * 3_000
    agent: dict[str, Any] = {"compact": {"tokens": 1_500, "keep": 1}}
    replies = [asks(Call("look", {"what": long}, "c1")), asks(Call("look", {"what": "b"}, "c2")), "notes", "blue"]
    return started([*replies, "blue", "blue"], **agent)


SITUATIONS: dict[str, Any] = {
    "native": lambda: started([asks(CALL, OTHER), "three"]),
    "native, two phases": lambda: started([asks(CALL, OTHER), "three", "It is three."], synthesize=True, chunks=3),
    "json": lambda: started([JSON_CALL, '{"answer": "three"}'], native=False, dialect="json"),
    "json, two phases": lambda: started(
        [JSON_CALL, '{"answer": "three"}', "It is three."], native=False, dialect="json", synthesize=True, chunks=3
    ),
    "tool selection": tool_selection,
    "injected": injected,
    "compacted": compacted,
    "a failing tool": lambda: started([asks(Call("add", {"a": 1}, "c1")), "cannot"]),
    "a limit": lambda: started([asks(CALL)] * 5, engine=Loop("react", max_iterations=2)),
}
ENGINES = (
    *("react", "chain_of_thought", "plan_and_execute", "dag", "reflexion", "self_ask", "critic", "self_refine"),
    *("tree_of_thoughts", "rewoo", "auto"),
)
for _engine in ENGINES:
    SITUATIONS[_engine] = lambda engine=_engine: started(
        [], ["math"], "What is 17 * 23?", engine=engine, model="offline", synthesize=True
    )


@pytest.mark.parametrize("situation", SITUATIONS)
def test_recorded_frames_are_those_that_were_sent_live_but_for_the_pieces(situation: str) -> None:
    run, events = SITUATIONS[situation]()
    run.drive()
    assert run.status == "done"
    live, recorded = frames(run, events), frames(run)
    assert [frame for frame in live if frame.id] == [frame for frame in recorded if frame.id]
    without_id = [sorted(f.text for f in some if not f.id and is_kept(f)) for some in (live, recorded)]
    assert without_id[0] == without_id[1]
    assert rows(live)[-2:] == [("answer", None, "done"), ("done", None, None)]
    assert (
        live[-1].data["answer"]
        == run.answer
        == "".join(frame.data["content"] for frame in recorded if row(frame) == ("answer", None, "delta"))
    )
    assert live[-1].data["usage"]["calls"] == run.usage.calls > 0


@pytest.mark.parametrize("situation", SITUATIONS)
def test_each_frame_of_the_table_has_at_least_its_keys(situation: str) -> None:
    run, events = SITUATIONS[situation]()
    run.drive()
    for frame in [*frames(run, events), *frames(run)]:
        if frame.event in ("step", "answer", "compact", "phase", "inject", "done"):
            assert TABLE[row(frame)] <= set(frame.data)


def test_every_row_of_the_table_occurs() -> None:
    seen = set()
    for situation in SITUATIONS.values():
        run, events = situation()
        run.drive()
        seen |= set(rows(frames(run, events)))
    assert set(TABLE) <= seen


NATIVE = [
    *("step thinking start", "step thinking done", "step iteration start", "step iteration done"),
    *("step thinking start", "step thinking done", "step answer start"),
    *("answer start", "answer delta", "answer done", "done"),
]


@pytest.mark.parametrize("options", [{}, {"native": False, "dialect": "json"}], ids=["native", "json"])
@pytest.mark.parametrize("synthesize", [False, True], ids=["one phase", "two phases"])
def test_the_frames_come_in_the_order_of_document_004(options: Any, synthesize: bool) -> None:
    first: Any = JSON_CALL if options else asks(CALL)
    last = '{"answer": "three"}' if options else "three"
    run, events = started([first, last, "It is three."], synthesize=synthesize, **options)
    run.drive()
    assert steps(frames(run, events)) == steps(frames(run)) == NATIVE
    assert run.answer == ("It is three." if synthesize else "three")


def test_the_data_of_the_steps_is_that_of_the_run() -> None:
    run, events = started([asks(CALL, text="I add", reasoning="one and two"), "three"])
    run.drive()
    step = {steps([frame])[0]: frame.data for frame in frames(run, events)[:6] if row(frame) in TABLE}
    assert step["step thinking done"]["reasoning"] == "one and two"
    start, done = step["step iteration start"], step["step iteration done"]
    assert start["tool_name"] == done["tool_name"] == "add"
    assert start["tool_args"] == {"a": 1, "b": 2}
    assert (done["observation"], done["error"], done["iteration"]) == ("3", None, 1)
    last = frames(run, events)[-1].data
    assert last["iterations"] == 2 and last["answer"] == "three"


def test_a_failed_call_has_an_error_and_no_observation() -> None:
    run, _ = started([asks(Call("add", {"a": 1}, "c1")), "cannot"])
    run.drive()
    done = next(frame.data for frame in frames(run) if row(frame) == ("step", "iteration", "done"))
    assert done["observation"] is None and "b" in done["error"]


def test_an_edited_call_starts_with_the_arguments_with_which_it_runs() -> None:
    run, events = started([asks(CALL), "seven"])
    next(run)
    run.edit(run.pending[0], arguments={"a": 3, "b": 4})
    run.drive()
    starts = [frame.data for frame in frames(run, events) if row(frame) == ("step", "iteration", "start")]
    assert [start["tool_args"] for start in starts] == [{"a": 3, "b": 4}]


def test_parallel_calls_have_their_own_elapsed_time_and_the_iteration_of_their_thought() -> None:
    meeting = threading.Barrier(2)

    @tool(effect="pure")
    def quick() -> str:
        """Return at once."""
        meeting.wait(10)
        return "quick"

    @tool(effect="pure")
    def slow() -> str:
        """Take a while."""
        meeting.wait(10)
        time.sleep(0.2)
        return "slow"

    run, events = started([asks(Call("slow", {}, "c1"), Call("quick", {}, "c2")), "done"], [quick, slow])
    run.drive()
    live = frames(run, events)
    assert steps(live)[1:6] == ["step thinking done", *["step iteration start"] * 2, *["step iteration done"] * 2]
    done = {f.data["tool_name"]: f.data for f in live if row(f) == ("step", "iteration", "done")}
    assert done["slow"]["iter_elapsed"] >= 0.2 > done["quick"]["iter_elapsed"] >= 0
    assert done["slow"]["iteration"] == done["quick"]["iteration"] == 1


def test_the_lanes_of_a_plan_count_their_own_iterations() -> None:
    plan = "1. sky\n2. sea"

    def model(request: Any) -> Any:
        if request.role == "plan":
            return '{"steps": [{"id": 1, "task": "sky"}, {"id": 2, "task": "sea"}]}'
        if request.role == "analyze":
            return "ACHIEVED: yes\nCONFIDENCE: 0.9\nANSWER: blue"
        asked = any(message.role == "tool" for message in request.chat)
        return "blue" if asked else asks(OTHER)

    model.abilities = Abilities(tools=True)  # type: ignore[attr-defined]
    model.name = plan  # type: ignore[attr-defined]
    run, events = started([], engine="dag", model=model)
    run.drive()
    live, recorded = frames(run, events), frames(run)
    lanes: dict[str, list[int]] = {}
    for frame in recorded:
        if row(frame) == ("step", "thinking", "done") and "]" in frame.data["path"]:
            lanes.setdefault(frame.data["path"], []).append(frame.data["iteration"])
        if row(frame) == ("step", "iteration", "done"):
            assert frame.data["iteration"] == 1
    assert len(lanes) == 2 and all(numbers == [1, 2] for numbers in lanes.values())
    assert [f for f in live if f.id] == [f for f in recorded if f.id]
    assert {"plan_created", "plan_step_started", "plan_step_completed"} <= {frame.event for frame in recorded}


def test_a_failing_model_ends_with_error_and_done_and_a_later_try_goes_on_after_them() -> None:
    run, events = started([ModelError("the host is down"), "fine"])
    assert isinstance(run.drive().error, ModelError)
    failed = frames(run, events)
    assert [frame.event for frame in failed if frame.event in ("error", "done")] == ["error", "done"]
    error, done = (frame for frame in failed if frame.event in ("error", "done"))
    assert error.data == {"type": "ModelError", "message": "the host is down", "retry": True}
    assert done.data["error"] == "ModelError: the host is down" and done.data["answer"] == ""
    encoder = Frames(run.id)
    for event in events:
        encoder.take(event)
    assert encoder.is_over
    run.drive()
    later = frames(run, events)
    assert later[: len(failed)] == failed and later[-1].data["answer"] == "fine"
    assert [frame for frame in later if frame.id] == [frame for frame in frames(run) if frame.id]


def test_a_call_that_is_stopped_and_made_again_starts_twice() -> None:
    entered, leave = threading.Event(), threading.Event()

    @tool(effect="idempotent")
    def wait() -> str:
        """Wait."""
        entered.set()
        leave.wait(10)
        return "so"

    run, events = started([asks(Call("wait", {}, "c1")), "so"], [wait])
    run.play()
    assert entered.wait(10)
    run.stop()
    run.wait(10)
    leave.set()
    run.drive()
    calls = [
        (f.event, f.data.get("status"))
        for f in frames(run, events)
        if f.event == "abandoned" or f.data.get("type") == "iteration"
    ]
    assert calls == [("step", "start"), ("abandoned", None), ("step", "start"), ("step", "done")]
    assert [frame for frame in frames(run, events) if frame.id] == [frame for frame in frames(run) if frame.id]


def test_elapsed_is_the_time_from_the_first_row_to_the_last_also_when_it_is_read_later() -> None:
    run, events = started([asks(CALL), "three"])
    time.sleep(0.05)
    run.drive()
    rows_ = run.rows()
    elapsed = round(rows_[-1].at - rows_[0].ended, 3)
    time.sleep(0.05)
    assert frames(run, events)[-1].data["elapsed"] == frames(run)[-1].data["elapsed"] == elapsed >= 0.05


def test_what_document_004_has_no_frame_for_has_frames_of_other_names() -> None:
    @tool(effect="irreversible")
    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    replies = [asks(Call("pay", {"amount": 5}, "c1")), asks(Call("pay", {"amount": 6}, "c2")), "paid", "paid again"]
    run, events = started(replies, [pay], approve=True)
    run.play().wait(10)
    waiting = frames(run, events)[-2:]
    assert [frame.event for frame in waiting] == ["waiting", "paused"] and not waiting[0].id
    assert waiting[0].data["name"] == "pay" and waiting[0].data["arguments"] == {"amount": 5}
    run.approve()
    run.play().wait(10)
    run.edit(run.pending[0], arguments={"amount": 4})
    run.approve()
    run.drive()
    run.undo()
    names = {frame.event for frame in frames(run, events)}
    assert {"started", "playing", "waiting", "paused", "edited", "moved"} <= names


def test_a_budget_has_frames_of_its_own() -> None:
    run, _ = started([asks(CALL)] * 9, budget={"max_model_calls": 5})
    run.drive()
    budget = [frame.data for frame in frames(run) if frame.event == "budget"]
    assert [(data["status"], data["limit"], data["max"]) for data in budget] == [
        ("warning", "max_model_calls", 5),
        ("exceeded", "max_model_calls", 5),
    ]
    assert "max_model_calls" in frames(run)[-1].data["interrupted"]


def test_an_answer_that_differs_from_what_was_streamed_begins_again() -> None:
    encoder = Frames("r")
    place = {"path": "", "index": 3, "role": "synthesize", "tags": {}}
    sent = [
        *encoder.take(Event("concluding", "r", 7, {"answer": "brief", "more": None})),
        *encoder.take(Event("thinking", "r", 0, place)),
        *encoder.take(Event("model_chunk", "r", 0, {**place, "text": "It i", "reasoning": "", "again": ""})),
        *encoder.take(Event("model_chunk", "r", 0, {**place, "text": "", "reasoning": "", "again": "the line broke"})),
        *encoder.take(Event("model_chunk", "r", 0, {**place, "text": "It is", "reasoning": "", "again": ""})),
        *encoder.take(Event("completed", "r", 9, {"answer": "brief", "interrupted": ""})),
    ]
    assert [(f.event, f.data.get("status"), f.data.get("content"), f.id) for f in sent] == [
        ("step", "start", None, "7.0"),
        ("answer", "start", None, ""),
        ("answer", "delta", "It i", ""),
        ("answer", "start", None, ""),
        ("answer", "delta", "It is", ""),
        ("answer", "start", None, ""),
        ("answer", "delta", "brief", ""),
        ("answer", "done", None, "9.0"),
        ("done", None, None, "9.1"),
    ]


def test_a_session_that_is_longer_than_what_the_run_is_told_begins_with_compact() -> None:
    agent = Agent(Scripted([f"answer {n}" for n in range(4)]), journal="memory", retained_turns=2)
    last = [agent.run(f"question {n}", session="compacted") for n in range(4)]
    counts = [[f.data for f in frames(result.run) if f.event == "compact"] for result in last]
    assert counts == [[], [], [], [{"original_messages": 6, "kept_messages": 4}]]
    again = agent.resume(last[3].run.id)
    assert [f.event for f in frames(again)][:2] == ["started", "compact"]


@pytest.mark.parametrize("id", ["x", "1.", ".1", "1.2.3", "-1.0", "1.-1", " 1.0", "1.0\n", "٣.0", "1" * 40, 3, None])
def test_what_is_not_an_id_is_refused(id: Any) -> None:
    with pytest.raises(UsageError, match=r"two numbers"):
        position(id)


def test_ids_are_in_the_order_of_the_frames() -> None:
    run, _ = started([asks(CALL, OTHER), "three"], synthesize=True)
    run.drive()
    ids = [position(frame.id) for frame in frames(run) if frame.id]
    assert ids == sorted(set(ids)) and position("") < ids[0] and position("3") > position("3.9")


HOSTILE = (
    *ATTACKS,
    *("data: x\n\nevent: done\ndata: {}\n\n", "id: 9.9\n", "\r\rdata: 1", "retry: 1\r\n", ": comment", "\0", "\ufeff"),
    *("\ud800", "x\udfffy", "\udc00\ud800", "😀", "\\ud800", '"}\n\ndata: ', "]]>", "</script>", "\n\n\n"),
)


@pytest.mark.parametrize("chunk", range(4))
def test_hostile_text_in_every_place_leaves_the_stream_well_formed(chunk: int) -> None:
    for text in HOSTILE[chunk::4]:
        said = f"a{text}b"

        @tool(effect="pure")
        def echo(text: str) -> str:
            """Echo."""
            return text

        call = Call("echo", {"text": said, said: said}, said)
        replies = [asks(call, text=said, reasoning=said), asks(Call(said, {}, "c2"), text=said), ModelError(said), said]
        run, events = started([*replies, said], [echo], task=said, synthesize=True, chunks=2)
        run.inject(said)
        assert isinstance(run.drive().error, ModelError)
        run.drive()
        for some in (frames(run, events), frames(run)):
            stream = "".join(frame.text for frame in some).encode()
            assert stream.isascii() and not set(stream) & (set(range(32)) - {10})
            received = messages(stream)
            assert [message.event for message in received] == [frame.event for frame in some]
            for message, frame in zip(received, some, strict=True):
                assert "\\ud8" not in message.data.replace("\\ud83d\\ude00", "") or "\\\\ud8" in message.data
                json.dumps(message.json, ensure_ascii=False).encode()  # without halves of characters
                if frame.id:
                    assert message.last_id == frame.id


def test_secrets_are_masked_in_every_frame() -> None:
    fake = random.Random(1).choice([fake for fake in ALL if len(fake.secret) > 20])
    secret = f"{fake.head}{fake.secret}{fake.tail}"

    @tool(effect="pure")
    def echo(text: str) -> str:
        """Echo."""
        return text

    call = Call("echo", {"text": secret}, "c1")
    run, events = started(
        [asks(call, text=secret), ModelError(secret), secret, secret], [echo], synthesize=True, chunks=4
    )
    run.inject(secret)
    assert isinstance(run.drive().error, ModelError)
    run.drive()
    for some in (frames(run, events), frames(run)):
        assert len(some) > 10 and fake.secret not in "".join(frame.text for frame in some)


def test_numbers_that_are_not_json_become_text() -> None:
    frame = Frame("", "x", {"a": float("nan"), "b": [float("inf")], "c": 1.5, "d": 2**60})
    assert json.loads(frame.text.partition("data: ")[2]) == {"a": "NaN", "b": ["Infinity"], "c": 1.5, "d": str(2**60)}
    assert look.name == "look"
