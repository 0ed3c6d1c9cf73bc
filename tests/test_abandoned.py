"""Calls that are left before they end: the observation and the rows say that a tool may have run."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentkit import Agent, Call, Reply, Run, Usage, compare, tool
from agentkit.core import background
from agentkit.core.messages import Chat, Message
from agentkit.core.steps import Act, Answer, Scope, Think, timed
from agentkit.errors import ModelError
from agentkit.journal.entries import Entry, Note
from agentkit.models import Scripted
from agentkit.models.base import Abilities, Chunk
from agentkit.run.run import Result

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


def test_a_call_that_is_rejected_after_an_attempt_that_did_not_finish_may_have_run(door: Door) -> None:
    run = paying(door).start("q")
    assert door.reached.wait(10)
    run.wait(0)
    run.drive(60)
    message = run.reject("too dear").result
    assert "rejected by the operator" in message.text and message.text.endswith(f"did not finish; {MAY_HAVE_RUN}")
    assert message.may_have_run and observation(run) == message


def test_what_a_person_says_about_a_call_that_did_not_finish_is_taken_at_its_word(door: Door) -> None:
    run = paying(door).start("q")
    assert door.reached.wait(10)
    run.wait(0)
    run.drive(60)
    message = run.respond("it was paid").result
    assert message.text == "it was paid" and not message.may_have_run


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


def test_a_call_that_returns_late_is_reported_and_its_result_is_not_used(door: Door) -> None:
    run = paying(door).start("q")
    assert door.reached.wait(10)
    assert run.wait(0.01).reason == "timeout"
    told = threading.Event()
    run.on_event(lambda event: told.set() if event.kind == "warning" else None)
    door.opened.set()
    assert told.wait(10)
    warnings = [event.data["text"] for event in run.events() if event.kind == "warning"]
    assert warnings == ["pay returned after it had been given up; its result is not used"] and len(run) == 2


# -- time limits -------------------------------------------------------------------------------------------------------

LIMIT = 0.1
VERBS: dict[str, Callable[[Agent], Result]] = {
    "run": lambda agent: agent.run("q", timeout=LIMIT),
    "drive": lambda agent: agent.start("q", paused=True).drive(LIMIT),
    "play and wait": lambda agent: agent.start("q", paused=True).play().wait(LIMIT),
    "start and wait": lambda agent: agent.start("q").wait(LIMIT),
    "compare": lambda agent: compare("q", agents=[agent], timeout=LIMIT).results[0],
}


def in_thread(work: Callable[[], Result]) -> Result:
    return background.in_thread(work).result()


def in_loop(work: Callable[[], Result]) -> Result:
    async def cell() -> Result:
        return work()

    return asyncio.run(cell())


def from_coroutine(work: Callable[[], Result]) -> Result:
    return asyncio.run(asyncio.to_thread(work))


PLACES = {"main thread": lambda work: work(), "thread": in_thread, "event loop": in_loop, "to_thread": from_coroutine}


def thinking(door: Door) -> Agent:
    """Return an agent whose model blocks."""

    def model(request: Any) -> str:
        door.wait()
        return "done"

    return Agent(model, journal="memory")


def streaming(door: Door) -> Agent:
    """Return an agent whose model blocks in the middle of its reply."""

    def model(request: Any) -> Iterator[Chunk]:
        yield Chunk("do", usage=Usage(7, 1))
        door.wait()
        yield Chunk("ne", usage=Usage(7, 2), finish="stop")

    return Agent(model, journal="memory")


def paying_twice(door: Door) -> Agent:
    """Return an agent whose model calls a tool that blocks twice at once."""
    agent = paying(door)
    calls = tuple(Call("pay", {}, key) for key in "ab")
    return agent.using(model=Scripted([Reply("", calls), "done"]))


@pytest.mark.parametrize("agent", [thinking, streaming, paying, paying_twice])
@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_time_limit_holds_while_a_model_or_a_tool_blocks(door: Door, agent: Any, verb: Any, place: Any) -> None:
    made = agent(door)
    result = place(lambda: verb(made))
    assert not door.passed.is_set()
    assert (result.reason, result.interrupted) == ("timeout", True)
    assert result.run.wait(30).run.status == "stopped" and not door.passed.is_set()
    assert all(left["why"] == "timeout" for left in abandoned(result.run))


def test_waiting_for_a_run_in_an_event_loop_can_be_limited(door: Door) -> None:
    async def cell(run: Run) -> None:
        async with asyncio.timeout(LIMIT):
            await run

    run = thinking(door).start("q", paused=True)
    with pytest.raises(TimeoutError):
        asyncio.run(cell(run))
    assert not door.passed.is_set()


def test_a_stop_holds_while_a_tool_blocks_and_the_next_drive_uses_another_thread(door: Door) -> None:
    threads: list[int] = []

    @tool(effect="pure", timeout=None)
    def look() -> str:
        """Look."""
        threads.append(threading.get_ident())
        if len(threads) == 1:
            door.wait()
        return "seen"

    run = Agent(Scripted([Reply("", (Call("look", {}, "l"),)), "done"]), [look], dialect="native", journal="memory")
    playing = run.start("q")
    assert door.reached.wait(10) and playing.wait(LIMIT).reason == "timeout"
    assert playing.drive(60).answer == "done" and not door.passed.is_set()
    assert len(set(threads)) == 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["thinking", "thought"])
def test_a_time_limit_holds_while_a_listener_blocks(door: Door, kind: str) -> None:
    def listener(event: Any) -> None:
        if event.kind == kind:
            door.wait()

    result = Agent(Scripted(["done"]), journal="memory", on_event=listener).run("q", timeout=LIMIT)
    assert not door.passed.is_set() and result.reason == "timeout"


def test_a_part_with_a_time_limit_ends_while_its_model_blocks(door: Door) -> None:
    def engine(task: Any) -> Any:
        reply = yield from timed(part(task), LIMIT)
        return Answer(reply.text, Chat.of(task))

    def part(task: Any) -> Any:
        reply = yield Think(Chat.of(task))
        return Answer(reply.answer, Chat.of(task))

    agent = thinking(door)
    result = Agent(agent.model, engine=engine, journal="memory").run("q")
    assert not door.passed.is_set() and result.answer.startswith("FAILED: the time limit of this step")


@pytest.mark.parametrize("agent", [thinking, paying])
def test_a_budget_of_time_ends_while_a_model_or_a_tool_blocks(door: Door, agent: Any) -> None:
    made = agent(door).using(budget={"max_seconds": 0.2})
    result = made.run("q")
    assert not door.passed.is_set() and result.reason == "budget:max_seconds" and door.visits == 1
    if agent is paying:
        assert observation(result.run).may_have_run
    else:
        assert [left["why"] for left in abandoned(result.run)] == ["the time budget is used up"]


def test_a_budget_of_time_can_be_extended_while_a_model_blocks(door: Door) -> None:
    replies = iter([door.wait, lambda: "done"])

    def model(request: Any) -> str:
        return next(replies)() or ""

    run = Agent(model, journal="memory", budget={"max_seconds": 0.1, "ask": True}).start("q")
    assert run.wait(60) and run.status == "waiting" and not door.passed.is_set()
    run.approve()
    assert run.drive(60).answer == "done"


@pytest.mark.slow
def test_the_interpreter_exits_while_a_call_that_was_left_still_blocks() -> None:
    code = """
