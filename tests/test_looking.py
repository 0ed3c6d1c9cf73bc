"""Runs that are looked at, forked and opened again: with what was recorded, and without changing a row."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import agentkit
from agentkit import Act, Agent, Answer, Call, Chat, Loop, Reply, Think, tool
from agentkit.cli import app
from agentkit.engines.react import react
from agentkit.engines.registry import ENGINES
from agentkit.errors import JournalInUse, ReadOnly, UsageError
from agentkit.journal.entries import RunInfo
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted
from agentkit.notebook.widget import view

TASK = "What is 12 * 12?"

CONFIGURED: dict[str, Any] = {
    "react": Loop("react", max_iterations=7),
    "chain_of_thought": Loop("chain_of_thought", prompts={}),
    "plan_and_execute": Loop("plan_and_execute", actor=Loop("react", max_iterations=2), max_steps=3),
    "reflexion": Loop("reflexion", actor=Loop("plan_and_execute", actor="self_ask", max_replans=0), max_reflections=1),
    "self_ask": Loop("self_ask", actor=Loop("react", max_iterations=2), max_follow_ups=3),
    "critic": Loop("critic", actor=Loop("self_refine", max_refinements=1), max_critique_rounds=1),
    "tree_of_thoughts": Loop("tree_of_thoughts", n_branches=2, beam_width=1, max_depth=2, search="dfs"),
    "dag": Loop("dag", actor=Loop("react", max_iterations=2), max_parallel=2, min_confidence=0.5),
    "auto": Loop("auto", planned=Loop("plan_and_execute", max_steps=2), stepwise=Loop("react", max_iterations=4)),
    "self_refine": Loop("self_refine", actor="chain_of_thought", max_refinements=2),
    "rewoo": Loop("rewoo", max_steps=4),
}
OPTIONS: dict[str, Any] = {"dialect": "json", "window": 9, "self_check": 1, "settings": {"temperature": 0}, "repair": 0}


def command(*arguments: str) -> tuple[int, str, str]:
    """Return the exit code, the standard output and the standard error of a command."""
    finished = CliRunner().invoke(app, list(arguments))
    return finished.exit_code, finished.stdout, finished.stderr


def database() -> Path:
    return Path(os.environ["AGENTKIT_HOME"]) / "runs.db"


def stored() -> list[Any]:
    """Return everything that the journal holds."""
    with sqlite3.connect(database()) as db:
        return [db.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in ("trees", "runs", "rows")]


def steps(run: Any) -> list[str]:
    return [repr(entry) for entry in run.entries]


@tool(effect="pure")
def rain(city: str) -> str:
    """Look at the weather."""
    return f"rain in {city}"


CALL = Reply("I look", (Call("rain", {"city": "Oslo"}, "c"),))


def agent(*replies: Any, tools: Any = (rain,), **options: Any) -> Agent:
    return Agent(Scripted([*replies], abilities=Abilities(tools=True)), tools, **options)


# -- what was recorded -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_of_every_engine_is_shown_exported_and_continued_with_what_was_recorded(engine: str) -> None:
    first = Agent("offline", ["math"], engine=CONFIGURED[engine], **OPTIONS)
    whole = first.start(TASK, paused=True)
    whole.drive()
    run = first.start(TASK, paused=True)
    for _ in range(len(whole) // 2):
        next(run)
    run.close()
    before = stored()
    looked = agentkit.look(run.id)
    replayed, exported = command("replay", run.id)[1], command("export", run.id)[1]
    assert stored() == before and steps(looked) == steps(run) and not looked.trace.difference
    assert all(line in replayed for line in repr(run).splitlines()[1 : 1 + len(run)])
    assert [json.loads(line) for line in exported.splitlines()] == [event.to_dict() for event in run.events()]
    again = Agent().resume(run.id)
    assert again.agent.engine_options == first.engine_options and again.dialect == "json"
    assert {name: again.agent.options.get(name) for name in OPTIONS if name != "dialect"} == {
        name: value for name, value in OPTIONS.items() if name != "dialect"
    }
    again.drive()
    assert steps(again) == steps(whole) and again.answer == whole.answer
    assert again.request(1) == whole.request(1)
    assert [type(row).__name__ for row in again.rows()].count("Note") == sum(
        type(row).__name__ == "Note" for row in whole.rows()
    )  # nothing is said to have changed
    again.close()
    assert command("resume", run.id) == (0, f"{whole.answer}\n", "")


def test_the_agent_that_resumes_its_own_run_stays_the_agent_of_the_run() -> None:
    mine = agent(CALL, "done", engine=Loop("react", max_iterations=4), window=3)
    run = mine.start("How is Oslo?", paused=True)
    next(run)
    assert mine.resume(run.id).agent is mine


def test_an_option_that_the_opener_names_is_used_and_recorded_when_the_run_continues() -> None:
    run = Agent("offline", ["math"], window=3, warn_cycles=2).start(TASK, paused=True)
    next(run)
    run.close()
    before = stored()[2]
    again = Agent(window=5, dialect="text").resume(run.id)
    assert stored()[2] == before and again.agent.options["window"] == 5 and again.agent.options["warn_cycles"] == 2
    again.drive()
    changed = next(event for event in again.events() if event.kind == "changed")
    assert (changed.data["dialect"], changed.data["agent"]["window"], changed.data["author"]) == ("text", 5, "human")
    again.close()
    third = Agent().resume(run.id)
    assert third.dialect == "text" and third.agent.options["window"] == 5


def test_a_dialect_that_was_set_in_the_middle_is_restored() -> None:
    run = Agent("offline", ["math"]).start(TASK, paused=True)
    next(run)
    run.dialect = "text"
    fork = run.fork()
    run.close()
    assert Agent().resume(run.id).dialect == "text" and fork.dialect == "text"


def test_a_fork_is_resumed_with_its_own_engine_options_model_and_dialect() -> None:
    run = Agent("offline", ["math"], window=3).start(TASK, paused=True)
    next(run)
    fork = run.fork(model="echo", dialect="text", window=8, engine={"max_iterations": 2}).fork(self_check=3)
    fork.close()
    again = Agent().resume(fork.id)
    assert (again.agent.model.name, again.dialect, again.agent.engine_options) == (
        "echo",
        "text",
        {"max_iterations": 2},
    )
    assert again.agent.options["window"] == 8 and again.agent.options["self_check"] == 3


def test_options_that_hold_functions_or_secrets_have_to_be_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def quiet(step: Any, memory: Any) -> Iterator[Any]:
        return (yield step)

    settings = {"api_key": "sk-proj-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c"}
    first = agent(CALL, "done", arounds=[quiet], settings=settings)
    run = first.start("How is Oslo?", paused=True)
    next(run)
    run.close()
    opened = agent("done").resume(run.id)
    assert opened.status == "readonly" and "option 'settings', option 'arounds'" in opened.read_only
    opened.close()
    assert agent("done", arounds=[quiet], settings=settings).resume(run.id).drive().answer == "done"


def test_roles_are_restored_by_the_names_of_their_models() -> None:
    run = Agent("offline", engine="reflexion", roles={"evaluate": "echo"}).start(TASK, paused=True)
    next(run)
    run.close()
    again = Agent().resume(run.id)
    assert again.performer.roles["evaluate"].name == "echo" and again.agent.model.name == "offline"


# -- what is missing ---------------------------------------------------------------------------------------------------


def test_an_engine_that_is_not_registered_opens_read_only_with_the_whole_recording() -> None:
    def own(task: Any) -> Any:
        thought = yield Think(Chat.of(task))
        return Answer(thought.text, Chat.of(task))

    run = agent("forty-two", engine=own, tools=()).start("q", paused=True)
    run.drive()
    run.close()
    looked, opened = agentkit.look(run.id), agent("x", tools=()).resume(run.id)
    for shown in (looked, opened):
        assert steps(shown) == steps(run) and shown.answer == "forty-two" and shown.status == "readonly"
        assert "the engine of this run is not available here" in repr(shown)
    assert "it was opened without engine 'tests.test_looking:" in opened.read_only
    opened.close()
    assert agent("x", tools=(), engine=own).resume(run.id).status == "done"
    assert agent("sure", tools=()).fork(run.id, 0, engine="react").drive().answer == "sure"
    with pytest.raises(UsageError, match="pass engine="):
        agent("x", tools=()).fork(run.id)


def test_the_recorded_model_answers_or_it_is_said_how_to_name_another_one() -> None:
    run = Agent(Scripted([], name="openai:gpt-x at home"), engine="chain_of_thought").start("q", paused=True)
    run.close()
    code, out, err = command("resume", run.id)
    assert (code, out) == (1, "") and "without model 'openai:gpt-x at home'" in err
    assert err.splitlines()[-1] == f"agentkit resume {run.id} -m MODEL names what is missing"
    assert command("resume", run.id, "-m", "echo") == (0, "q\n", "")


def test_after_a_failure_of_the_recorded_model_resume_asks_the_same_model_again() -> None:
    code, _, err = command("run", "hello", "-m", "openai:gpt-x")
    id = err.split()[-1]
    assert code == 1 and "OPENAI_API_KEY" in err and err.endswith(f"agentkit resume {id}\n")
    code, out, err = command("resume", id)
    assert (code, out) == (1, "") and "OPENAI_API_KEY" in err
    assert command("resume", id, "-m", "echo") == (0, "hello\n", "")


def test_a_recording_does_not_choose_the_host_that_is_asked() -> None:
    run = Agent("http://127.0.0.1:9/v1#qwen").start("q", paused=True)
    run.close()
    assert "without model 'http://127.0.0.1:9/v1#qwen'" in Agent().resume(run.id).read_only


def test_a_run_that_waits_says_what_for_and_how_to_decide() -> None:
    run = Agent("offline", ["math"], approve=["calculate"]).start(TASK, paused=True)
    run.drive()
    run.close()
    code, out, err = command("resume", run.id)
    assert code == 1 and out.startswith("Run waiting: 1 step") and "calculate needs your approval" in err
    assert f"agentkit resume {run.id} with one of --approve, --reject, --respond" in err
    code, out, _ = command("resume", run.id, "--approve")
    assert code == 0 and "144" in out


# -- looking -----------------------------------------------------------------------------------------------------------

HOLD = """
import sys
from agentkit import Agent
run = Agent("offline", ["math"], engine="plan_and_execute").start("What is 12 * 12?", paused=True)
next(run)
print(run.id, flush=True)
for _ in sys.stdin:
    next(run)
    print(len(run), flush=True)
