"""Foreign code that ends in strange ways, or is interrupted by a person: the run is never broken, stuck or silent."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any

import pytest
from failing import failing

from agentkit import Agent, Answer, Call, Chat, Reply, Run, Stepper, Think, tool
from agentkit.errors import EngineError, Finish, ModelError, Stopped
from agentkit.models.base import Abilities, Chunk
from agentkit.models.scripted import Scripted

ODD: list[BaseException] = [
    SystemExit(3),
    KeyboardInterrupt(),
    StopIteration(7),
    StopAsyncIteration(),
    GeneratorExit(),
    asyncio.CancelledError(),
    BaseException("odd"),
]
DRIVES = {
    "play": lambda run: run.play().wait(10),
    "drive": Run.drive,
    "over": lambda run: [run.step_over() for _ in range(4)],
}
every_odd = pytest.mark.parametrize("error", ODD, ids=lambda error: type(error).__name__)
every_drive = pytest.mark.parametrize("drive", DRIVES.values(), ids=DRIVES)


def calling(name: str, *more: Any) -> Scripted:
    return Scripted([Reply("", (Call(name, {}, "c"), *more)), "done"], abilities=Abilities(tools=True))


@every_odd
@every_drive
@pytest.mark.parametrize("timeout", [None, 5.0])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_whatever_a_tool_raises_is_an_observation(
    error: BaseException, drive: Any, timeout: Any, asynchronous: bool
) -> None:
    fail = failing(error, timeout=timeout, asynchronous=asynchronous)
    run = Agent(calling("fail"), [fail], journal="memory").start("q", paused=True)
    drive(run)
    assert run.answer == "done", repr(run)
    assert run.entries[2].result.text.startswith("Error: tool 'fail' failed")


@every_odd
@every_drive
@pytest.mark.parametrize("asynchronous", [False, True, "stream"])
def test_a_step_can_be_tried_again_whatever_the_model_raised(
    error: BaseException, drive: Any, asynchronous: Any
) -> None:
    failed: list[bool] = []

    def reply() -> str:
        if not failed:
            failed.append(True)
            raise error
        return "fine"

    async def awaited(request: Any) -> str:
        return reply()

    async def stream(request: Any) -> Any:
        yield Chunk(reply(), finish="stop")

    model = {True: awaited, "stream": stream, False: lambda request: reply()}[asynchronous]
    run = Agent(model, journal="memory").start("q", paused=True)
    drive(run)
    if run.answer is None:
        assert run.status == "failed" and isinstance(run.result.error, ModelError | RuntimeError), repr(run)
        assert "error" in [event.kind for event in run.events()]
        drive(run)
    assert run.answer == "fine" and failed


def test_a_tool_that_cancels_its_own_task_has_failed() -> None:
    @tool(effect="pure")
    async def quit() -> str:
        """Cancel the task that it runs in."""
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(1)
        return "never"

    for drive in DRIVES.values():
        run = Agent(calling("quit"), [quit], journal="memory").start("q", paused=True)
        drive(run)
        assert run.answer == "done" and "cancelled" in run.entries[2].result.text, repr(run)


@pytest.mark.parametrize("error", [Stopped(), Finish("42")], ids=repr)
@pytest.mark.parametrize("drive", [DRIVES["play"], DRIVES["drive"]])
def test_control_flow_of_another_run_fails_the_step_which_can_be_tried_again(error: BaseException, drive: Any) -> None:
    tries: list[int] = []

    @tool(effect="pure")
    def nested() -> str:
        """Drive another run, which is stopped."""
        tries.append(1)
        if len(tries) == 1:
            raise error
        return "fine"

    run = Agent(calling("nested"), [nested], journal="memory").start("q", paused=True)
    drive(run)
    assert run.status == "failed" and run.result.error is error
    drive(run)
    assert run.answer == "done" and len(tries) == 2


@pytest.mark.parametrize("where", ["until", "listener"])
def test_code_around_a_playing_run_cannot_hang_it(where: str) -> None:
    def out(*event: Any) -> str:
        raise SystemExit(5)

    run = Agent(Scripted(["done", "done"]), journal="memory").start("q", paused=True)
    if where == "listener":
        run.on_event(out)
        assert run.play().wait(10).answer == "done"
    else:
        run.play(out).wait(10)
        assert run.status == "failed" and "SystemExit" in run.hold
        assert run.play().wait(10).answer == "done"


# -- engines -----------------------------------------------------------------------------------------------------------


@every_odd
@pytest.mark.parametrize("at", [0, 1])
def test_an_engine_that_raises_anything_is_an_engine_error(error: BaseException, at: int) -> None:
    def broken(task: Any) -> Any:
        for n in range(2):
            if n == at:
                raise error
            yield Think(Chat.of(task))

    stepper = Stepper(broken("q"))
    if at:
        stepper.feed(stepper.pending[0], Reply("x"))
    assert isinstance(stepper.error, EngineError) and stepper.pending == []
    for drive in DRIVES.values():
        run = Agent("echo", engine=broken, journal="memory").start("q", paused=True)
        drive(run)
        assert isinstance(run.result.error, EngineError) and run.status == "failed"


@every_odd
def test_an_engine_that_raises_while_it_is_closed_can_be_undone(error: BaseException) -> None:
    def bitter(task: Any) -> Any:
        try:
            for _ in range(9):
                yield Think(Chat.of(task))
        finally:
            raise error

    run = Agent("echo", engine=bitter, journal="memory").start("q", paused=True)
    next(run)
    next(run)
    run.undo()
    assert [entry.kind for entry in run.entries] == ["begin", "think"]
    assert next(run).kind == "think"
    with contextlib.suppress(KeyboardInterrupt):  # here interrupts are not deferred, so it counts as a person's
        run.trace.stepper.close()


# -- a person presses a key --------------------------------------------------------------------------------------------

HEAD = """
    import json, os, signal, threading, time
    from agentkit import Agent, Answer, Call, Chat, Reply, Think, tool
    from agentkit.models.base import Abilities
    from agentkit.models.scripted import Scripted

    def interrupt(after=0.0):
        threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT)).start()

    def report(run, **more):
        print(json.dumps({"kinds": [entry.kind for entry in run.entries], "status": run.status, **more}))
