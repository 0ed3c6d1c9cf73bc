"""Runs that are opened again: in another process, without a tool, with another engine, on a damaged or full disk."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from splitting import split

from agentkit import Agent, Answer, Call, Chat, Reply, Run, Think, Usage, tool
from agentkit.engines.react import react
from agentkit.errors import (
    Diverged,
    JournalError,
    JournalInUse,
    JournalTooNew,
    ModelError,
    ReadOnly,
    Unknown,
    UsageError,
)
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted


@tool(effect="pure")
def look(city: str) -> str:
    """Look at the weather."""
    return f"rain in {city}"


CALL = Reply("I look", (Call("look", {"city": "Oslo"}, "c"),))


def agent(*replies: Any, tools: Any = (look,), **options: Any) -> Agent:
    return Agent(Scripted([*replies], abilities=Abilities(tools=True)), tools, **split(options))


def recorded(steps: int = 2) -> str:
    """Record a run with some steps in the database, close it, and return its name."""
    run = agent(CALL, "done").start("How is Oslo?", paused=True)
    for _ in range(steps):
        next(run)
    run.close()
    return run.id


def database() -> Path:
    return Path(os.environ["AGENTKIT_HOME"]) / "runs.db"


def test_the_usage_of_failed_calls_is_known_after_a_resume() -> None:
    failed = ModelError("broke off")
    failed.usage = Usage(60, 1)
    run = agent(failed, Reply("", CALL.calls, usage=Usage(5, 1)), failed).start("How is Oslo?", paused=True)
    spent = []
    for performed in (False, True, True, False):  # it fails, thinks, looks, and fails
        if performed:
            next(run)
        else:
            with pytest.raises(ModelError):
                next(run)
        spent.append(run.usage.total)
    run.close()
    again = agent(Reply("It rains", usage=Usage(7, 2))).resume(run.id)
    assert spent == [61, 67, 67, 128] and again.usage == run.usage
    assert again.drive().usage.total == 137 and [entry.usage.total for entry in again.entries if entry.usage] == [6, 9]


def test_a_resumed_run_continues_where_it_was_and_asks_nothing_again() -> None:
    mine = agent("It rains")
    run = mine.resume(recorded())
    assert [entry.kind for entry in run.entries] == ["begin", "think", "act"]
    assert run.drive().answer == "It rains" and len(mine.model.requests) == 1
    assert [message["content"] for message in mine.model.requests[0]["messages"]][-1] == "rain in Oslo"


def test_edits_injections_and_undone_steps_survive_a_resume() -> None:
    run = agent(CALL).start("q", paused=True)
    next(run)
    next(run)
    run.edit(2, text="sun", reason="broken")
    run.inject("be brief")
    run.close()
    mine = agent("sunny", "short")
    again = mine.resume(run.id)
    assert again[2].result.text == "sun" and again[2].reason == "broken"
    again.undo()
    assert again[2].result.text == "rain in Oslo"
    again.redo()
    assert again.drive().answer == "sunny" and "be brief" in str(mine.model.requests[0])


def test_a_missing_tool_opens_the_run_read_only_and_is_named() -> None:
    run = agent(tools=()).resume(recorded())
    assert run.status == "readonly" and "tool 'look'" in repr(run) and "rain in Oslo" in repr(run)
    for act in (lambda: next(run), run.play, run.drive, run.step_over):
        with pytest.raises(ReadOnly, match="look"):
            act()


def test_a_tool_whose_description_has_changed_marks_the_entries_as_drifted() -> None:
    @tool(name="look", effect="pure")
    def better(city: str) -> str:
        """Look at the weather in a city of Norway."""
        return "?"

    run = agent("done", tools=[better]).resume(recorded())
    assert [run.trace.has_drifted(entry) for entry in run.entries] == [False, True, False]
    assert run[2].result.text == "rain in Oslo"


def changes_its_mind(mind: bool) -> Any:
    """Return an engine: at first it is ReAct; after it was changed, it plans before anything else."""

    def engine(task: Any, *, tools: Any = ()) -> Any:
        if not mind:
            return (yield from react(task, tools=tools))
        plan = yield Think(Chat.of(task), tools, role="plan")
        return Answer(plan.text, Chat.of(task))

    return engine


def test_another_engine_ends_the_line_where_it_differs_and_strict_refuses() -> None:
    first = agent(CALL, engine=changes_its_mind(False)).start("How is Oslo?", paused=True)
    next(first)
    next(first)
    first.close()
    with pytest.raises(Diverged, match="plan"):
        agent("a plan", engine=changes_its_mind(True)).resume(first.id, strict=True)
    run = agent("a plan", engine=changes_its_mind(True)).resume(first.id)
    assert run.status == "diverged" and [entry.kind for entry in run.entries] == ["begin", "think", "act"]
    assert "the engine now asks for think (plan)" in run.hold and run.hold in repr(run)
    assert run.drive().answer == "a plan" and (run.status, run.hold) == ("done", "")
    assert [entry.step.role for entry in run.entries[1:]] == ["plan", "answer"]
    assert any(entry.kind == "act" for line in run.branches() for entry in line)


def test_a_run_continues_with_the_recorded_engine_and_another_one_is_for_a_fork() -> None:
    run = agent("It rains", "x", engine="chain_of_thought").resume(recorded())
    assert run.drive().answer == "It rains" and run.agent.engine is react
    fork = run.fork(engine="chain_of_thought")
    assert "the engine now asks for conclude (answer)" in fork.forecast and fork.drive().answer == "I look"


def test_an_unknown_run_suggests_the_nearest() -> None:
    name = recorded()
    with pytest.raises(Unknown, match=name):
        agent().resume(name[:-1] + "_")


def test_anything_that_is_not_a_run_is_refused_with_a_reason() -> None:
    with pytest.raises(UsageError, match=r"the id of a run, as listed by agentkit\.runs\(\), not None"):
        agent().resume(None)  # type: ignore[arg-type]


def test_a_second_process_is_told_which_process_has_the_run() -> None:
    run = agent(CALL, "done").start("q", paused=True)
    script = f"""
        from agentkit import Agent
        from agentkit.errors import JournalInUse
        try:
            Agent("offline").resume({run.id!r})
        except JournalInUse as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert f"held by process {os.getpid()}" in done.stdout, done.stderr