run.drive()
"""


@pytest.fixture
def holder() -> Iterator[Any]:
    """A process that holds a run: it takes a step for each line, and drives to the end when its input is closed."""
    with subprocess.Popen([sys.executable, "-c", HOLD], stdin=-1, stdout=-1, text=True) as process:
        yield process
        if process.stdin and not process.stdin.closed:
            process.stdin.close()


def test_a_run_that_another_process_holds_can_be_looked_at_listed_exported_and_forked(holder: Any) -> None:
    id = holder.stdout.readline().strip()
    with pytest.raises(JournalInUse, match=rf"agentkit\.look\('{id}'\)"):
        Agent().resume(id)
    before = stored()
    looked = agentkit.look(id)
    assert len(looked) == 2 and f"agent.resume('{id}') continues it" in looked.read_only
    assert command("replay", id)[0] == command("export", id)[0] == command("runs")[0] == 0
    assert looked.to_html() and looked.to_markdown() and looked.to_notebook() and looked.to_json() and repr(looked)
    assert looked._repr_html_() and looked.widget() is not None and len(looked.to_frame()) == 2
    view(looked).close()
    for verb in (looked.undo, lambda: next(looked), looked.fork, looked.drive, lambda: looked.edit(1, text="hi")):
        with pytest.raises(ReadOnly, match=rf"agent\.fork\('{id}'\)"):
            verb()
    assert stored() == before
    holder.stdin.write("\n")
    holder.stdin.flush()
    assert int(holder.stdout.readline()) == 3 == len(agentkit.look(id))
    code, out, err = command("fork", id, "--at", "1", "-e", "react")
    assert code == 0 and "agentkit resume" in err
    fork = Agent().resume(out.strip())
    holder.stdin.close()
    fork.drive()
    assert holder.wait() == 0 and fork.agent.engine is react and fork.status == "done"
    assert agentkit.look(id).answer and {row.run for row in fork.rows()} == {id, fork.id}


def test_two_processes_append_to_one_tree_and_each_reads_its_own_line(holder: Any) -> None:
    id = holder.stdout.readline().strip()
    fork = Agent().fork(id)
    for _ in range(2):
        holder.stdin.write("\n")
        holder.stdin.flush()
        holder.stdout.readline()
        next(fork, None)
    line = steps(fork)
    fork.control.lease.drop()
    holder.stdin.close()
    assert holder.wait() == 0
    fork.undo()
    fork.redo()
    assert steps(fork) == line
    fork.close()
    numbers = [row.id for row in fork.rows()]
    assert numbers == list(range(1, len(numbers) + 1)) and steps(agentkit.look(fork.id)) == line
    assert agentkit.look(id).answer and len(agentkit.look(id)) > 3


def test_looking_at_a_run_does_not_take_it_from_the_object_that_holds_it() -> None:
    run = agent(CALL, "done").start("How is Oslo?", paused=True)
    next(run)
    looked = agent().look(run)
    assert looked.id == run.id and len(looked) == 2
    assert run.drive().answer == "done" and len(looked) == 2 and len(agent().look(run)) == len(run)


def test_the_export_of_a_run_that_is_looked_at_is_that_of_the_run_itself() -> None:
    run = agent(CALL, "done", "x").start("How is Oslo?", paused=True)
    run.drive()
    run.fork(1).close()
    assert agent().look(run.id).to_json() == run.to_json()


def test_a_run_that_has_not_begun_is_listed_as_such_and_cannot_be_opened() -> None:
    run = agent(CALL).start("How is Oslo?", paused=True)
    for name, tree in (("alone", "alone"), ("a-fork", run.id)):
        run.trace.journal.create(RunInfo(name, tree, "q", "e", "m", "paused", 0, 1.0, 1.0))  # type: ignore[union-attr]
        run.trace.journal.release(name)  # type: ignore[union-attr]
    assert {info.run: info.status for info in agentkit.runs()} == {
        run.id: "paused",
        "alone": "not begun",
        "a-fork": "not begun",
    }
    for name in ("alone", "a-fork"):
        for open_run in (agentkit.look, agent().resume, agent().fork):
            with pytest.raises(UsageError, match="has not begun"):
                open_run(name)  # type: ignore[operator]
        assert command("replay", name)[0] == 1 and command("delete", name)[0] == 0


def test_a_damaged_run_can_be_looked_at_but_not_forked() -> None:
    run = agent(CALL, "done").start("How is Oslo?", paused=True)
    run.drive()
    run.close()
    with sqlite3.connect(database()) as db:
        db.execute("UPDATE rows SET body = replace(body, 'rain', 'snow') WHERE body LIKE '%rain in%'")
    assert "its journal is damaged" in agent().look(run.id).read_only
    with pytest.raises(ReadOnly, match="damaged"):
        agent().fork(run.id)


# -- when the code has changed -----------------------------------------------------------------------------------------


def engine_that_plans(*, first: bool, answers: str = "") -> Any:
    """Return an engine whose code can change: it plans first, or answers something else."""

    def engine(task: Any, *, tools: Any = ()) -> Any:
        chat = Chat.of(task)
        if first:
            chat += yield Think(chat, (), role="plan")
        thought = yield Think(chat, tools)
        for call in thought.calls:
            chat += yield Act(call)
        return Answer(answers or thought.text, chat)

    return engine


def recorded(**changes: Any) -> str:
    run = agent(CALL, engine=engine_that_plans(first=False)).start("How is Oslo?", paused=True)
    run.drive()
    run.close()
    return run.id


def test_a_finished_run_whose_engine_has_changed_is_shown_with_its_recorded_answer() -> None:
    id, changed = recorded(), engine_that_plans(first=True)
    before = stored()
    looked = agent(engine=changed).look(id)
    assert looked.answer == "I look" and len(looked) == 4 and "the engine now asks for think (plan)" in repr(looked)
    opened = agent("a plan", "no", engine=changed).resume(id)
    assert opened.status == "diverged" and opened.answer == opened.result.answer == "I look"
    assert opened.result.reason.startswith("the engine now asks for think (plan)") or opened.result.reason == ""
    opened.close()
    assert stored()[2] == before[2] and [info.status for info in agentkit.runs()] == ["done"]


def test_driving_on_makes_a_branch_and_says_so() -> None:
    seen: list[Any] = []
    run = agent("a plan", "no", engine=engine_that_plans(first=True), on_event=seen.append).resume(recorded())
    assert [event.kind for event in seen] == ["diverged"]
    run.drive()
    moved = next(event for event in seen if event.kind == "moved")
    assert moved.data["why"] == "diverged" and "asks for think (plan)" in moved.data["text"]
    assert (run.status, run.answer) == ("done", "no")
    assert any(entry.kind == "act" for line in run.branches() for entry in line)
    again = agent(engine=engine_that_plans(first=True)).resume(run.id)
    assert (again.status, again.answer) == ("done", "no")


def test_a_changed_answer_is_a_difference_too() -> None:
    run = agent(engine=engine_that_plans(first=False, answers="something else")).resume(recorded())
    assert run.status == "diverged" and run.answer == "I look"
    assert "the engine now answers 'something else', but 'I look' was recorded" in run.hold
    run.drive()
    assert (run.status, run.answer) == ("done", "something else")


def test_a_verb_on_a_run_that_differs_starts_from_the_recorded_line() -> None:
    run = agent("a plan", engine=engine_that_plans(first=True)).resume(recorded())
    edited = run.edit(1, text="Or not")
    assert run.entries[-1] is edited and run.status == "diverged" and "diverged" in repr(run)
    assert "now asks for think (plan)" in run._repr_html_() and "now asks for think (plan)" in run.to_markdown()
    next(run)
    assert [entry.step.role for entry in run.entries[1:]] == ["plan"] and run.status != "diverged"
