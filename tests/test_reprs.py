"""Every value that a person gets shows itself in a notebook, and escapes hostile text."""

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


def edited_run() -> Run:
    replies = [Reply(HOSTILE, (Call("look", {"city": HOSTILE}, "c"),)), HOSTILE, "again"]
    agent = Agent(Scripted(replies, abilities=Abilities(tools=True)), [look], journal="memory")
    run = agent.start(HOSTILE, paused=True)
    run.drive()
    run.edit(2, text=f"sun {HOSTILE}")
    run.drive()
    return run


def values() -> dict[str, Any]:
    run = edited_run()
    return {
        "agent": run.agent,
        "branches": run.branches(),
        "entry": run[2],
        "message": run[2].result,
        "result": run.result,
        "run": run,
        "tool": look,
        "usage": run.usage,
    }


@pytest.mark.parametrize("name", ["agent", "branches", "entry", "message", "result", "run", "tool", "usage"])
@pytest.mark.parametrize("form", ["_repr_html_", "_repr_markdown_"])
def test_each_type_always_shows_itself_in_the_same_way_and_executes_nothing(name: str, form: str) -> None:
    first, second = getattr(values()[name], form)(), getattr(values()[name], form)()
    assert first and first == second
    without_fences = re.sub(
        r"^(```+).*?^\1$", "", first, flags=re.DOTALL | re.MULTILINE
    )  # text in a fence is not markup
    assert "<img" not in without_fences and "<script" not in without_fences


def test_branches_show_how_each_of_them_ends() -> None:
    lines = repr(edited_run().branches()).splitlines()
    assert lines[0] == "2 branches" and len(lines) == 3
    assert lines[1].startswith("  0 4 steps, last: Answer ") and lines[2].startswith("  1 4 steps, last: Answer ")


def test_a_run_is_the_same_after_an_export_and_an_import() -> None:
    run = edited_run()
    for loaded in (load(run.to_json()), load(run.to_notebook())):
        assert [repr(entry) for entry in loaded.entries] == [repr(entry) for entry in run.entries]
        assert [len(line) for line in loaded.branches()] == [len(line) for line in run.branches()]
        assert loaded.status == "readonly"
    loaded = run.agent.load(run.to_json())
    loaded.rewind(2)
    assert loaded.status == "paused" and loaded.pending[0].step.kind == "think"


def test_loading_something_else_than_a_recording_is_refused() -> None:
    with pytest.raises(UsageError, match="not a recording"):
        load({"nonsense": 1})
