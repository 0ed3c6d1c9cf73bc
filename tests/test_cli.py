"""The command line, as a person uses it: real processes, exit codes, and what is printed where."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from agentkit.cli import app


def agentkit(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, done.stdout, done.stderr


def test_a_run_in_its_own_process_prints_the_answer_and_the_debug_lines() -> None:
    arguments = [
        sys.executable,
        "-m",
        "agentkit.cli",
        "run",
        "What is 17 * 23?",
        "-v",
        "--model",
        "offline",
        "--engine",
        "react",
        "--max-steps",
        "5",
    ]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 0 and "391" in done.stdout
    assert done.stderr.splitlines() == [
        "DEBUG: ReAct: tools count = 7",
        "DEBUG: ReAct: step=1, tool_calls=0, max=5",
        "DEBUG: ReAct: tool_calls in response = 1",
        "DEBUG: ReAct: tool_names = ['calculate']",
        '[1/5] 🔧 calculate(expression="17 * 23")',
        "→ 391",
        "DEBUG: ReAct: step=2, tool_calls=1, max=5",
        "DEBUG: ReAct: tool_calls in response = 0",
        "✅ Completed in 2 steps, 1 tool call",
    ]


def test_the_echo_model_repeats_the_question() -> None:
    assert agentkit("run", "hello", "-m", "echo") == (0, "hello\n", "")


def test_a_recorded_run_is_listed_replayed_exported_and_deleted() -> None:
    agentkit("run", "What is 2 + 3?", "-m", "offline")
    _, listed, _ = agentkit("runs")
    name = listed.splitlines()[1].split()[0]
    assert "done" in listed and "What is 2 + 3?" in listed
    assert agentkit("replay", name[:6])[1].splitlines()[1] == "  0 Task         What is 2 + 3?"
    events = [json.loads(line) for line in agentkit("export", name)[1].splitlines()]
    assert [event["kind"] for event in events][:2] == ["started", "thought"] and events[-1]["kind"] == "resume_done"
    assert agentkit("resume", name)[0] == 0
    assert agentkit("delete", name)[0] == 0 and name not in agentkit("runs")[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run", "x", "-m", "ofline"), "did you mean 'offline'?"),
        (("run", "x", "-e", "recat"), "did you mean 'react'?"),
        (("run", "x", "-t", "maths"), "did you mean 'math'?"),
        (("run", "x", "-n", "0"), "max_iterations must be at least 1"),
        (("run", "x", "--dialect", "jason"), "dialect must be 'native', 'json' or 'text', not 'jason'"),
        (("replay", "nothing"), "0 runs begin with 'nothing'"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(arguments: tuple[str, ...], says: str) -> None:
    code, out, err = agentkit(*arguments)
    assert (code, out) == (1, "") and says in err and len(err.splitlines()) == 1


def test_the_version_is_printed() -> None:
    assert agentkit("version")[1].startswith("0.")


def test_the_version_is_also_an_option_and_the_package_can_be_run() -> None:
    assert agentkit("--version") == agentkit("version")
    done = subprocess.run([sys.executable, "-m", "agentkit", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, agentkit("version")[1])
