"""Driving a run: stepping, pausing, playing in the background, waiting, stopping."""

from __future__ import annotations

import asyncio
import copy
import gc
import threading
import time
from typing import Any

import pytest
from splitting import split

import agentkit
from agentkit import Agent, Call, Loop, Reply, Result, Run, tool
from agentkit.errors import Busy, Ended, JournalInUse, ModelError, ReadOnly, Undecided, Unknown, UsageError
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

NATIVE = Abilities(tools=True)


@tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def ask(a: int, b: int, name: str = "add") -> Reply:
    return Reply(f"{a} and {b}", (Call(name, {"a": a, "b": b}, f"c{a}{b}"),))


def scripted(*replies: Any) -> Scripted:
    return Scripted([*replies], abilities=NATIVE)


def agent(*replies: Any, tools: Any = (add,), **options: Any) -> Agent:
    return Agent(scripted(*replies), tools, journal="memory", **split(options))


def texts(run: Run) -> list[str]:
    return [entry.kind for entry in run.entries]


def test_between_two_steps_nothing_is_called() -> None:
    model = scripted(ask(1, 2), "3")
    run = Agent(model, [add], journal="memory").start("1 + 2?", paused=True)
    assert len(model.requests) == 0
    assert next(run).kind == "think" and len(model.requests) == 1
    assert next(run).result.text == "3" and len(model.requests) == 1
    assert [entry.kind for entry in run] == ["think", "conclude"]
    assert run.answer == "3" and run.status == "done"


def test_a_finished_run_ends_the_iteration_and_step_raises_ended() -> None:
    run = agent("done").start("q", paused=True)
    assert len(list(run)) == 2 and list(run) == []
    with pytest.raises(Ended, match="undo"):
        run.step()


async def collected(run: Run) -> list[str]:
    return [entry.kind async for entry in run]


async def awaited(run: Run) -> Result:
    return await run


def test_every_way_to_drive_gives_the_same_answer_and_the_same_requests() -> None:
    def fresh() -> tuple[Scripted, Run]:
        model = scripted(ask(1, 2), ask(3, 4), "ten")
        return model, Agent(model, [add], journal="memory").start("q", paused=True)

    logs, answers = [], []
    for drive in (
        list,
        lambda run: asyncio.run(collected(run)),
        lambda run: asyncio.run(awaited(run)),
        lambda run: run.drive(),
        lambda run: run.play().wait(),
        lambda run: [run.step_over() for _ in range(6)],
    ):
        model, run = fresh()
        drive(run)
        logs.append(model.requests)
        answers.append(run.answer)
    assert answers == ["ten"] * 6
    assert all(log == logs[0] for log in logs)


def test_start_returns_at_once_and_the_run_continues() -> None:
    gate = threading.Event()

    @tool(effect="pure")
    def wait() -> str:
        """Wait."""
        gate.wait(10)
        return "waited"

    run = agent(Reply("", (Call("wait", {}, "c"),)), "done", tools=[wait]).start("q")
    assert run.status == "running" and run.answer is None
    gate.set()
    assert run.wait().answer == "done"


def test_after_a_pause_at_an_observation_the_model_is_not_called_until_play() -> None:
    inside, gate = threading.Event(), threading.Event()

    @tool(effect="pure")
    def wait() -> str:
        """Wait."""
        inside.set()
        gate.wait(10)
        return "waited"

    model = scripted(Reply("", (Call("wait", {}, "c"),)), "done")
    run = Agent(model, [wait], journal="memory").start("q")
    assert inside.wait(5)
    run.pause()
    gate.set()
    run.wait()
    assert (run.status, texts(run), len(model.requests)) == ("paused", ["begin", "think", "act"], 1)
    assert run.play().wait().answer == "done"


def test_next_pauses_a_playing_run_and_leaves_it_paused() -> None:
    def slow(request: Any) -> Reply:
        time.sleep(0.02)
        return ask(1, len(request.chat))

    run = Agent(slow, [add], journal="memory", dialect="native", engine=Loop("react", max_iterations=1000)).start("q")
    entry = next(run)
    assert entry in run.entries and run.status == "paused"
    held = len(run.entries)
    time.sleep(0.1)
    assert len(run.entries) == held


def test_a_second_driver_is_told_that_the_run_is_busy() -> None:
    inside, gate = threading.Event(), threading.Event()

    @tool(effect="pure", timeout=None)
    def wait() -> str:
        """Wait."""
        inside.set()
        gate.wait(10)
        return "waited"

    run = agent(Reply("", (Call("wait", {}, "c"),)), "done", tools=[wait]).start("q", paused=True)
    next(run)
    other = threading.Thread(target=lambda: next(run))
    other.start()
    assert inside.wait(5)
    with pytest.raises(Busy, match="another thread"):
        next(run)
    gate.set()
    other.join()
    assert texts(run) == ["begin", "think", "act"]


