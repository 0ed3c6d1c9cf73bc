"""Commands while the run plays: they are applied at once, without waiting for running calls."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from splitting import split

from agentkit import Agent, Answer, Call, Chat, Reply, Run, Think, tool
from agentkit.errors import ReadOnly, UsageError
from agentkit.models.base import Abilities, Chunk
from agentkit.models.scripted import Scripted

QUICK = 5.0
"""Much shorter than the calls here take, and much longer than a command takes, in seconds."""


@tool(effect="pure")
def look(city: str) -> str:
    """Look at the weather."""
    return f"rain in {city}"


def calling(name: str, *ids: str, **arguments: Any) -> Reply:
    return Reply(f"I {name}", tuple(Call(name, arguments, name + (suffix or "1")) for suffix in ids or ("",)))


class Gates:
    """Calls that keep running until they are released, and their outcomes."""

    def __init__(self) -> None:
        self.out, self.go = threading.Event(), threading.Event()
        self.came: list[str] = []


@pytest.fixture
def gates() -> Iterator[Gates]:
    gates = Gates()
    yield gates
    gates.go.set()


def slow_tool(gates: Gates, effect: Any = "pure") -> Any:
    @tool(effect=effect)
    def slow() -> str:
        """Take a long time."""
        gates.out.set()
        gates.go.wait(30)
        gates.came.append("slow")
        return "slow result"

    return slow


def begin(tools: Any, *replies: Any, **options: Any) -> Run:
    model = Scripted([*replies], abilities=Abilities(tools=True))
    return Agent(model, tools, journal="memory", **split(options)).start("q", paused=True)


def warnings(run: Run) -> list[str]:
    return [event.data["text"] for event in run.events() if event.kind == "warning"]


def until(condition: Any) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


DRIVES = {"play": Run.play, "drive": lambda run: threading.Thread(target=run.drive, daemon=True).start()}
every_drive = pytest.mark.parametrize("drive", DRIVES.values(), ids=DRIVES)


@every_drive
def test_an_injection_neither_waits_for_a_running_call_nor_ends_it(gates: Gates, drive: Any) -> None:
    run = begin([slow_tool(gates)], calling("slow"), "done")
    drive(run)
    assert gates.out.wait(5)
    start = time.monotonic()
    run.inject("hurry")
    until(lambda: run.trace.injections.notes)
    assert time.monotonic() - start < QUICK and run.status == "running"
    gates.go.set()
    until(lambda: run.answer)
    assert gates.came == ["slow"] and run.entries[2].result.text == "slow result"
    assert "hurry" in str(run.agent.model.requests[1]) and warnings(run) == []


@every_drive
def test_an_edit_of_an_earlier_step_gives_up_a_running_call_and_its_late_result_is_noted(
    gates: Gates, drive: Any
) -> None:
    run = begin([look, slow_tool(gates)], calling("look", city="Oslo"), calling("slow"), "sunny")
    drive(run)
    assert gates.out.wait(5)
    start = time.monotonic()
    fresh = run.edit(2, text="sun in Oslo", reason="I was there")
    assert time.monotonic() - start < QUICK and not gates.came
    until(lambda: run.answer)
    assert fresh.original and [entry.kind for entry in run.entries] == ["begin", "think", "act", "think", "conclude"]
    gates.go.set()
    until(lambda: warnings(run))
    assert warnings(run) == ["slow returned after it had been given up; its result is not used"]
    assert not any(entry.kind == "act" and entry.step.call.name == "slow" for entry in run.trace.tree.entries.values())


def test_an_edit_cancels_a_stream_that_is_no_longer_needed() -> None:
    cancelled, streaming, first_reply = threading.Event(), threading.Event(), ["first"]

    async def model(request: Any) -> Any:
        if "sun" in str([message.text for message in request.chat]):
            yield Chunk("sunny", finish="stop")
            return
        if first_reply:
            first_reply.pop()
            yield Chunk("FINAL_ANSWER: rain", finish="stop")
            return
        try:
            streaming.set()
            while True:
                yield Chunk("and ")
                await asyncio.sleep(0.01)
        finally:
            cancelled.set()

    run = Agent(model, journal="memory").start("q", paused=True)
    next(run)
    run.inject("and tomorrow?")
    run.play()
    assert streaming.wait(5)
    run.edit(1, answer="sun")
    assert cancelled.wait(5)
    run.wait(10)
    assert warnings(run) == []


def test_a_pending_step_can_be_answered_while_its_call_is_running(gates: Gates) -> None:
    run = begin([slow_tool(gates)], calling("slow"), "done").play()
    assert gates.out.wait(5)
    run.edit(text="I know it already")
    until(lambda: run.answer)
    assert run.entries[2].author == "human" and not gates.came
    gates.go.set()
    until(lambda: warnings(run))
    assert len(run.entries) == 5


def test_a_call_parallel_to_an_edited_one_keeps_running_and_its_result_is_used(gates: Gates) -> None:
    both = Reply("both", (Call("look", {"city": "Oslo"}, "a"), Call("slow", {}, "b")))
    run = begin([look, slow_tool(gates)], both, "done").play()
    assert gates.out.wait(5)
    until(lambda: len(run) == 3)
    run.edit(2, text="sun")
    assert run.status == "running" and not gates.came
    gates.go.set()
    until(lambda: run.answer)
    assert [entry.result.text for entry in run.entries if entry.kind == "act"] == ["sun", "slow result"]
    assert gates.came == ["slow"] and warnings(run) == []


def test_an_irreversible_call_is_asked_about_when_its_line_is_restored(gates: Gates) -> None:
    run = begin([slow_tool(gates, "irreversible")], calling("slow"), "done").play()
    assert gates.out.wait(5)
    run.pause()
    run.rewind(0)
    run.wait(10)
    run.undo()
    gates.go.set()
    assert [entry.kind for entry in run.entries] == ["begin", "think"]
    run.drive()
    assert run.status == "waiting" and "may have run" in run.waiting[0][1].why


@every_drive
def test_ask_returns_a_future_at_once_which_gets_the_result_or_the_error(gates: Gates, drive: Any) -> None:
    run = begin([slow_tool(gates)], calling("slow"), "done")
    drive(run)
    assert gates.out.wait(5)
    start = time.monotonic()
    good = run.control.ask(lambda: run.edit(1, text="I think otherwise", reason="a click"))
    bad = run.control.ask(lambda: run.edit(1, colour="red"))
    heard: list[Any] = []
    bad.add_done_callback(heard.append)
    assert time.monotonic() - start < QUICK
    assert good.result(QUICK).reason == "a click"
    with pytest.raises(UsageError, match="unknown change"):
        bad.result(QUICK)
    assert heard == [bad]
    gates.go.set()
    until(lambda: run.answer)


def test_ask_can_be_used_from_a_tool_an_event_loop_and_for_a_run_at_rest() -> None:
    held: list[Run] = []
    asked: list[Any] = []

    @tool(effect="pure")
    def meddle() -> str:
        """Ask for a command to be applied soon."""
        asked.append(held[0].control.ask(lambda: held[0].inject("from the tool")))
        return "asked"

    run = begin([meddle], calling("meddle"), "done")
    held.append(run)
    assert run.play().wait(10).answer == "done" and asked[0].result(1).text == "from the tool"

    async def main() -> Any:
        return await asyncio.wrap_future(run.control.ask(lambda: run.rewind(1)))

    assert asyncio.run(main()) is run and run.status == "paused"
    assert run.control.ask(run.undo).result(1) is run and run.status == "done"
    run.close()
    with pytest.raises(ReadOnly):
        run.control.ask(run.undo).result(1)


def test_a_command_that_is_cancelled_before_its_turn_is_not_applied() -> None:
    inside, go = threading.Event(), threading.Event()

    def slow_engine(task: Any) -> Any:
        """Compute for a while between two steps."""
        thought = yield Think(Chat.of(task))
        inside.set()
        go.wait(10)
        return Answer(thought.text, Chat.of(task))

    run = Agent(Scripted(["done"]), engine=slow_engine, journal="memory").start("q", paused=True)
    threading.Thread(target=run.drive, daemon=True).start()
    assert inside.wait(5)
    asked = run.control.ask(run.undo)
    assert asked.cancel()
    go.set()
    until(lambda: run.answer)
