"""Facts are declared and never guessed from a name, a text, or the frame of a function."""

from __future__ import annotations

import ast
import threading
from pathlib import Path
from typing import Any, Literal

import pytest

import agentkit
from agentkit import Agent, Answer, Call, Chat, Loop, Reply, Think, tool
from agentkit.core.steps import capped, timed
from agentkit.engines.react import react
from agentkit.errors import OptionError, ReadOnly, Unknown
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted


@tool(effect="pure")
def look(city: str) -> str:
    """Look at the weather."""
    return f"rain in {city}"


LOOK = Reply("I look", (Call("look", {"city": "Oslo"}, "c"),))


def scripted(*replies: Any) -> Scripted:
    return Scripted([*replies], abilities=Abilities(tools=True))


# -- time limits -------------------------------------------------------------------------------------------------------


def in_a_hurry(task: Any, *, tools: tuple[Any, ...] = ()) -> Any:
    """Run ReAct for a twentieth of a second."""
    part = yield from timed(react(task, tools=tools), 0.05)
    return Answer(f"part: {part.text}", Chat.of(task))


def test_a_time_limit_applies_in_a_users_engine_without_any_option_of_that_name() -> None:
    go = threading.Event()

    @tool(effect="pure", timeout=None)
    def wait() -> str:
        """Wait for a long time."""
        go.wait(30)
        return "late"

    call = Reply("I wait", (Call("wait", {}, "c"),))
    run = Agent(scripted(call, "done", "done"), [wait], engine=in_a_hurry, journal="memory").start("q")
    try:
        result = run.wait(20)
    finally:
        go.set()
    assert result.answer.startswith("part: ") and "late" not in repr(run) and result.reason != "timeout"


def test_the_word_timeout_in_a_prompt_sets_no_time_limit() -> None:
    plain, wordy = (
        Agent(scripted(LOOK, "done"), [look], journal="memory", instructions=text).start("q", paused=True)
        for text in ("Be brief.", "Mind the timeout: you have 0.001 seconds.")
    )
    assert {kind: len(gates) for kind, gates in plain.state.gates.items()} == {
        kind: len(gates) for kind, gates in wordy.state.gates.items()
    }
    assert wordy.drive().answer == "done"


# -- options -----------------------------------------------------------------------------------------------------------

LoopMode = Literal["short", "long"]


def with_modes(task: Any, *, mode: LoopMode = "short", EngineRoom: str = "") -> Any:
    """Answer with the mode."""
    yield Think(Chat.of(task))
    return Answer(f"{mode} {EngineRoom}", Chat.of(task))


def test_a_type_is_not_an_engine_because_its_name_contains_loop() -> None:
    agent = Agent("echo", engine=Loop(with_modes, mode="long", EngineRoom="react"), journal="memory")
    assert agent.run("q").answer == "long react"
    with pytest.raises(OptionError, match="mode must be 'short' or 'long'"):
        Agent("echo", engine=Loop(with_modes, mode="middle"))


def with_ranges(task: Any, *, max_steps: int = 5, max_iterations: int = 5, samples: float = 1.0) -> Any:
    """Answer with the numbers."""
    yield Think(Chat.of(task))
    return Answer(f"{max_steps} {max_iterations} {samples}", Chat.of(task))


def test_a_range_belongs_to_the_engine_that_declares_it() -> None:
    own = Loop(with_ranges, max_steps=0, max_iterations=-1, samples=0.5)
    assert Agent("echo", engine=own, journal="memory").run("q").answer == "0 -1 0.5"
    with pytest.raises(OptionError, match="max_steps must be at least 1"):
        Agent("echo", engine=Loop("plan_and_execute", max_steps=0))


def with_taken_names(task: Any, *, window: str = "", budget: str = "", recall: str = "", approve: str = "") -> Any:
    """Answer with options that an agent has, too."""
    yield Think(Chat.of(task))
    return Answer(" ".join((window, budget, recall, approve)), Chat.of(task))


def test_an_engine_may_have_options_that_an_agent_also_has() -> None:
    own = Loop(with_taken_names, window="w", budget="b", recall="r", approve="a")
    agent = Agent("echo", engine=own, journal="memory", window=3, budget={"max_model_calls": 9})
    assert agent.run("q").answer == "w b r a"
    assert agent.options["window"] == 3 and agent.engine_options["window"] == "w"
    with pytest.raises(Unknown, match="unknown option 'windoww' of the engine with_taken_names; did you mean 'window'"):
        Agent("echo", engine=Loop(with_taken_names, windoww="w"))


def test_a_mistyped_option_suggests_the_one_with_the_fewest_edits() -> None:
    for mistyped, meant in (("modle", "model"), ("rolse", "roles"), ("tool", "tools"), ("jornal", "journal")):
        with pytest.raises(Unknown, match=f"unknown agent option '{mistyped}'; did you mean '{meant}'"):
            Agent(**{mistyped: "x"})


# -- limits within limits ----------------------------------------------------------------------------------------------


def frugal(task: Any, *, tools: tuple[Any, ...] = ()) -> Any:
    """Run ReAct with one model call."""
    return (yield from capped(react(task, tools=tools), max_model_calls=1))


def test_a_cap_applies_within_a_built_in_engine() -> None:
    model = scripted("1. look", LOOK, LOOK, LOOK, LOOK, "done")
    result = Agent(model, [look], engine=Loop("plan_and_execute", actor=frugal), journal="memory").run("q")
    paths = [entry.path for entry in result.run.entries if entry.kind == "think"]
    assert max(paths.count(path) for path in {path for path in paths if path}) == 1, result.run


def named_like_a_budget(task: Any, *, tools: tuple[Any, ...] = ()) -> Any:
    """End for a reason that looks like that of a budget, with locals that look like a budget, too."""
    budget = limits = {"max_tokens": 1}
    spent = 10**9
    thought = yield Think(Chat.of(task), tools)
    return Answer(f"{thought.text} {len(budget) + len(limits) + spent}", Chat.of(task), "cap:budget:max_tokens")


def test_neither_the_locals_of_an_engine_nor_the_text_of_a_reason_control_anything() -> None:
    budget = {"max_tokens": 10**6, "ask": True}
    run = Agent(scripted("fine"), engine=named_like_a_budget, journal="memory", budget=budget).start("q", paused=True)
    result = run.drive()
    assert result.answer == "fine 1000000002" and result.reason == "cap:budget:max_tokens" and not run.waiting


# -- classes and states ------------------------------------------------------------------------------------------------


def test_no_module_completes_a_class_of_another_one() -> None:
    root = Path(agentkit.__file__).parent
    for path in root.rglob("*.py"):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        imported = {
            alias.asname or alias.name
            for node in body
            if isinstance(node, ast.ImportFrom | ast.Import)
            for alias in node.names
        }
        patched = [
            ast.unparse(target)
            for node in body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Attribute) and ast.unparse(target.value).partition(".")[0] in imported
        ]
        assert not patched, f"{path.relative_to(root)} sets {patched}"


def test_a_closed_run_is_known_by_its_state_and_not_by_what_is_missing() -> None:
    run = Agent(scripted(LOOK, "done"), [look], journal="memory").start("q", paused=True)
    next(run)
    run.close()
    assert not run.missing and run.status == "readonly" and "closed" in run.read_only
    with pytest.raises(ReadOnly, match="was closed"):
        run.undo()