import threading
from agentkit import Agent
def model(request):
    threading.Event().wait()
print(Agent(model, journal="memory").run("q", timeout=0.1).reason)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "timeout\n", "")


# -- what abandoned and failed calls cost ------------------------------------------------------------------------------


def start_and_leave(run: Run, door: Door) -> None:
    door.reached.clear()
    run.play()
    assert door.reached.wait(10)
    run.wait(0)


def test_a_model_call_that_was_started_and_left_counts_as_a_call(door: Door) -> None:
    run = thinking(door).using(budget={"max_model_calls": 2}).start("q", paused=True)
    start_and_leave(run, door)
    start_and_leave(run, door)
    assert run.drive(60).reason == "budget:max_model_calls" and door.visits == 2 and run.usage.calls == 2


def test_calls_that_were_left_still_count_after_a_resume(door: Door, tmp_path: Any) -> None:
    agent = thinking(door).using(budget={"max_model_calls": 2}, journal=tmp_path / "run.db")
    run = agent.start("q", paused=True)
    start_and_leave(run, door)
    start_and_leave(run, door)
    used = run.usage
    run.close()
    again = agent.resume(run.id)
    assert again.usage == used and again.drive(60).reason == "budget:max_model_calls" and door.visits == 2


def test_a_tool_call_that_was_left_counts_as_a_call(door: Door) -> None:
    run = paying(door, "pure").using(budget={"max_tool_calls": 2}).start("q", paused=True)
    start_and_leave(run, door)
    start_and_leave(run, door)
    assert run.drive(60).reason == "budget:max_tool_calls" and door.visits == 2


