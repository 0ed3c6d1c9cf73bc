"""The command line as a person uses it: exit codes, and what is printed to stdout and to stderr."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import sqlite3
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from agentkit import Agent
from agentkit.cli import Commands, app
from agentkit.errors import UsageError


def agentkit(*arguments: str) -> tuple[int, str, str]:
    """Return the exit code, the standard output and the standard error of a command."""
    finished = CliRunner().invoke(app, list(arguments))
    return finished.exit_code, finished.stdout, finished.stderr


def test_a_run_in_a_new_process_prints_the_answer_and_the_debug_lines() -> None:
    command = [
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
    finished = subprocess.run(command, capture_output=True, text=True)
    assert finished.returncode == 0 and "391" in finished.stdout
    assert finished.stderr.splitlines() == [
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


def test_the_echo_model_repeats_the_task() -> None:
    assert agentkit("run", "hello", "-m", "echo") == (0, "hello\n", "")


def test_a_recorded_run_is_listed_replayed_exported_and_deleted() -> None:
    agentkit("run", "What is 2 + 3?", "-m", "offline")
    _, listing, _ = agentkit("runs")
    id = listing.splitlines()[1].split()[0]
    assert "done" in listing and "What is 2 + 3?" in listing
    assert agentkit("replay", id[:6])[1].splitlines()[1] == "  0 Task         What is 2 + 3?"
    events = [json.loads(line) for line in agentkit("export", id)[1].splitlines()]
    assert [event["kind"] for event in events][:2] == ["started", "thought"] and events[-1]["kind"] == "resume_done"
    assert agentkit("resume", id)[0] == 0
    assert agentkit("delete", id)[0] == 0 and id not in agentkit("runs")[1]


def test_the_lines_of_a_listing_are_not_broken() -> None:
    agentkit("run", "x" * 60, "-m", "echo")
    agentkit("run", "y" * 60, "-m", "echo")
    header, *lines = agentkit("runs")[1].splitlines()
    assert header.split() == ["run", "status", "rows", "engine", "model", "task"]
    assert [line.split()[-1] for line in lines[:2]] == ["y" * 60, "x" * 60]
    assert "echo" in agentkit("models")[1] and "is used without -m: " in agentkit("models")[1].splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("run", "x", "-m", "ofline"), "did you mean 'offline'?"),
        (("run", "x", "-e", "recat"), "did you mean 'react'?"),
        (("run", "x", "-t", "maths"), "did you mean 'math'?"),
        (("run", "x", "-n", "0"), "max_iterations must be at least 1"),
        (("run", "x", "--dialect", "jason"), "dialect must be 'native', 'json' or 'text', not 'jason'"),
        (("replay", "nothing"), "there is no run whose id begins with 'nothing'"),
    ],
)
def test_a_mistake_is_reported_in_one_line_with_what_to_do(arguments: tuple[str, ...], error: str) -> None:
    code, stdout, stderr = agentkit(*arguments)
    assert (code, stdout) == (1, "") and error in stderr and len(stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (UsageError("first\nsecond"), "first\\nsecond"),
        (
            PermissionError(13, "Permission denied", "/runs.db"),
            "PermissionError: [Errno 13] Permission denied: '/runs.db'",
        ),
        (sqlite3.OperationalError("disk I/O error"), "OperationalError: disk I/O error"),
    ],
)
def test_an_error_of_any_command_is_one_line_and_an_exit_code(error: Exception, line: str) -> None:
    commands = typer.Typer(cls=Commands)

    @commands.command()
    def failing() -> None:
        raise error

    commands.callback()(lambda: None)
    finished = CliRunner().invoke(commands, ["failing"])
    assert (finished.exit_code, finished.stdout, finished.stderr) == (1, "", f"{line}\n")


def test_a_full_disk_is_one_line_and_a_closed_pipe_is_none() -> None:
    command = [sys.executable, "-m", "agentkit", "run", "x", "-m", "echo"]
    with open("/dev/full", "w") as full:
        finished = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert finished.returncode and finished.stderr.splitlines()[0] == "OSError: [Errno 28] No space left on device"
    assert "Traceback" not in finished.stderr
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as closed:
        finished = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True)
    assert (finished.returncode, finished.stderr) == (1, "")


def test_what_is_piped_is_inert_too_and_the_json_of_an_export_loses_nothing() -> None:
    task = "a\x1b[31m \x9b \u202e \U000e0041\nb\t\N{SNOWMAN} 👩‍💻"
    command = [sys.executable, "-m", "agentkit"]
    answer = subprocess.run([*command, "run", task, "-m", "echo"], capture_output=True, text=True).stdout
    assert answer == "a\\x1b[31m \\x9b \\u202e \\U000e0041\nb\t\N{SNOWMAN} 👩‍💻\n"
    id = agentkit("runs")[1].splitlines()[1].split()[0]
    export = subprocess.run([*command, "export", id], capture_output=True, text=True).stdout
    assert export.isascii() and json.loads(export.splitlines()[0])["task"][0]["text"] == task


def test_the_version_is_printed() -> None:
    assert agentkit("version")[1].startswith("0.")


def test_the_version_is_also_an_option_and_the_package_can_be_executed() -> None:
    assert agentkit("--version") == agentkit("version")
    finished = subprocess.run([sys.executable, "-m", "agentkit", "--version"], capture_output=True, text=True)
    assert (finished.returncode, finished.stdout) == (0, agentkit("version")[1])


def test_in_a_terminal_resume_asks_about_a_call_that_waits() -> None:
    run = Agent("offline", ["math"], approve=True).start("What is 2 + 3?", paused=True)
    run.drive()
    run.close()
    outer, inner = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "agentkit.cli", "resume", run.id], stdin=inner, stdout=inner, stderr=inner
    )
    os.close(inner)
    os.write(outer, b"what?\napprove\n")
    shown = b""
    with contextlib.suppress(OSError):  # how the end of a terminal is told
        while piece := os.read(outer, 10_000):
            shown += piece
    os.close(outer)
    assert process.wait(30) == 0 and b"calculate needs your approval" in shown, shown.decode()
    assert b"Decide (approve, reject, respond)" in shown and b"2 + 3 is 5" in shown


def test_without_a_terminal_resume_says_how_to_decide() -> None:
    run = Agent("offline", ["math"], approve=True).start("What is 2 + 3?", paused=True)
    run.close()
    code, _, error = agentkit("resume", run.id)
    assert code == 1 and f"agentkit resume {run.id} with one of --approve, --reject, --respond" in error


def test_resume_waives_a_function_that_guarded_the_run() -> None:
    run = Agent("offline", ["math"], approve=lambda call: True).start("What is 2 + 3?", paused=True)
    run.close()
    code, _, error = agentkit("resume", run.id)
    assert code == 1 and "approve=" in error
    code, shown, _ = agentkit("resume", run.id, "--waive", "approve")
    assert code == 0 and "5" in shown