def test_a_tool_cannot_drive_its_own_run_but_may_inject() -> None:
    held: list[Run] = []

    @tool(effect="pure")
    def meddle() -> str:
        """Drive the run from inside."""
        held[0].inject("from the tool")
        for act in (lambda: next(held[0]), lambda: held[0].undo(), lambda: held[0].play()):
            with pytest.raises(RuntimeError, match="is running it"):
                act()
        return "tried"

    model = scripted(Reply("", (Call("meddle", {}, "c"),)), "done")
    for drive in (Run.drive, lambda run: run.play().wait()):
        model = scripted(Reply("", (Call("meddle", {}, "c"),)), "done")
        held[:] = [Agent(model, [meddle], journal="memory").start("q", paused=True)]
        drive(held[0])
        assert held[0].entries[2].result.text == "tried", held[0].entries[2].result.text
        assert "from the tool" in model.requests[1]["messages"][-1]["content"]


def test_three_tools_that_wait_for_each_other_all_finish() -> None:
    barrier = threading.Barrier(3)

    @tool(effect="pure")
    def meet(name: str) -> str:
        """Wait for the others."""
        barrier.wait(10)
        return f"met {name}"

    @tool(effect="pure")
    async def fail() -> str:
        """Fail."""
        raise ValueError("no")

    calls = (*tuple(Call("meet", {"name": name}, name) for name in "abc"), Call("fail", {}, "d"))
    for drive in (Run.drive, lambda run: run.play().wait()):
        model = scripted(Reply("", calls), "done")
        run = Agent(model, [meet, fail], journal="memory").start("q", paused=True)
        drive(run)
        assert run.answer == "done"
        sent = model.requests[1]["messages"]
        assert [m.get("tool_call_id") for m in sent[-4:]] == ["a", "b", "c", "d"]
        assert sent[-5]["role"] == "assistant" and sent[-1]["content"].startswith(
            "Error: tool 'fail' failed: ValueError: no"
        )


def test_a_slow_tool_is_given_up_after_its_timeout_and_its_sibling_is_kept() -> None:
    over = threading.Event()

    @tool(effect="pure", timeout=0.1)
    def slow() -> str:
        """Sleep."""
        over.wait(30)
        return "late"

    @tool(effect="pure", timeout=0.1)
    async def slow_too() -> str:
        """Sleep."""
        await asyncio.sleep(30)
        return "late"

    calls = (Call("slow", {}, "a"), Call("slow_too", {}, "b"), Call("add", {"a": 1, "b": 2}, "c"))
    for drive in (Run.drive, lambda run: run.play().wait()):
        model = scripted(Reply("", calls), "done")
        run = Agent(model, [slow, slow_too, add], journal="memory").start("q", paused=True)
        drive(run)
        texts = [message["content"] for message in model.requests[1]["messages"][-3:]]
        assert "timed out after 0.1s" in texts[0] and "timed out after 0.1s" in texts[1] and texts[2] == "3"
    over.set()


def test_a_model_that_fails_leaves_the_run_paused_so_that_it_can_be_tried_again() -> None:
    model = scripted(ask(1, 2), ModelError("no connection"), "three")
    run = Agent(model, [add], journal="memory").start("q", paused=True)
    result = run.drive()
    assert isinstance(result.error, ModelError) and result.answer == "" and run.status == "failed"
    assert run.drive().answer == "three" and run.result.error is None
    assert "error" in [event.kind for event in run.events()]


def test_agent_run_returns_the_error_or_raises_it() -> None:
    assert isinstance(agent(ModelError("no")).run("q").error, ModelError)
    with pytest.raises(ModelError, match="no"):
        agent(ModelError("no"), raise_errors=True).run("q")


def test_next_raises_the_error_of_the_model_and_the_step_stays_pending() -> None:
    run = agent(ModelError("no"), "yes").start("q", paused=True)
    with pytest.raises(ModelError, match="no"):
        next(run)
    assert next(run).result.answer == "yes"


def test_a_timeout_gives_a_partial_result_with_its_steps() -> None:
    @tool(effect="pure")
    async def slow() -> str:
        """Sleep."""
        await asyncio.sleep(30)
        return "late"

    result = agent(Reply("", (Call("slow", {}, "c"),)), "done", tools=[slow]).run("q", timeout=1)
    assert (result.interrupted, result.reason, len(result.run.entries)) == (True, "timeout", 2)