def test_tool_calls_that_were_left_or_during_which_the_process_ended_count_after_a_resume(
    door: Door, tmp_path: Any
) -> None:
    agent = paying(door, "pure").using(budget={"max_tool_calls": 3}, journal=tmp_path / "run.db")
    run = agent.start("q", paused=True)
    start_and_leave(run, door)
    start_and_leave(run, door)
    door.reached.clear()
    run.play()
    assert door.reached.wait(10)
    again = agent.using(journal="memory").load(run.to_json())  # as if the process had ended here
    assert again.state.spent.lost[""].tool_calls == 3
    assert again.drive(60).reason == "budget:max_tool_calls" and door.visits == 3


def test_tokens_that_were_reported_before_a_call_was_left_count(door: Door) -> None:
    run = streaming(door).start("q", paused=True)
    start_and_leave(run, door)
    assert (run.usage.input, run.usage.output, run.usage.calls) == (7, 1, 1)


def test_if_nothing_was_reported_the_input_of_a_call_that_was_left_is_estimated(door: Door) -> None:
    run = thinking(door).start("four words, about: " + "x" * 400, paused=True)
    start_and_leave(run, door)
    assert 100 <= run.usage.input <= 120 and run.usage.output == 0


def test_a_call_that_was_given_up_just_before_it_would_begin_is_not_made_and_does_not_count(door: Door) -> None:
    class Model:
        name = "slow to say what it can do"
        calls = 0
        is_slow = False

        @property
        def abilities(self) -> Abilities:
            if self.is_slow:
                door.wait()
            return Abilities()

        def __call__(self, request: Any) -> str:
            self.calls += 1
            return "done"

    model = Model()
    run = Agent(model, journal="memory").start("q", paused=True)
    model.is_slow = True
    start_and_leave(run, door)
    assert run.usage.calls == 0 and abandoned(run) == []
    left = [thread for thread in threading.enumerate() if thread.name == "agentkit-run"]
    door.opened.set()
    for thread in left:
        thread.join(5)
    assert model.calls == 0
    assert run.drive(60).answer == "done" and model.calls == 1 and run.usage.calls == 1


def test_an_async_model_call_that_was_cancelled_counts() -> None:
    begun = threading.Event()

    async def model(request: Any) -> str:
        begun.set()
        await asyncio.sleep(60)
        return "done"

    run = Agent(model, journal="memory").start("q")
    assert begun.wait(10) and run.stop().wait(10).reason == "stopped"
    assert run.usage.calls == 1 and [left["why"] for left in abandoned(run)] == ["stopped"]


def test_a_model_call_that_failed_counts_as_a_call(tmp_path: Any) -> None:
    error = ModelError("no")
    error.usage = Usage(5, 0)
    agent = Agent(
        Scripted([ModelError("no"), error, "done"]), journal=tmp_path / "run.db", budget={"max_model_calls": 2}
    )
    run = agent.start("q", paused=True)
    assert isinstance(run.drive().error, ModelError) and isinstance(run.drive().error, ModelError)
    assert (run.usage.calls, run.usage.input) == (2, 5)
    run.close()
    assert agent.resume(run.id).drive().reason == "budget:max_model_calls"


def test_a_run_without_trouble_has_no_rows_about_calls_of_its_model() -> None:
    run = Agent(Scripted(["done"]), journal="memory").run("q").run
    assert [type(row) for row in run.rows()] == [Entry, Entry, Entry, Note]
    assert [row.kind for row in run.rows()] == ["begin", "think", "conclude", "completed"]