def test_a_changed_row_opens_the_run_read_only_up_to_that_row() -> None:
    name = recorded()
    with sqlite3.connect(database()) as db:
        db.execute("UPDATE rows SET body = replace(body, 'rain', 'snow') WHERE body LIKE '%rain%'")
    run = agent("done").resume(name)
    assert run.status == "readonly" and "its journal is damaged" in repr(run)
    assert [entry.kind for entry in run.entries] == ["begin", "think"]


@pytest.mark.parametrize("which", ["min", "max"])
def test_a_damaged_row_of_a_parallel_step_opens_the_run_in_memory(which: str) -> None:
    both = Reply("both", (Call("look", {"city": "Oslo"}, "a"), Call("look", {"city": "Rome"}, "b")))
    first = agent(both, "done").start("q", paused=True)
    first.drive()
    first.close()
    with sqlite3.connect(database()) as db:
        found = f'SELECT {which}(id) FROM rows WHERE body LIKE \'%"entry":"act"%\''
        assert (
            db.execute(
                f"UPDATE rows SET body = replace(body, '\"parent\"', '\"patent\"') WHERE id = ({found})"
            ).rowcount
            == 1
        )
        stored = db.execute("SELECT * FROM rows").fetchall()
    run = agent("done").resume(first.id)
    assert run.status == "readonly" and "its journal is damaged" in repr(run) and run[1].result.text == "both"
    assert [event.kind for event in run.events()][:2] == ["started", "thought"] and run.to_json()["rows"]
    for act in (run.undo, lambda: run.edit(1, text="x"), lambda: run.inject("x"), lambda: run.fork(1), run.drive):
        with pytest.raises(ReadOnly, match=r"damaged|intact"):
            act()
    assert agent("done").load(run.to_json()).status == "paused"
    with sqlite3.connect(database()) as db:
        assert db.execute("SELECT * FROM rows WHERE run = ?", (first.id,)).fetchall() == stored