def test_stop_cancels_running_calls_and_play_continues_from_there() -> None:
    inside, cancelled = threading.Event(), threading.Event()

    @tool(effect="pure")
    async def slow() -> str:
        """Sleep at first."""
        if not inside.is_set():
            inside.set()
            try:
                await asyncio.sleep(30)
            finally:
                cancelled.set()
        return "quick"

    run = agent(Reply("", (Call("slow", {}, "c"),)), "done", tools=[slow]).start("q")
    assert inside.wait(5)
    run.stop().wait()
    assert cancelled.wait(5) and run.status == "stopped" and run.result.reason == "stopped"
    assert run.play().wait().answer == "done"


def test_stop_cancels_an_asynchronous_model_behind_a_plain_function_and_is_not_a_failure() -> None:
    inside, waits = threading.Event(), [30, 0]

    async def thinking() -> str:
        inside.set()
        await asyncio.sleep(waits.pop(0))
        return "done"

    run = Agent(lambda request: thinking(), journal="memory").start("q")
    assert inside.wait(5)
    result = run.stop().wait()
    assert (run.status, result.reason, result.error) == ("stopped", "stopped", None)
    assert run.play().wait().answer == "done"


def test_leaving_an_async_loop_cancels_running_calls_and_affects_nothing_else() -> None:
    async def main() -> str:
        run = agent(ask(1, 2), "done").start("q", paused=True)
        async for entry in run:
            if entry.kind == "act":
                break
        await asyncio.sleep(0)
        return run.status

    assert asyncio.run(main()) == "paused"


def test_waiting_for_a_decision_says_what_to_do() -> None:
    from agentkit import Answer, Ask, Chat

    def asks(task: Any) -> Any:
        name = yield Ask("Your name?")
        return Answer(f"Hello {name}", Chat.of(task))

    run = Agent(scripted(), engine=asks, journal="memory").start("q", paused=True)
    with pytest.raises(Undecided, match="respond"):
        next(run)
    run.respond("Ada")
    assert run.drive().answer == "Hello Ada"


def test_counts_start_at_zero_for_each_run() -> None:
    mine = agent(ask(1, 2), "three", ask(1, 2), "three")
    assert [(r.step_count, r.tool_calls_count) for r in (mine.run("q"), mine.run("q"))] == [(2, 1), (2, 1)]


def test_with_force_answer_off_the_result_has_a_reason_and_no_answer() -> None:
    result = agent(ask(1, 2), "forced", max_iterations=1).run("q")
    assert (result.answer, result.interrupted, result.reason) == ("forced", True, "max_turns")
    open_end = agent(ask(1, 2), max_iterations=1, force_answer=False).run("q")
    assert (open_end.answer, open_end.interrupted, open_end.reason) == ("", True, "max_turns")


