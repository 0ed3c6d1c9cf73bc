"""Everything that a person can hold displays itself in a notebook, and hostile text does nothing."""

from __future__ import annotations

import re
from typing import Any

import pytest

from agentkit import Agent, Call, Reply, Run, load, tool
from agentkit.errors import UsageError
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

HOSTILE = "<img src=x onerror=alert(1)><script>1</script>"


@tool(effect="pure")
def look(city: str) -> str:
    """Look at the weather <b>now</b>."""
    return f"rain in {city} {HOSTILE}"


def run() -> Run:
    replies = [Reply(HOSTILE, (Call("look", {"city": HOSTILE}, "c"),)), HOSTILE, "again"]
    held = Agent(Scripted(replies, abilities=Abilities(tools=True)), [look], journal="memory").start(
        HOSTILE, paused=True
    )
    held.drive()
    held.edit(2, text=f"sun {HOSTILE}")
    held.drive()
    return held


def held() -> dict[str, Any]:
    mine = run()
    message = mine[2].result
    return {
        "agent": mine.agent,
        "branches": mine.branches(),
        "entry": mine[2],
        "message": message,
        "result": mine.result,
        "run": mine,
        "tool": look,
        "usage": mine.usage,
    }


@pytest.mark.parametrize("name", ["agent", "branches", "entry", "message", "result", "run", "tool", "usage"])
@pytest.mark.parametrize("form", ["_repr_html_", "_repr_markdown_"])
def test_each_type_has_a_stable_repr_that_runs_nothing(name: str, form: str) -> None:
    first, second = getattr(held()[name], form)(), getattr(held()[name], form)()
    assert first and first == second
    prose = re.sub(r"^(```+).*?^\1$", "", first, flags=re.DOTALL | re.MULTILINE)  # in a Markdown fence, text stays text
    assert "<img" not in prose and "<script" not in prose


def test_branches_show_how_each_of_them_ends() -> None:
    assert repr(run().branches()).splitlines()[0] == "2 branches"


def test_an_exported_run_is_loaded_unchanged() -> None:
    mine = run()
    for back in (load(mine.to_json()), load(mine.to_notebook())):
        assert [repr(entry) for entry in back.entries] == [repr(entry) for entry in mine.entries]
        assert [len(line) for line in back.branches()] == [len(line) for line in mine.branches()]
        assert back.status == "readonly"
    again = mine.agent.load(mine.to_json())
    again.rewind(2)
    assert again.status == "paused" and again.pending[0].step.kind == "think"


def test_anything_that_is_not_a_recording_is_refused_with_a_reason() -> None:
    with pytest.raises(UsageError):
        load({"nonsense": 1})
