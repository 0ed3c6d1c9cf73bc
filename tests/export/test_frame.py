"""The trace as a table."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from agentkit import Agent, Call, Reply, Run, Usage, tool
from agentkit.export.frame import COLUMNS, records, to_frame
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted


@tool(effect="pure")
def look(city: str) -> str:
    """Look at the weather."""
    return f"rain in {city}"


def done() -> Run:
    key = "sk-" + "a1b2c3d4" * 5
    asks = Reply("I look", (Call("look", {"city": "Oslo"}, "a"), Call("look", {"city": key, "token": key}, "b")))
    model = Scripted([asks, "dry"], abilities=Abilities(tools=True), usage=Usage(10, 5, cost=0.25))
    run = Agent(model, [look], journal="memory").start("q", paused=True)
    run.drive()
    return run


def test_there_is_one_record_per_entry_with_what_was_asked_and_spent() -> None:
    found = records(done().entries)
    assert [(r["number"], r["kind"], r["role"], r["author"]) for r in found] == [
        (0, "begin", "", "human"),
        (1, "think", "thought", "model"),
        (2, "act", "action", "tool"),
        (3, "act", "action", "host"),  # refused: look takes no token
        (4, "think", "thought", "model"),
        (5, "conclude", "answer", "model"),
    ]
    assert [r["text"] for r in found[:3]] == ["q", "I look", "rain in Oslo"] and found[5]["text"] == "dry"
    assert (found[2]["tool"], found[2]["arguments"], found[2]["ok"]) == ("look", {"city": "Oslo"}, True)
    assert (found[1]["tool"], found[1]["arguments"], found[1]["ok"]) == (None, None, None)
    assert (found[1]["input"], found[1]["output"], found[1]["cost"], found[2]["input"]) == (10, 5, 0.25, 0)
    assert all(0 <= r["seconds"] < 60 for r in found) and "a1b2" not in str(found)


def test_a_frame_has_the_records_as_its_rows() -> None:
    pytest.importorskip("pandas")
    frame: Any = to_frame(done())
    assert list(frame.columns) == list(COLUMNS) and len(frame) == 6
    assert frame[frame.kind == "act"].tool.tolist() == ["look", "look"] and frame.cost.sum() == 0.5


def test_without_pandas_it_says_which_extra_to_install() -> None:
    program = """if True:
        import sys
        sys.modules["pandas"] = None
        from agentkit import Agent
        from agentkit.errors import UsageError
        from agentkit.export import to_frame
        run = Agent("echo", journal="memory").start("q", paused=True)
        try:
            to_frame(run)
        except UsageError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert "jupyter-agentkit[frame]" in done.stdout, done.stderr
