"""The role and the tags of a step are kept in entries, events, the journal and exports."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import pytest

from agentkit import Act, Agent, All, Answer, Ask, Call, Chat, Reply, Run, Think, tool
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted
from agentkit.trace.events import Event

PLAN: dict[str, Any] = {"steps": ["look", "tell"], "step": 1, "score": 0.5, "of": None}


@tool(effect="pure")
def look(city: str) -> str:
    """Look at the weather."""
    return f"rain in {city}"


def planned(task: Any, *, tools: Any = ()) -> Any:
    chat = Chat.of(task)
    thought = yield Think(chat, tools, role="plan", tags=MappingProxyType(PLAN))
    seen = yield Act.each(thought.calls, role="verify", tags={"episode": 2})
    chat += thought
    chat += seen
    yield Ask("go on?", tags={"step": 2})
    _, two = yield All(
        (Think(chat, role="propose", tags={"node": "1.1"}), Think(chat, role="propose", tags={"node": "1.2"})),
        tags={"level": 1},
    )
    return Answer(two.text, chat, tags={"step": 3})


def done(events: list[Event], calls: int) -> Run:
    asks = Reply("both", tuple(Call("look", {"city": city}, city) for city in ("Oslo", "Rome")[:calls]))
    model = Scripted([asks, "one", "two"], abilities=Abilities(tools=True))
    run = Agent(model, [look], engine=planned, on_event=events.append).start("q", paused=True)
    run.drive()
    run.respond("yes")
    run.drive()
    return run


def tags_of(run: Run) -> list[Any]:
    return [(e.kind, e.step.role, dict(e.step.tags)) for e in run.trace.line.entries if e.step]


@pytest.mark.parametrize("calls", [1, 2])
def test_roles_and_tags_are_kept_resumed_exported_and_loaded(calls: int) -> None:
    run = done([], calls)
    before = tags_of(run)
    assert run.answer == "two" and before[0] == ("think", "plan", PLAN)
    assert before[-1] == ("conclude", "answer", {"step": 3})
    assert [row[1:] for row in before if row[0] == "act"] == [("verify", {"episode": 2})] * calls
    assert {row[2].get("node") for row in before} >= {"1.1", "1.2"}
    data = json.loads(json.dumps(run.to_json()))
    run.close()
    again = run.agent.resume(run.id)
    assert tags_of(again) == before and again.answer == "two"
    assert tags_of(run.agent.load(data)) == before


def test_the_events_of_a_step_have_its_role_and_tags_at_its_start_and_its_end() -> None:
    heard: list[Event] = []
    run = done(heard, 2)
    for kind, role, tags, times in (
        ("thinking", "plan", PLAN, 1),
        ("thought", "plan", PLAN, 1),
        ("tool_call", "verify", {"episode": 2}, 2),
        ("tool_result", "verify", {"episode": 2}, 2),
        ("asked", "question", {"step": 2}, 1),
        ("thinking", "propose", {"node": "1.2"}, 1),
        ("thought", "propose", {"node": "1.2"}, 1),
        ("concluding", "answer", {"step": 3}, 1),
    ):
        found = [e for e in heard if e.kind == kind and e.data["role"] == role and e.data["tags"] == tags]
        assert len(found) == times, kind
        assert all(json.loads(json.dumps(e.to_dict())) == e.to_dict() for e in found)
    order = [e.kind for e in heard if e.data.get("role") == "plan"]
    assert order == ["thinking", "thought"]
    kept = [e.to_dict() for e in run.events() if e.cursor]
    assert [e.to_dict() for e in heard if e.cursor] == kept
