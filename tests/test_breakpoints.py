"""Breakpoints pause a run when something happens, count their hits, and are ignored by single steps."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import agentkit
from agentkit import Act, Agent, All, Answer, Call, Chat, Loop, Reply, Run, Think, tool
from agentkit.core.steps import Engine, Part
from agentkit.engines import react as module
from agentkit.engines.registry import ROLES
from agentkit.errors import Unknown, UsageError
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted


@tool(effect="pure")
def look(city: str) -> str:
    """Look at the weather."""
    if city == "Atlantis":
        raise LookupError("no such place")
    return f"rain in {city}"


def call(city: str, n: int = 0) -> Reply:
    return Reply("", (Call("look", {"city": city}, f"{city}{n}"),))


def begin(*replies: Any) -> Run:
    model = Scripted([*replies], abilities=Abilities(tools=True))
    return Agent(model, [look], journal="memory").start("q", paused=True)


def line_of(text: str) -> int:
    lines, start = inspect.getsourcelines(module.react)
    return start + next(n for n, line in enumerate(lines) if text in line)


@pytest.mark.parametrize(
    ("condition", "stands_before", "says"),
    [
        ({"tool": "look"}, "act", "tool look"),
        ({"role": "thought"}, "think", "role thought"),
        ({"line": line_of("yield Act")}, "act", "line"),
    ],
)
@pytest.mark.parametrize("drive", [Run.drive, lambda run: run.play().wait()])
def test_a_run_pauses_before_the_step_that_a_breakpoint_names(
    condition: Any, stands_before: str, says: str, drive: Any
) -> None:
    run = begin(call("Oslo"), call("Rome"), "done")
    point = run.break_at(**condition)
    drive(run)
    assert run.status == "paused" and run.pending[0].step.kind == stands_before and says in run.hold
    assert point.hits == 1
    drive(run)
    assert point.hits == 2 and run.status == "paused"
    point.enabled = False
    drive(run)
    assert run.answer == "done"


def test_a_failing_tool_pauses_the_run_after_it() -> None:
    run = begin(call("Oslo"), call("Atlantis"), "done")
    point = run.break_at(error=True)
    run.drive()
    assert not run.entries[-1].result.ok and point.hits == 1 and "failure of look" in run.hold
    assert run.drive().answer == "done"


def test_a_repeated_call_pauses_the_run() -> None:
    run = begin(call("Oslo", 1), call("Rome"), call("Oslo", 2), "done")
    point = run.break_at(repeat=True)
    run.drive()
    assert len(run) == 6 and point.hits == 1 and "on a repeated call of look" in run.hold


def test_a_predicate_of_the_entry_can_pause_the_run_and_one_that_raises_says_so() -> None:
    run = begin(call("Oslo"), call("Rome"), "done")
    run.break_at(when=lambda entry: entry.kind == "act" and "Rome" in entry.result.text)
    run.drive()
    assert "Rome" in repr(run.entries[-1])
    other = begin(call("Oslo"), "done")
    other.break_at(when=lambda entry: entry.nonsense)
    other.drive()
    assert "AttributeError" in other.hold and len(other) == 2


def test_all_breakpoints_that_are_hit_are_named_and_counted() -> None:
    run = begin(call("Oslo", 1), call("Oslo", 2), "done")
    points = [
        run.break_at(**condition) for condition in ({"tool": "look"}, {"line": line_of("yield Act")}, {"repeat": True})
    ]
    run.drive()
    assert "tool look" in run.hold and "line" in run.hold
    run.drive()
    assert [point.hits for point in points] == [2, 2, 1]


def test_a_call_counts_as_repeated_whoever_performed_the_first_but_not_after_an_undo() -> None:
    run = begin(call("Oslo", 1), call("Oslo", 2), "done")
    next(run)
    next(run)
    point = run.break_at(repeat=True)
    run.drive()
    assert point.hits == 1 and len(run) == 4
    undone = begin(call("Oslo"), "done")
    other = undone.break_at(repeat=True)
    next(undone)
    next(undone)
    undone.undo()
    assert undone.drive().answer == "done" and other.hits == 0


def test_two_equal_parallel_calls_count_as_repeated() -> None:
    run = begin(Reply("", (*call("Oslo", 1).calls, *call("Oslo", 2).calls)), "done")
    point = run.break_at(repeat=True)
    run.drive()
    assert point.hits == 1 and "on a repeated call of look" in run.hold


@pytest.mark.parametrize("lanes", [1, 2])
def test_earlier_calls_are_read_once_and_not_again_for_each_later_call(lanes: int) -> None:
    reads = 0

    class Counted(dict[str, Any]):
        def items(self) -> Any:
            nonlocal reads
            reads += 1
            return super().items()

    def file(under: dict[str, Any]) -> str:
        """File something."""
        return "filed"

    def lane(number: int, turns: int) -> Part:
        for turn in range(turns):
            yield Act(Call("file", {"under": Counted(turn=f"{number}.{turn}")}, f"c{number}.{turn}"))
        return Answer("", Chat())

    def engine(task: Any, *, turns: int = 0) -> Engine:
        yield All(tuple(lane(number, turns) for number in range(lanes)))
        return Answer("done", Chat.of(task))

    counts = []
    for turns in (20, 40):
        run = Agent("echo", [tool(file)], engine=Loop(engine, turns=turns), journal="memory").start("q", paused=True)
        assert run.break_at(repeat=True).hits == 0
        reads = 0
        assert run.drive().answer == "done"
        counts.append(reads)
    assert counts[0] > 0 and counts[1] < 2.5 * counts[0], counts


def test_a_breakpoint_on_a_line_moves_to_the_next_yield() -> None:
    run = begin(call("Oslo"), "done")
    point = run.break_at(line=line_of("if not thought.calls"))
    assert point.line == line_of("yield Act")
    run.drive()
    assert point.hits == 1 and run.pending[0].step.kind == "act"
    with pytest.raises(UsageError, match=r"react\.py has no yield at or after line 100000; .* where it yields"):
        run.break_at(line=100_000)
    assert len(run.state.breakpoints) == 1


def test_a_breakpoint_on_a_line_of_a_nested_engine_stays_there() -> None:
    model = Scripted(["1. look", call("Oslo"), "rain", "it rains"], abilities=Abilities(tools=True))
    run = Agent(model, [look], engine="plan_and_execute", journal="memory").start("q", paused=True)
    next(run)
    point = run.break_at(line=line_of("yield Act"))
    assert point.line == line_of("yield Act")
    run.drive()
    assert point.hits == 1 and run.pending[0].step.kind == "act"


def test_an_existing_breakpoint_is_enabled_and_not_set_twice() -> None:
    run = begin("done")
    point = run.break_at(line=line_of("if not thought.calls"))
    point.enabled = False
    assert run.break_at(line=line_of("yield Act")) is point and point.enabled
    run.break_at(line=line_of("yield Act"), file=module.__file__)
    assert len(run.state.breakpoints) == 2


def test_a_breakpoint_in_the_file_of_an_around_pauses_there() -> None:
    run = begin("done")
    around = next(place for place in run.where() if place.around)
    point = run.break_at(line=around.line, file=around.file)
    run.drive()
    assert point.hits == 1 and len(run) == 1


def test_parallel_calls_show_no_internal_frames() -> None:
    run = begin(Reply("", (*call("Oslo", 1).calls, *call("Rome", 2).calls)), "done")
    next(run)
    assert [place.function for place in run.where() if not place.around] == ["react"]


def test_single_steps_ignore_breakpoints_and_a_for_loop_ends_at_them() -> None:
    run = begin(call("Oslo"), "done")
    run.break_at(tool="look")
    assert [next(run).kind for _ in range(2)] == ["think", "act"]
    looped = begin(call("Atlantis"), "done")
    looped.break_at(error=True)
    assert [entry.kind for entry in looped] == ["think", "act"]


@pytest.mark.parametrize("condition", [{}, {"tool": "look", "role": "thought"}])
def test_a_breakpoint_has_exactly_one_condition(condition: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="exactly one condition"):
        begin("done").break_at(**condition)


def test_where_shows_function_line_source_and_locals_of_the_engine() -> None:
    run = begin(call("Oslo"), "done")
    next(run)
    place = next(place for place in run.where() if not place.around)
    assert (place.function, place.source, place.line) == (
        "react",
        "chat += yield Act.each(thought.calls)",
        line_of("yield Act"),
    )
    assert place.locals["iterations"] == 1 and place.file == module.__file__


def own_engine(task: Any) -> Engine:
    yield Think(Chat.of(task), role="evalute")
    return Answer("done", Chat.of(task))


def test_a_mistyped_tool_is_refused_and_a_mistyped_role_is_told() -> None:
    run = begin("done")
    with pytest.raises(Unknown, match="unknown tool 'lok'; did you mean 'look'"):
        run.break_at(tool="lok")
    with pytest.warns(RuntimeWarning, match="no thought of react has the role 'evalute'; did you mean 'evaluate'"):
        run.break_at(role="evalute")
    run.break_at(role="my_own_role")
    Agent("echo", engine=own_engine, roles={"evalute": "echo"}, journal="memory")
    with pytest.warns(RuntimeWarning, match="no thought of react has the role 'evalute'; did you mean 'evaluate'"):
        Agent("echo", roles={"evalute": "echo", "fast": "echo"}, journal="memory")


def test_the_declared_roles_are_those_of_the_engines_and_arounds() -> None:
    package = Path(agentkit.__file__).parent
    used = set()
    for path in [*package.glob("engines/*.py"), *package.glob("around/*.py"), package / "agent" / "sessions.py"]:
        used |= set(re.findall(r'\brole="(\w+)"', path.read_text()))
    assert used <= set(ROLES) and {"plan", "evaluate", "thought", "compact"} <= set(ROLES)
