"""A run killed with SIGKILL at every dangerous point of every call: nothing committed is lost, repeated or wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.timeout(600)
def test_a_killed_run_continues_and_a_call_that_may_have_run_is_asked_about(recorded: Any, tmp_path: Path) -> None:
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
    assert all(case["recorded"] >= 1 for case in cases if case["point"] == "after commit")
    for case in cases:
        if not runs[case["id"]]["parallel"]:
            unknown = case["point"] in ("after begun", "after effect")
            assert case["asked"] == (1 if unknown else 0), case
            assert case["recorded"] == case["which"] + (case["point"] == "after commit"), case
