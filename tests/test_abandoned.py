"""Calls that are left before they end: the observation and the rows say that a tool may have run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from agentkit import Agent, Call, Reply, Run, tool
from agentkit.core.messages import Chat, Message
from agentkit.core.steps import Act, Answer, Scope
from agentkit.journal.entries import Note
from agentkit.models import Scripted

MAY_HAVE_RUN = "it may have run, and may still take effect."


class Door:
    """A door that blocks those who wait at it until the test opens it, and counts them."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()
        self.passed = threading.Event()
        self.visits = 0

    def wait(self) -> None:
        self.visits += 1
        self.reached.set()
        self.opened.wait(60)
        self.passed.set()


@pytest.fixture
def door() -> Iterator[Door]:
    made = Door()
    yield made
    made.opened.set()


def paying(door: Door, effect: Any = "irreversible", timeout: float | None = None, journal: Any = "memory") -> Agent:
    """Return an agent whose model calls a tool that blocks, and then answers."""

    @tool(effect=effect, timeout=timeout)
    def pay() -> str:
        """Pay."""
        door.wait()
        return "paid"

    model = Scripted([Reply("", (Call("pay", {}, "p"),)), "done", "done"])
    return Agent(model, [pay], dialect="native", journal=journal)


def abandoned(run: Run) -> list[dict[str, Any]]:
    return [row.data for row in run.rows() if isinstance(row, Note) and row.kind == "abandoned"]


def observation(run: Run) -> Message:
    message = next(entry.result for entry in run.entries if entry.kind == "act")
    assert isinstance(message, Message)
    return message


# -- tools -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("effect", ["idempotent", "irreversible"])
def test_a_tool_that_did_not_finish_in_time_may_have_run(door: Door, effect: str) -> None:
    agent = paying(door, effect, timeout=0.05)
    result = agent.run("q")
    message = observation(result.run)
    assert result.answer == "done" and not door.passed.is_set()
    assert message.text == f"Error: tool 'pay' did not finish within 0.05 s; {MAY_HAVE_RUN}"
    assert message.may_have_run and not message.ok
    assert [event.data["may_have_run"] for event in result.run.events() if event.kind == "tool_result"] == [True]


def test_an_async_tool_that_did_not_finish_in_time_may_have_run() -> None:
    @tool(timeout=0.05)
    async def pay() -> str:
        """Pay."""
        await asyncio.sleep(60)
        return "paid"

    run = Agent(Scripted([Reply("", (Call("pay", {}, "p"),)), "done"]), [pay], dialect="native", journal="memory")
    assert observation(run.run("q").run).may_have_run


def test_a_pure_tool_that_did_not_finish_in_time_has_just_failed(door: Door) -> None:
    message = observation(paying(door, "pure", timeout=0.05).run("q").run)
    assert message.text == "Error: tool 'pay' failed: tool timed out after 0.05s" and not message.may_have_run


def test_a_tool_in_a_part_with_a_time_limit_may_have_run(door: Door) -> None:
    def engine(task: Any) -> Any:
        def part() -> Any:
            seen = yield Act(Call("pay", {}, "p"))
            return Answer(seen.text, Chat.of(task))

        return (yield from Scope(part(), seconds=0.1))

    agent = paying(door)
    result = Agent(agent.model, list(agent.tools.tools), engine=engine, journal="memory").run("q")
    message = observation(result.run)
    assert message.may_have_run and message.text.endswith(MAY_HAVE_RUN) and "not run" not in message.text


def test_the_mark_is_stored_exported_and_read_again(door: Door, tmp_path: Any) -> None:
    agent = paying(door, timeout=0.05, journal=tmp_path / "run.db")
    run = agent.run("q").run
    data = run.to_json()
    run.close()
    assert observation(agent.resume(run.id)).may_have_run
    assert observation(agent.using(journal="memory").load(data)).may_have_run


def test_an_edited_observation_is_what_the_person_says(door: Door) -> None:
    run = paying(door, timeout=0.05).run("q").run
    run.edit(2, text="it was paid")
    assert not observation(run).may_have_run and observation(run).ok


def test_a_call_that_a_stop_has_left_is_recorded_as_one_that_may_have_run(door: Door) -> None:
    run = paying(door).start("q")
    assert door.reached.wait(10)
    run.stop()
    assert run.wait(10).reason == "stopped" and not door.passed.is_set()
    (left,) = abandoned(run)
    begun = next(row for row in run.rows() if isinstance(row, Note) and row.kind == "call")
    assert (left["name"], left["id"], left["may_have_run"], left["why"]) == ("pay", "p", True, "stopped")
    assert [left[key] for key in ("parent", "path", "index")] == [
        begun.data[key] for key in ("parent", "path", "index")
    ]
    assert [event.data["may_have_run"] for event in run.events() if event.kind == "abandoned"] == [True]
    assert run.drive().reason != "" and run.waiting and "may have run" in run.waiting[0][1].why and door.visits == 1


def test_a_call_whose_line_was_left_is_recorded_as_one_that_may_have_run(door: Door) -> None:
    run = paying(door).start("q")
    assert door.reached.wait(10)
    run.pause()
    run.edit(1, answer="no payment")
    (left,) = abandoned(run)
    assert (left["name"], left["may_have_run"], left["why"]) == ("pay", True, "its line was left")


def test_a_pure_call_that_was_left_has_no_effect_to_speak_of(door: Door) -> None:
    run = paying(door, "pure").start("q")
    assert door.reached.wait(10)
    run.stop()
    run.wait(10)
    assert [left["may_have_run"] for left in abandoned(run)] == [False]