"""


def play(script: str) -> list[dict[str, Any]]:
    code = textwrap.dedent(HEAD) + textwrap.dedent(script)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_busy_engine_is_interrupted_at_once_and_replayed() -> None:
    first, second, third = play("""
        busy = []
        def ponders(task):
            thought = yield Think(Chat.of(task))
            while not busy or len(busy) < 3:
                busy.append(1)
                end = time.monotonic() + 20
                while time.monotonic() < end and len(busy) < 3:
                    pass
            return Answer(thought.text, Chat.of(task))
        run = Agent(Scripted(["deep"]), engine=ponders, journal="memory").start("q", paused=True)
        for act in (lambda: next(run), lambda: run.drive()):
            interrupt(0.3)
            start = time.monotonic()
            try:
                act()
            except KeyboardInterrupt:
                report(run, quick=time.monotonic() - start < 5)
        run.drive()
        report(run, answer=run.answer, calls=run.usage.calls, events=[e.kind for e in run.events()].count("completed"))
    """)
    assert first == second == {"kinds": ["begin", "think"], "status": "paused", "quick": True}
    assert third == {
        "kinds": ["begin", "think", "conclude"],
        "status": "done",
        "answer": "deep",
        "calls": 1,
        "events": 1,
    }


def test_an_engine_that_is_busy_at_the_start_is_interrupted_and_leaves_no_run() -> None:
    (report,) = play("""
        def stuck(task):
            while True:
                time.sleep(0.01)
            yield
        interrupt(0.3)
        from agentkit.journal.memory import MemoryJournal
        journal = MemoryJournal()
        try:
            Agent("echo", engine=stuck, journal=journal).start("q", paused=True)
        except KeyboardInterrupt:
            print(json.dumps({"runs": len(journal.runs())}))
    """)
    assert report == {"runs": 0}


def test_an_interrupt_during_the_bookkeeping_of_a_nested_run_waits_until_it_is_written() -> None:
    (report,) = play("""
        from agentkit.journal.memory import MemoryJournal
        class Slow(MemoryJournal):
            def append(self, row, *, sync=True):
                number = super().append(row, sync=sync)
                if row.kind == "think":
                    interrupt()
                    time.sleep(0.3)
                return number
        inner = Agent(Scripted(["inner one", "inner two"]), journal=Slow()).start("q", paused=True)
        @tool(effect="pure", timeout=None)
        def nested() -> str:
            '''Drive another run.'''
            inner.drive()
            return inner.answer
        model = Scripted([Reply("", (Call("nested", {}, "c"),)), "done"], abilities=Abilities(tools=True))
        outer = Agent(model, [nested], journal="memory").start("q", paused=True)
        next(outer)
        try:
            next(outer)
        except KeyboardInterrupt:
            rows = [row.kind for row in inner.agent.journal.rows(inner.id)]
            before = [pending.step.kind for pending in inner.pending]
            report(inner, rows=rows, before=before, outer=outer.status, torn=inner.trace.torn)
    """)
    assert (
        report["kinds"] == ["begin", "think"]
        and report["before"] == ["conclude"]
        and report["rows"] == ["begin", "think"]
    )
    assert (report["outer"], report["torn"]) == ("paused", False)


def test_an_interrupted_call_that_was_approved_is_asked_about_again() -> None:
    first, second = play("""
        sent = []
        @tool(timeout=None)
        def send() -> str:
            '''Send, and take long to say so.'''
            sent.append(1)
            if len(sent) == 1:
                time.sleep(20)
            return "sent"
        model = Scripted([Reply("", (Call("send", {}, "c"),)), "done"], abilities=Abilities(tools=True))
        run = Agent(model, [send], journal="memory", approve=["send"]).start("q", paused=True)
        run.drive()
        run.approve(remember=True)
        interrupt(0.3)
        try:
            run.drive()
        except KeyboardInterrupt:
            pass
        run.drive()
        report(run, sent=len(sent), why=run.waiting[0][1].why if run.waiting else "")
        run.approve()
        run.drive()
        report(run, sent=len(sent))
    """)
    assert first["status"] == "waiting" and first["sent"] == 1 and "may have run" in first["why"]
    assert second["status"] == "done" and second["sent"] == 2


def test_iterating_over_a_playing_run_pauses_it_and_yields_all_further_entries() -> None:
    @tool(effect="pure")
    def look() -> str:
        """Look."""
        time.sleep(0.01)
        return "seen"

    replies: list[Any] = [Reply("", (Call("look", {}, f"c{n}"),)) for n in range(5)]
    run = Agent(Scripted([*replies, "done"], abilities=Abilities(tools=True)), [look], journal="memory").start("q")
    kinds = [entry.kind for entry in run]
    assert run.answer == "done" and len(kinds) > 1 and kinds[-1] == "conclude"


def test_a_gate_that_raises_lets_nothing_pass() -> None:
    sent: list[int] = []

    @tool
    def send() -> str:
        """Send."""
        sent.append(1)
        return "sent"

    def needed(call: Call) -> bool:
        raise SystemExit("no idea")

    for drive in (Run.drive, lambda run: run.play().wait(10)):
        run = Agent(calling("send"), [send], journal="memory", approve=needed).start("q", paused=True)
        drive(run)
        assert run.status == "waiting" and "no idea" in run.waiting[0][1].why and not sent
    run.approve()
    assert run.drive().answer == "done" and sent == [1]


def test_two_results_arrive_while_a_third_thread_reads() -> None:
    barrier = threading.Barrier(2)

    @tool(effect="pure")
    def meet() -> str:
        """Wait for the other."""
        barrier.wait(5)
        raise StopIteration

    run = Agent(calling("meet", Call("meet", {}, "d")), [meet], journal="memory").start("q", paused=True)
    run.play()
    assert run.wait(10).answer == "done" and repr(run)


def test_an_answer_without_a_text_is_an_engine_error() -> None:
    def mute(task: Any) -> Any:
        yield Think(Chat.of(task))
        return Answer(None, Chat.of(task))  # type: ignore[arg-type]

    assert isinstance(Agent("echo", engine=mute, journal="memory").run("q").error, EngineError)
