"""A run killed with SIGKILL at every dangerous point of every call: nothing committed is lost, repeated or wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.timeout(600)
def test_a_killed_run_goes_on_and_an_unknown_effect_is_asked_about(recorded: Any, tmp_path: Path) -> None:
    runs = {run["id"]: run["expected"] for run in recorded("native_runs.jsonl")}
    source = Path(os.environ["AGENTKIT_RECORDED"]) / "native_runs.jsonl"
    script = Path(__file__).with_name("crash_matrix.py")
    done = subprocess.run([sys.executable, str(script), str(source), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    cases = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(cases) == 4 * sum(run["n_tool_calls"] for run in runs.values())
    assert {case["killed"] for case in cases} == {9}
    for case in cases:
        expected = runs[case["id"]]
        assert case["answer"] == expected["final_answer"], case
        assert case["effects"] == expected["n_tool_calls"], case
        assert case["models"] == expected["n_model_calls"], case
    asked = Counter((case["point"], case["asked"]) for case in cases)
    calls = sum(run["n_tool_calls"] for run in runs.values())
    assert {point for point, count in asked if count} == {"after begun", "after effect"}
    assert sum(n for (point, count), n in asked.items() if count) >= 2 * calls
    committed = [case for case in cases if case["point"] == "after commit"]
    assert all(case["recorded"] >= 1 for case in committed)
    assert all(case["recorded"] == case["which"] + 1 for case in committed if not runs[case["id"]]["parallel"])