def test_a_journal_of_a_newer_version_says_what_to_do(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "new.db") as db:
        db.execute("PRAGMA user_version = 999")
    with pytest.raises(JournalTooNew, match="999"):
        agent("done", journal=str(tmp_path / "new.db")).start("q", paused=True)


def test_on_a_full_disk_the_result_is_kept_in_memory_and_saved_later(tmp_path: Path) -> None:
    ran: list[int] = []

    @tool(effect="pure")
    def big() -> str:
        """Return a lot."""
        ran.append(1)
        return "x" * 300_000

    run = agent(Reply("", (Call("big", {}, "c"),)), "done", tools=[big], journal=str(tmp_path / "runs.db")).start(
        "q", paused=True
    )
    next(run)
    db = run.trace.journal._db  # type: ignore[union-attr]
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count = {pages + 20}")
    with pytest.raises(JournalError, match="full"):
        next(run)
    assert ran == [1] and "not saved yet" in run.hold
    db.execute("PRAGMA max_page_count = 100000")
    assert run.drive().answer == "done" and ran == [1]
    assert len(run[2].result.text) == 300_000


def test_a_secret_reaches_neither_the_file_nor_an_event_nor_a_repr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEATHER_API_KEY", "wk-5f1d0c77aa2244f0")
    secret = "wk-5f1d0c77aa2244f0"

    @tool(effect="pure")
    def leak() -> str:
        """Show the key."""
        return f"the key is {secret}"

    heard: list[str] = []
    model = Scripted(
        [Reply(f"I know {secret}", (Call("leak", {}, "c"),)), f"it is {secret}"], abilities=Abilities(tools=True)
    )
    run = Agent(model, [leak], on_event=lambda event: heard.append(str(event.to_dict()))).start(
        f"use {secret}", paused=True
    )
    next(run)
    run.inject(f"and {secret}")
    run.drive()
    run.edit(1, text=f"I said {secret}")
    shown = repr(run) + str(heard) + str(list(run.events())) + str(model.requests) + str(run.result)
    assert secret not in shown and "[secret" in shown
    run.close()
    files = [path for path in database().parent.rglob("*") if path.is_file()]
    assert files and not any(secret.encode() in path.read_bytes() for path in files)


def test_a_closed_run_is_released() -> None:
    run = agent(CALL).start("q", paused=True)
    with pytest.raises(JournalInUse):
        run.agent.journal.claim(run.id)  # type: ignore[union-attr]
    run.close()
    again: Run = agent(CALL).resume(run.id)
    assert again.status == "paused"


@pytest.mark.parametrize("dialect", ["native", "json", "text"])
def test_the_exact_request_can_be_rebuilt_from_the_store(dialect: str) -> None:
    mine = agent("FINAL_ANSWER: rain", dialect=dialect)
    run = mine.start("q", paused=True)
    next(run)
    run.close()
    again = agent("done", tools=()).resume(run.id)
    assert again.request(1) == mine.model.requests[0]


@pytest.mark.parametrize("dialect", ["native", "json", "text"])
def test_after_a_resume_arguments_keep_the_order_in_which_the_model_wrote_them(dialect: str) -> None:
    call = Call("look", {"where": {"zip": 8, "city": "Oslo"}, "city": "Oslo"}, "c")
    run = agent(Reply("I look", (call,)), dialect=dialect).start("q", paused=True)
    next(run)
    next(run)
    run.drive()
    again = agent("done", dialect=dialect).resume(run.id)
    again.drive()
    assert again.agent.model.requests[0] == run.agent.model.requests[1]


def test_a_fork_without_a_journal_has_its_own_past_and_future() -> None:
    run = agent(CALL, "one", "two", journal=None).start("q", paused=True)
    run.drive()
    fork = run.fork(2)
    assert fork.drive().answer == "two" and run.answer == "one"
    run.undo()
    assert [entry.kind for entry in fork.entries] == ["begin", "think", "act", "think", "conclude"]
