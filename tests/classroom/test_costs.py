"""What a run has cost: calls, rounds of waiting, tokens."""

from __future__ import annotations

import pytest

from agentkit import Act, Agent, All, Answer, Call, Chat, Think, tool
from agentkit.classroom import Written, cost, costs, rounds

TEN = Written(("thought", "", "1234567890"))


@tool(effect="pure")
def look(at: str) -> str:
    """Look at something."""
    return at


def acts(*names: str) -> tuple[Act, ...]:
    return tuple(Act(Call("look", {"at": name})) for name in names)


def looking(name: str):
    return (yield acts(name)[0])


def one_by_one(task, *, tools=()):
    yield Think(Chat.of(task))
    for name in ("a", "b", "c"):
        yield from looking(name)
    return Answer("done", Chat.of(task))


def side_by_side(task, *, tools=()):
    yield Think(Chat.of(task))
    yield All(acts("a", "b", "c"))
    return Answer("done", Chat.of(task))


def long_lane(task, *, tools=()):
    def lane():
        yield from looking("b")
        yield from looking("c")

    yield All((*acts("a"), lane()))
    yield Think(Chat.of(task))
    return Answer("done", Chat.of(task))


def two_at_a_time(task, *, tools=()):
    yield All(acts("a", "b", "c"), limit=2)
    return Answer("done", Chat.of(task))


def finished(engine):
    return Agent(TEN, [look], engine=engine, journal="memory").run("go").run


@pytest.mark.parametrize(("engine", "count"), [(one_by_one, 4), (side_by_side, 2), (long_lane, 3), (two_at_a_time, 2)])
def test_rounds_count_how_often_one_waits(engine, count: int) -> None:
    assert rounds(finished(engine)) == count


def test_rounds_of_a_run_that_is_not_over_are_those_so_far() -> None:
    run = Agent(TEN, [look], engine=side_by_side, journal="memory").start("go", paused=True)
    assert rounds(run) == 0
    next(run)
    assert rounds(run) == 1
    run.step_over()
    assert rounds(run) == 2


def test_counting_changes_nothing_in_the_run() -> None:
    run = finished(side_by_side)
    before = [entry.id for entry in run.entries], run.status, len(run.rows())
    cost(run)
    assert ([entry.id for entry in run.entries], run.status, len(run.rows())) == before


def test_a_cost_is_counted_from_the_entries_and_the_usage_of_a_run() -> None:
    run = finished(side_by_side)
    found = cost(run)
    assert (found["model calls"], found["tool calls"]) == (1, 3)
    assert (found["tokens read"], found["tokens written"]) == (run.usage.input, run.usage.output)
    assert found["tokens written"] == 10 // 4 + 4


def test_costs_are_a_table_with_one_row_for_each_run() -> None:
    table = costs(apart=finished(one_by_one), together=finished(side_by_side))
    assert table["apart"]["rounds"] == 4 and table["together"]["rounds"] == 2
    lines = repr(table).splitlines()
    assert lines[0].split()[:3] == ["answer", "model", "calls"]
    assert lines[2].split() == ["together", "done", "1", "3", "2", "4", "6"]
    assert "<table" in table._repr_html_() and "| together | done | 1 |" in table._repr_markdown_()
