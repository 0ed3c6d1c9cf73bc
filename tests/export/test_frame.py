"""The trace as a data frame."""

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


def test_there_is_one_record_per_entry_with_its_call_and_its_usage() -> None:
    rows = records(done().entries)
    assert [(r["number"], r["kind"], r["role"], r["author"]) for r in rows] == [
        (0, "begin", "", "human"),
        (1, "think", "thought", "model"),
        (2, "act", "action", "tool"),
        (3, "act", "action", "host"),  # refused: look takes no token
        (4, "think", "thought", "model"),
        (5, "conclude", "answer", "model"),
    ]
    assert [r["text"] for r in rows[:3]] == ["q", "I look", "rain in Oslo"] and rows[5]["text"] == "dry"
    assert (rows[2]["tool"], rows[2]["arguments"], rows[2]["ok"]) == ("look", {"city": "Oslo"}, True)
    assert (rows[1]["tool"], rows[1]["arguments"], rows[1]["ok"]) == (None, None, None)
    assert (rows[1]["input"], rows[1]["output"], rows[1]["cost"], rows[2]["input"]) == (10, 5, 0.25, 0)
    assert all(0 <= r["seconds"] < 60 for r in rows) and "a1b2" not in str(rows)


def test_the_rows_of_the_frame_are_the_records() -> None:
    pytest.importorskip("pandas")
    frame: Any = to_frame(done())
    assert list(frame.columns) == list(COLUMNS) and len(frame) == 6
    assert frame[frame.kind == "act"].tool.tolist() == ["look", "look"] and frame.cost.sum() == 0.5


def test_the_error_without_pandas_names_the_extra_to_install() -> None:
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
