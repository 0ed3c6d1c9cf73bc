"""Any engine can be nested in any other: it runs, pauses, takes an edit of an inner result, is replayed and resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from engines.actors import Actor, look
from splitting import split

from agentkit import Agent
from agentkit.around.thinks_with import thinks_with
from agentkit.engines.registry import ENGINES, find, loops

SMALL = {"max_depth": 2, "n_branches": 2}
AS_MODEL = {"react": "thought", "chain_of_thought": "thought", "tree_of_thoughts": "propose", "rewoo": "work"}
"""The roles for which an engine without a parameter for another engine takes that instead of the model."""


def options(outer: str, inner: str) -> dict[str, Any]:
    takes = loops(find(outer)[0])
    spec = {"engine": inner, **(SMALL if inner == "tree_of_thoughts" else {})}
    more: dict[str, Any] = SMALL if outer == "tree_of_thoughts" else {}
    return {"engine": outer, **more, **(dict.fromkeys(takes, spec) if takes else {})}


def agent(outer: str, inner: str, journal: Any, model: Any = None) -> Agent:
    chosen = options(outer, inner)
    if not loops(find(outer)[0]):
        loop, _ = find(inner)
        chosen["arounds"] = [thinks_with(loop, AS_MODEL[outer])]
    return Agent(model or Actor(), [look], journal=journal, **split(chosen))


PAIRS = pytest.mark.parametrize(("outer", "inner"), [(outer, inner) for outer in ENGINES for inner in ENGINES])


@PAIRS
def test_a_nested_engine_can_run_pause_be_edited_and_be_replayed(outer: str, inner: str) -> None:
    model = Actor()
    run = agent(outer, inner, "memory", model).start("q", paused=True)
    first = run.drive()
    assert first.answer and not first.error and not first.reason, first
    assert len({entry.path for entry in run.entries}) > 1 or outer in AS_MODEL

    before = [(entry.id, entry.kind) for entry in run.entries]
    run.trace.rebuild(strict=True)
    assert [(entry.id, entry.kind) for entry in run.entries] == before

    inside = next((e for e in run.entries if e.kind == "act"), None) or next(
        e for e in run.entries if e.kind == "think" and e.step.role in ("thought", "propose", "draft")
    )
    asked, calls = len(model.requests), sum(e.kind == "act" for e in run.entries)
    run.edit(inside, text="EDITED by hand")
    assert run.answer is None or "EDITED" in run.answer
    second = run.drive()
    later = "\n".join(message.text for request in model.requests[asked:] for message in request.chat)
    assert second.answer and "EDITED" in later + second.answer
    assert sum(e.kind == "act" for e in run.entries) <= calls + 4


@PAIRS
def test_a_nested_engine_that_was_interrupted_continues_where_it_was(outer: str, inner: str, tmp_path: Path) -> None:
    complete = agent(outer, inner, "memory").start("q", paused=True)
    complete.drive()
    steps = len([e for e in complete.entries if e.kind != "begin"])
    model = Actor()
    run = agent(outer, inner, tmp_path / "runs.db", model).start("q", paused=True)
    for _ in range(steps // 2):
        next(run)
    done = [(e.path, e.index, e.kind) for e in run.entries]
    run.close()
    again = agent(outer, inner, tmp_path / "runs.db", model).resume(run.id)
    assert [(e.path, e.index, e.kind) for e in again.entries] == done and not again.missing
    asked = len(model.requests)
    assert again.drive().answer == complete.answer
    assert len(model.requests) == sum(e.kind == "think" for e in complete.entries) >= asked
    again.close()
