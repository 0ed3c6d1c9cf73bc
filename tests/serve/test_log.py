"""The log of a run: streams that go on at any frame, that lose nothing, and that cost the run nothing."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import threading
import time
import weakref
from typing import Any

import pytest
from serve.event_source import Message, messages
from serve.streamed import add, asks, frames, look, read, read_all, started

from agentkit import Agent, Call, Loop, Run, tool
from agentkit.errors import ModelError, UsageError
from agentkit.journal.memory import MemoryJournal
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted
from agentkit.serve import log as logs
from agentkit.serve.agui import Agui
from agentkit.serve.log import Log
from agentkit.trace.events import Event

WATCHERS = 1_000 if os.environ.get("AGENTKIT_SIZE") else 100


def text(some: list[Message]) -> list[tuple[str, str]]:
    return [(message.event, message.data) for message in some]


def parsed(stream: str) -> list[Message]:
    return messages(stream.encode())


@tool(effect="irreversible")
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def plain() -> list[Run]:
    run, _ = started([asks(Call("add", {"a": 1, "b": 2}, "c1"), Call("look", {"what": "sky"}, "c2")), "three"])
    run.drive()
    return [run]


def two_phases() -> list[Run]:
    run, _ = started([asks(Call("look", {"what": "sky"}, "c2")), "blue", "It is blue."], synthesize=True, chunks=2)
    run.drive()
    return [run]


def edited_and_undone() -> list[Run]:
    replies = [asks(Call("pay", {"amount": 5}, "c1")), "paid", asks(Call("pay", {"amount": 6}, "c2")), "more", "end"]
    run, _ = started(replies, [pay], approve=True, budget={"max_model_calls": 9}, synthesize=False)
    run.play().wait(10)
    run.approve()
    run.drive()
    run.edit(2, text="not paid")
    run.undo()
    run.redo()
    run.inject("go on")
    run.play().wait(10)
    while run.waiting:
        run.reject(comment="no")
        run.play().wait(10)
    return [run]


def forked() -> list[Run]:
    run, _ = started([asks(Call("add", {"a": 1, "b": 2}, "c1")), "three", "four", "five"])
    run.drive()
    fork = run.fork(2)
    fork.drive()
    run.undo()
    run.drive()
    return [run, fork]


def failed_and_tried_again() -> list[Run]:
    run, _ = started([ModelError("down"), asks(Call("add", {"a": 1, "b": 2}, "c1")), ModelError("down"), "three"])
    for _ in range(3):
        run.drive()
    return [run]


def out_of_budget() -> list[Run]:
    run, _ = started([asks(Call("add", {"a": 1, "b": 2}, "c1"))] * 9, budget={"max_model_calls": 5})
    run.drive()
    return [run]


def of_an_engine(name: str) -> Any:
    def make() -> list[Run]:
        options = {"engine": name, "model": "offline", "synthesize": True}
        run, _ = started([], ["math"], "What is 17 * 23?", **options)
        run.drive()
        return [run]

    return make


RUNS: dict[str, Any] = {
    **{make.__name__: make for make in (plain, two_phases, edited_and_undone, forked, failed_and_tried_again)},
    "out_of_budget": out_of_budget,
    **{name: of_an_engine(name) for name in ("dag", "plan_and_execute", "reflexion", "tree_of_thoughts")},
}


@pytest.mark.parametrize("make", RUNS)
def test_a_stream_goes_on_after_every_id_with_exactly_the_rest(make: str) -> None:
    for run in RUNS[make]():
        log = Log.of(run)
        everything = parsed(read_all(log.stream()))
        ids = [frame.id for frame in frames(run)]
        assert [message.event for message in everything] == [frame.event for frame in frames(run)]
        assert run.status == "done" and everything[-1].event == "done" and len(set(filter(None, ids))) > 4
        for n, id in enumerate(ids, 1):
            if id:
                rest = parsed(log.so_far(id))
                assert text(rest) == text(everything[n:]), id
                assert text(parsed(read_all(log.stream(id)))) == text(rest)


def test_a_client_that_reconnects_after_every_frame_ends_with_the_same_state() -> None:
    run = two_phases()[0]
    log = Log.of(run)
    all_of_it = parsed(log.so_far())
    for n in range(1, len(all_of_it)):
        seen = all_of_it[:n] + parsed(log.so_far(all_of_it[n - 1].last_id))
        answer = ""
        for message in seen:
            if message.event == "answer":
                answer = "" if message.json["status"] == "start" else answer + message.json.get("content", "")
        assert answer == run.answer and seen[-1].event == "done"


@pytest.mark.parametrize("id", ["x", "1.2.3", "-1.0", " ", "1\n"])
def test_what_is_not_an_id_is_refused_before_the_stream_begins(id: str) -> None:
    log = Log.of(plain()[0])
    with pytest.raises(UsageError):
        log.stream(id)
    with pytest.raises(UsageError):
        log.so_far(id)


def test_a_log_is_made_once_and_goes_with_its_run() -> None:
    run = plain()[0]
    log = Log.of(run)
    assert Log.of(run) is log and Log.of(plain()[0]) is not log
    log.load()
    gone = weakref.ref(log)
    del log, run
    gc.collect()
    assert gone() is None


def test_a_stream_of_a_run_that_plays_has_every_frame_wherever_it_begins() -> None:
    """Streams begin at any time while the run plays, and together with what was recorded they lack nothing."""
    replies: list[Any] = [asks(Call("look", {"what": str(n)}, f"c{n}")) for n in range(60)]
    run, _ = started([*replies, "blue", "It is blue."], synthesize=True, chunks=8, max_tool_calls=99, **LONG)

    async def main() -> list[str]:
        log = Log.of(run)
        first = asyncio.create_task(read(log.stream()))
        await asyncio.sleep(0)
        run.play()
        others = []
        for _ in range(20):
            others.append(asyncio.create_task(read(log.stream())))
            await asyncio.sleep(0.005)
        return await asyncio.wait_for(asyncio.gather(first, *others), 60)

    streams = asyncio.run(main())
    kept = [(frame.id, frame.event, frame.data) for frame in frames(run) if frame.id]
    for stream in streams:
        received = parsed(stream)
        last = [""] + [message.last_id for message in received]
        with_id = [m for m, before in zip(received, last, strict=False) if m.last_id != before]
        assert [(m.last_id, m.event, m.json) for m in with_id] == kept
        assert sum(pair == ("step", "iteration", "start") for pair in pairs_of(received)) == 60


LONG: dict[str, Any] = {"engine": Loop("react", max_iterations=99)}


def pairs_of(some: list[Message]) -> list[tuple[str, Any, Any]]:
    return [(message.event, message.json.get("type"), message.json.get("status")) for message in some]


@pytest.mark.parametrize("attempt", range(5))
def test_a_log_that_is_made_while_the_run_plays_lacks_nothing(attempt: int) -> None:
    replies: list[Any] = [asks(Call("look", {"what": str(n)}, f"c{n}")) for n in range(40)]
    run, _ = started([*replies, "blue"], max_tool_calls=99, **LONG)
    run.play()
    time.sleep(0.01 * attempt)
    received = parsed(read_all(Log.of(run).stream()))
    run.wait(10)
    starts = {frame.data["id"] for frame in frames(run) if frame.data.get("type") == "iteration"}
    assert {m.json["id"] for m in received if m.json.get("type") == "iteration"} == starts
    kept = [(frame.event, frame.data) for frame in frames(run) if frame.id]
    assert [pair for pair in ((m.event, m.json) for m in received) if pair in kept] == kept


class Racing(MemoryJournal):
    """A journal during whose reading the run goes on: one step before the rows are read, and one after it."""

    run: Run | None = None

    def rows(self, run: str, after: int = 0) -> list[Any]:
        racing, self.run = self.run, None
        if racing is not None:
            next(racing)
        rows = super().rows(run, after)
        if racing is not None:
            next(racing)
        return rows


@pytest.mark.parametrize("steps", range(4))
def test_steps_that_are_taken_while_the_log_reads_the_journal_are_in_it_once(steps: int) -> None:
    journal = Racing()
    replies: list[Any] = [asks(Call("look", {"what": str(n)}, f"c{n}")) for n in range(3)]
    run, _ = started([*replies, "blue"], journal=journal)
    for _ in range(steps):
        next(run)
    journal.run = run
    log = Log.of(run)
    log.load()
    assert journal.run is None
    run.drive()
    received = parsed(log.so_far())
    assert [(m.event, m.json) for m in received if m.event not in ("playing", "paused")] == [
        (frame.event, frame.data) for frame in frames(run)
    ]


def test_watchers_of_one_run_all_get_the_same_and_end() -> None:
    replies: list[Any] = [asks(Call("look", {"what": str(n)}, f"c{n}")) for n in range(5)]
    run, _ = started([*replies, "blue", "It is blue."], synthesize=True, chunks=1)

    async def main() -> list[str]:
        log = Log.of(run)
        readers = [asyncio.create_task(read(log.stream())) for _ in range(WATCHERS)]
        while len(next(iter(log._readers.values()), ())) < WATCHERS:
            await asyncio.sleep(0.01)
        run.play()
        return await asyncio.wait_for(asyncio.gather(*readers), 120)

    streams = asyncio.run(main())
    assert len(streams) == WATCHERS and parsed(streams[0])[-1].event == "done"
    assert len({stream.replace(": ping\n\n", "") for stream in streams}) == 1


def test_a_slow_reader_loses_nothing_and_holds_up_nobody() -> None:
    replies: list[Any] = [asks(Call("look", {"what": str(n)}, f"c{n}")) for n in range(30)]
    run, _ = started([*replies, "blue"], max_tool_calls=99, **LONG)

    async def main() -> tuple[str, str]:
        log = Log.of(run)
        slow = log.stream()
        begin = await anext(slow) + await anext(slow)  # it reads the first frames, and then nothing for a long time
        quick = asyncio.create_task(read(log.stream()))
        await asyncio.sleep(0)
        run.play()
        return await asyncio.wait_for(quick, 30), begin + await read(slow)

    quick, slow = asyncio.run(main())
    assert [m for m in text(parsed(quick)) if m[0] != "paused"] == [
        m for m in text(parsed(slow)) if m[0] not in ("paused",)
    ]


def test_a_reader_that_leaves_does_not_stop_the_run() -> None:
    entered, leave = threading.Event(), threading.Event()

    @tool(effect="pure")
    def wait() -> str:
        """Wait."""
        entered.set()
        leave.wait(10)
        return "so"

    run, _ = started([asks(Call("wait", {}, "c1")), "so"], [wait])

    async def main() -> None:
        log = Log.of(run)
        reader = asyncio.create_task(read(log.stream()))
        run.play()
        await asyncio.to_thread(entered.wait, 10)
        reader.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reader
        assert not log._readers
        leave.set()
        await asyncio.wait_for(run, 10)

    asyncio.run(main())
    assert run.status == "done" and parsed(Log.of(run).so_far())[-1].event == "done"


def test_closing_a_log_ends_its_streams() -> None:
    run, _ = started(["never"])

    async def main() -> str:
        log = Log.of(run)
        reader = asyncio.create_task(read(log.stream()))
        while not log._is_loaded:
            await asyncio.sleep(0.01)
        log.close()
        return await asyncio.wait_for(reader, 10)

    assert [m.event for m in parsed(asyncio.run(main()))] == ["started", "paused"]
    run.drive()
    assert parsed(read_all(Log.of(run).stream()))[-1].event == "done"  # for another server


def test_a_stream_says_that_a_run_at_rest_waits_for_a_person_and_goes_on_when_it_does() -> None:
    run, _ = started([asks(Call("pay", {"amount": 5}, "c1")), "paid"], [pay], approve=True)
    run.play().wait(10)

    async def main() -> list[Message]:
        received = []
        async for piece in Log.of(run).stream():
            received += parsed(piece)
            if [m.event for m in received[-2:]] == ["waiting", "paused"]:
                assert received[-2].json["arguments"] == {"amount": 5}
                run.approve()
                run.play()
        return received

    received = asyncio.run(asyncio.wait_for(main(), 30))
    assert received[-1].event == "done" and received[-1].json["answer"] == "paid"


def test_a_stream_ends_with_a_failing_model_and_another_goes_on_after_it() -> None:
    run, _ = started([ModelError("down"), "fine"])

    async def main() -> tuple[str, str]:
        log = Log.of(run)
        first = asyncio.create_task(read(log.stream()))
        await asyncio.sleep(0.05)
        run.play()
        begin = await asyncio.wait_for(first, 10)
        run.play()
        return begin, await asyncio.wait_for(read(log.stream(parsed(begin)[-1].last_id)), 10)

    begin, rest = map(parsed, asyncio.run(main()))
    assert [m.event for m in begin][-2:] == ["error", "done"] and "down" in begin[-1].json["error"]
    assert rest[-1].json["answer"] == "fine" and "started" not in [m.event for m in rest]


def test_a_run_that_another_process_resumes_goes_on_after_the_last_id(tmp_path: Any) -> None:
    file = tmp_path / "runs.db"
    replies = [asks(Call("look", {"what": "sky"}, "c1")), "blue"]
    run = Agent(Scripted(replies), [add, look], journal=str(file)).start("q", paused=True)
    next(run)
    next(run)
    before = parsed(Log.of(run).so_far())
    run.close()
    again = Agent(Scripted(["blue"], abilities=Abilities(tools=True)), [add, look], journal=str(file)).resume(run.id)
    assert again is not run
    again.drive()
    rest = parsed(read_all(Log.of(again).stream(before[-1].last_id)))
    kept = [message for message in before if message.event != "paused"]
    assert text(kept + rest) == [(f.event, f.text.partition("data: ")[2].strip()) for f in frames(again)]


def test_a_read_only_run_is_streamed_to_its_end(tmp_path: Any) -> None:
    agent = Agent(Scripted(["blue"]), journal=str(tmp_path / "runs.db"))
    run = agent.start("q", paused=True)
    looked = agent.look(run.id)
    assert [m.event for m in parsed(read_all(Log.of(looked).stream()))] == ["started"]


def test_a_run_without_a_journal_has_its_end_too() -> None:
    run, _ = started(["blue"], journal=None)
    run.drive()
    received = parsed(read_all(Log.of(run).stream()))
    assert received[-1].event == "done" and received[-1].json["answer"] == "blue"
    assert not Log.of(run).forget()


def test_a_log_that_nobody_reads_is_forgotten_and_read_again_from_the_journal() -> None:
    runs = [plain()[0] for _ in range(logs.KEPT + 3)]
    texts = [read_all(Log.of(run).stream()) for run in runs]
    kept = [bool(Log.of(run)._texts) for run in runs]
    assert kept == [False] * 3 + [True] * logs.KEPT
    assert not runs[0].control.scheduler.listeners or not Log.of(runs[0])._is_loaded
    assert [read_all(Log.of(run).stream()) for run in runs] == texts


def test_a_log_that_somebody_reads_is_not_forgotten() -> None:
    run, _ = started(["blue"])

    async def main() -> None:
        log = Log.of(run)
        stream = log.stream()
        assert "started" in await anext(stream) + await anext(stream)
        assert not log.forget()
        await stream.aclose()
        assert log.forget() and not log._texts

    asyncio.run(main())


def test_the_events_of_a_run_that_nobody_watches_do_not_pile_up() -> None:
    run, _ = started([])
    log = Log.of(run)
    log.load()
    for n in range(3 * logs.UNREAD):
        log.add(Event("warning", run.id, 0, {"text": str(n)}))
        assert len(log._new) <= logs.UNREAD
    assert sum(m.event == "warning" for m in parsed(log.so_far())) == 3 * logs.UNREAD


def test_deltas_are_gathered_and_a_burst_wakes_the_readers_once(monkeypatch: Any) -> None:
    run, _ = started([])
    place = {"path": "", "index": 0, "reasoning": "", "again": ""}

    async def main() -> tuple[str, int, float]:
        log, loop = Log.of(run), asyncio.get_running_loop()
        reader = asyncio.create_task(read(log.stream(), lambda message: "last" in message.data))
        while not log._is_loaded or log._new:
            await asyncio.sleep(0.01)
        calls: list[Any] = []
        plain_call = loop.call_soon_threadsafe

        def counted(*of: Any) -> Any:
            calls.append(of)
            return plain_call(*of)

        monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
        began = time.monotonic()

        def send() -> None:
            for n in range(300):
                log.add(Event("model_chunk", run.id, 0, {**place, "text": f"{n},"}))
                time.sleep(0.001)
            log.add(Event("model_chunk", run.id, 0, {**place, "text": "last"}))

        await asyncio.to_thread(send)
        took = time.monotonic() - began
        return await asyncio.wait_for(reader, 10), sum(of[0] == log._wake for of in calls), took

    stream, woken, took = asyncio.run(main())
    deltas = [m.json["content"] for m in parsed(stream) if m.event == "delta"]
    assert "".join(deltas) == "".join(f"{n}," for n in range(300)) + "last"
    assert len(deltas) <= took / logs.DELTA_INTERVAL + 2
    assert woken <= took / logs.DELTA_INTERVAL * 3 + 3


def test_chunks_of_parallel_replies_are_gathered_apart_and_a_new_attempt_begins_anew() -> None:
    run, _ = started([])
    log = Log.of(run)
    log.load()
    for path, piece, again in [("a", "1", ""), ("b", "x", ""), ("a", "2", ""), ("b", "", "no"), ("b", "y", "")]:
        data = {"path": path, "index": 0, "text": piece, "reasoning": "", "again": again}
        log.add(Event("model_chunk", run.id, 0, data))
    got = [(m.json["path"], m.json["content"], m.json["again"]) for m in parsed(log.so_far()) if m.event == "delta"]
    assert got == [("a", "12", ""), ("b", "x", ""), ("b", "y", "no")]


def test_a_reader_whose_loop_is_closed_does_not_trouble_the_run() -> None:
    run, events = started([asks(Call("look", {"what": "sky"}, "c1")), "blue"])
    log = Log.of(run)
    loop = asyncio.new_event_loop()
    stream = log.stream()
    loop.run_until_complete(anext(stream))
    loop.run_until_complete(anext(stream))
    assert log._readers
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    run.drive()
    assert run.status == "done" and not log._readers and "warning" not in [event.kind for event in events]
    assert parsed(log.so_far())[-1].event == "done"


def test_a_reader_that_comes_after_a_loop_was_closed_is_woken_at_once() -> None:
    run, _ = started([asks(Call("look", {"what": "sky"}, "c1")), "blue"])
    log = Log.of(run)
    loop = asyncio.new_event_loop()
    stream = log.stream()
    for _ in range(2):
        loop.run_until_complete(anext(stream))
    loop.run_until_complete(loop.shutdown_default_executor())
    next(run)  # its reader is told, and the loop ends before it can tell the reader
    loop.close()

    async def main() -> str:
        reader = asyncio.create_task(read(log.stream()))
        await asyncio.sleep(0.05)
        run.play()
        return await asyncio.wait_for(reader, logs.PING_INTERVAL / 2)

    assert parsed(asyncio.run(main()))[-1].event == "done"


def test_a_log_with_a_stream_that_has_not_begun_yet_is_not_forgotten() -> None:
    run, _ = started(["blue"])
    log = Log.of(run)
    stream = log.agui("t", "r", from_now=True)
    assert not Log.of(run, Agui).forget()
    del stream
    gc.collect()
    assert Log.of(run, Agui).forget()


def test_a_listener_can_stop_listening() -> None:
    run, _ = started(["blue"])
    heard: list[Event] = []
    run.on_event(heard.append)
    next(run)
    before = len(heard)
    run.off_event(heard.append)
    run.off_event(heard.append)
    run.drive()
    assert before and len(heard) == before