def test_a_cancelled_async_loop_cancels_the_running_tool() -> None:
    inside, cancelled = threading.Event(), threading.Event()

    @tool(effect="pure")
    async def slow() -> str:
        """Sleep."""
        inside.set()
        try:
            await asyncio.sleep(30)
        finally:
            cancelled.set()
        return "late"

    run = agent(Reply("", (Call("slow", {}, "c"),)), "done", tools=[slow]).start("q", paused=True)

    async def main() -> None:
        task = asyncio.ensure_future(collected(run))
        assert await asyncio.to_thread(inside.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert cancelled.wait(5) and texts(run) == ["begin", "think"]


def test_a_finished_run_is_released_and_claimed_again_when_it_is_changed() -> None:
    mine = Agent(scripted(ask(1, 2), "three", "four"), [add])
    run = mine.run("q").run
    again = mine.resume(run.id)
    assert [entry.kind for entry in again.entries] == [entry.kind for entry in run.entries]
    again.rewind(2)
    with pytest.raises(JournalInUse, match=r"this process .* holds run"):
        run.undo()
    assert again.drive().answer == "four"
    run.undo()
    assert run.pending[0].step == again.entries[-1].step


def test_the_list_of_runs_shows_the_status_of_each() -> None:
    mine = Agent(scripted(ask(1, 2), "three"), [add])
    held = mine.start("q", paused=True)
    next(held)
    assert [(info.status, info.task) for info in agentkit.runs()] == [("paused", "q")]
    held.drive()
    assert agentkit.runs()[0].status == "done"


def test_a_run_that_is_no_longer_referenced_can_be_resumed_in_the_same_kernel() -> None:
    mine = Agent(scripted(ask(1, 2), "three"), [add])
    held = mine.start("q", paused=True)
    next(held)
    name = held.id
    del held
    gc.collect()
    assert mine.resume(name).drive().answer == "three"


def test_an_interrupted_await_pauses_the_run_and_running_calls_are_recorded() -> None:
    inside = threading.Event()

    @tool(effect="pure")
    def slow() -> str:
        """Take longer than a stop waits."""
        inside.set()
        time.sleep(1.3)
        return "done after all"

    run = agent(Reply("", (Call("slow", {}, "c"),)), "done", tools=[slow]).start("q")

    async def main() -> None:
        task = asyncio.ensure_future(awaited(run))
        await asyncio.to_thread(inside.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    run.wait()
    assert run.status == "paused" and run.entries[-1].result.text == "done after all"


def test_a_run_that_is_resumed_again_replaces_the_old_object() -> None:
    mine = Agent(scripted(ask(1, 2), "three"), [add])
    old = mine.start("q", paused=True)
    next(old)
    new = mine.resume(old)
    with pytest.raises(ReadOnly, match="resumed as another object"):
        next(old)
    assert new.drive().answer == "three"


def test_mistakes_are_reported_with_helpful_messages() -> None:
    run = agent("done").start("q", paused=True)
    with pytest.raises(IndexError, match="entries 0 to 0"):
        run[5]
    with pytest.raises(Unknown, match="did you mean 'tool'"):
        run.break_at(tools="add")
    with pytest.raises(UsageError, match="does not wait for a decision"):
        run.approve()
    assert agent("done", tools=add).run("q").answer == "done"


def test_only_a_thought_has_a_request_and_other_entries_are_named_by_number() -> None:
    run = agent(ask(1, 2), "3").run("1 + 2?").run
    for number, kind in ((0, "begin"), (2, "act")):
        with pytest.raises(UsageError, match=rf"entry {number} is not a model call \(it is {kind}\)"):
            run.request(number)


def test_a_result_without_an_answer_says_why_when_it_is_printed() -> None:
    failed = agent(ModelError("nobody there")).run("q")
    assert (failed.answer, str(failed)) == ("", "(no answer: ModelError: nobody there)")
    assert str(agent("3").run("q")) == "3"


def test_a_method_of_the_run_called_on_its_result_says_where_the_run_is() -> None:
    result = agent("3").run("q")
    with pytest.raises(AttributeError, match=r"no attribute 'edit'; use result\.run\.edit"):
        result.edit(1, text="4")
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        result.nothing()  # type: ignore[attr-defined]
    assert copy.copy(result).answer == "3"


def test_an_engine_that_makes_its_chat_the_wrong_way_is_told_the_right_way() -> None:
    def engine(task: Any) -> Any:
        yield agentkit.Think(agentkit.Chat("Hello"))  # type: ignore[arg-type]

    error_text = str(agent("a", engine=engine).run("q").error)
    assert (
        "use Chat.of(...) with a text" in error_text
        and 'at: yield agentkit.Think(agentkit.Chat("Hello"))' in error_text
    )


def test_every_result_reports_the_line_at_which_the_engine_raised() -> None:
    def engine(task: Any) -> Any:
        chat = agentkit.Chat.of(task)
        reply = yield agentkit.Think(chat)
        return agentkit.Answer(reply.anser, chat)

    run = agent("a", engine=engine).start("q", paused=True)
    error_text = "EngineError: engine raised AttributeError: 'Reply' object has no attribute 'anser', at: "
    error_text += "return agentkit.Answer(reply.anser, chat)"
    assert [run.drive().reason, run.drive().reason] == [error_text, error_text]
    assert f"! {error_text}" in repr(run)


def test_the_messages_of_a_run_are_the_conversation_in_order() -> None:
    calls = Reply("I look.", (Call("look", {"city": "Bern"}, "a"), Call("look", {"city": "Rome"}, "b")))
    model = Scripted([calls, "Both are fine.", "Yes."], abilities=Abilities(tools=True))

    @tool(effect="pure")
    def look(city: str) -> str:
        """Look at the weather."""
        return f"sun in {city}"

    run = Agent(model, [look], journal="memory", instructions="Be brief.").start("Where to?", paused=True)
    assert [message.role for message in run.messages] == ["system", "user"]
    next(run)
    run.inject("Hurry.")
    run.drive()
    log = [(message.role, message.text) for message in run.messages]
    assert log == [
        ("system", "Be brief."),
        ("user", "Where to?"),
        ("assistant", "I look."),
        ("tool", "sun in Bern"),
        ("tool", "sun in Rome"),
        ("user", next(text for role, text in log if "Hurry." in text)),
        ("assistant", "Both are fine."),
    ]
    assert run.error is None
    run.rewind(1)
    assert [message.role for message in run.messages] == ["system", "user", "assistant"]
