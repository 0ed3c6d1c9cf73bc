"""Whatever a person does, and in whatever order: a run that is read back from its rows is at the same position."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit import Agent, Call, Reply, Run, tool
from agentkit.errors import UsageError
from agentkit.models.base import Request
from agentkit.trace.trace import Move, Trace

VERBS = ("next", "over", "undo", "redo", "edit", "arguments", "rewind", "inject", "fork", "drive", "stop")


@tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def model(request: Request) -> Reply:
    """Reply with one call, then with three at once, and so on, and answer after some turns; depends only on the chat."""
    turn = sum(message.role == "assistant" for message in request.chat)
    if turn >= 4:
        return Reply(f"answer after {len(request.chat)} messages")
    return Reply(
        f"turn {turn}", tuple(Call("add", {"a": turn, "b": n}, f"c{turn}{n}") for n in range(1 + 2 * (turn % 2)))
    )


def act(run: Run, verb: str, n: int) -> Run:
    entry = run.entries[n % len(run)]
    match verb:
        case "next":
            next(run, None)
        case "over":
            run.step_over()
        case "undo":
            run.undo()
        case "redo":
            run.redo()
        case "edit":
            run.edit(entry, text=f"edited {n}")
        case "arguments":
            run.edit(entry, arguments={"a": n, "b": n})
        case "rewind":
            run.rewind(entry)
        case "inject":
            run.inject(f"message {n}")
        case "fork":
            return run.fork(entry)
        case "drive":
            run.drive()
        case "stop":
            run.rewind(
                max(run.trace.tree.entries.values(), key=lambda other: (other.kind in ("think", "act"), other.id))
            )
    return run


def position(trace: Trace) -> dict[str, Any]:
    def moves(found: list[Move]) -> list[Any]:
        return [(move.keep, [e.id for e in move.dropped], [e.id for e in move.added]) for move in found]

    return {
        "line": [entry.id for entry in trace.line],
        "tips": trace.line.tips,
        "pending": [(pending.path, pending.index, pending.step.kind) for pending in trace.pending],
        "heard": trace.injections.heard,
        "unheard": [note.data["text"] for note in trace.unheard()],
        "undo": moves(trace.done),
        "redo": moves(trace.undone),
        "branches": sorted([entry.id for entry in line] for line in trace.tree.branches(trace.line)),
    }


@settings(max_examples=150)
@given(st.lists(st.tuples(st.sampled_from(VERBS), st.integers(0, 30)), max_size=25))
def test_a_run_that_is_read_back_is_at_the_same_position(deeds: list[tuple[str, int]]) -> None:
    run = Agent(model, [add], journal="memory", dialect="native").start("q", paused=True)
    for verb, n in deeds:
        try:
            run = act(run, verb, n)
        except UsageError:
            pass  # it is not possible now, and the error says so; nothing may have changed
        mine = run.trace
        again = Trace(mine.run, mine._begin, mine._arounds)
        again.load(mine.journal.rows(mine.run))  # type: ignore[union-attr]
        again.rebuild()
        assert position(again) == position(mine)
