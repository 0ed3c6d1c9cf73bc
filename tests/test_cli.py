"""The command line as a person uses it: exit codes, and what is printed to stdout and to stderr."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from agentkit import Agent
from agentkit.cli import Commands, app
from agentkit.engines import registry
from agentkit.errors import UsageError


def agentkit(*arguments: str, stdin: str | bytes | None = None) -> tuple[int, str, str]:
    """Return the exit code, the standard output and the standard error of a command."""
    finished = CliRunner().invoke(app, list(arguments), input=stdin)
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


def test_the_profile_of_a_recorded_run_is_printed_in_three_forms() -> None:
    agentkit("run", "What is 2 + 3?", "-m", "offline")
    id = agentkit("runs")[1].splitlines()[1].split()[0]
    code, text, _ = agentkit("profile", id[:6])
    assert code == 0 and text.startswith(f"Profile of run {id}: ") and "models and tools" in text
    data = json.loads(agentkit("profile", id, "--json")[1])
    assert data["run"] == id and sum(row["calls"] for row in data["rows"] if row["by"] == "phase") >= 1
    folded = agentkit("profile", id, "--folded")[1].splitlines()
    assert folded and all(line.startswith("run;") and line.rpartition(" ")[2].isdigit() for line in folded)


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


def recorded(task: str = "What is 2 + 3?") -> str:
    """Return the id of a run that is recorded, and done."""
    agentkit("run", task, "-m", "offline")
    id: str = json.loads(agentkit("runs", "--json")[1])[0]["run"]
    return id


def test_after_ctrl_c_run_says_how_to_go_on() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        model = f"http://127.0.0.1:{silent.getsockname()[1]}/v1#m"
        process = subprocess.Popen(
            [sys.executable, "-m", "agentkit", "run", "hello", "-m", model], stdout=-1, stderr=-1, text=True
        )
        silent.settimeout(60)
        asked, _ = silent.accept()  # the model is asked, and does not answer
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
        asked.close()
    id = json.loads(agentkit("runs", "--json")[1])[0]["run"]
    assert (process.returncode, stdout) == (130, "")
    assert stderr.splitlines() == [f"interrupted; nothing is lost: agentkit resume {id}"]
    assert agentkit("resume", id, "-m", "echo") == (0, "hello\n", "")


def test_the_task_can_come_from_the_standard_input() -> None:
    assert agentkit("run", "-", "-m", "echo", stdin="one\ntwo ☃") == (0, "one\ntwo ☃\n", "")
    code, stdout, stderr = agentkit("run", "-", "-m", "echo", stdin=b"\xff")
    assert (code, stdout) == (1, "") and stderr.startswith("the task from the standard input must be UTF-8 text")


@pytest.mark.parametrize("arguments", [("run", ""), ("run", " \n\t "), ("run", "-")])
def test_an_empty_task_is_refused(arguments: tuple[str, ...]) -> None:
    before = agentkit("runs")
    assert agentkit(*arguments, "-m", "echo", stdin="") == (1, "", "the task is empty; say what the agent should do\n")
    assert agentkit("runs") == before


def test_a_run_without_tools_is_offered_none() -> None:
    command = [sys.executable, "-m", "agentkit", "run", "hello", "-m", "echo", "-v", "-t", "none"]
    assert subprocess.run(command, stderr=-1, text=True).stderr.startswith("DEBUG: ReAct: tools count = 0\n")


def test_engines_and_tools_are_listed() -> None:
    engines = agentkit("engines")[1].splitlines()
    assert engines[0].split() == ["engine", "task", "why", "cost"]
    assert {line.split()[0] for line in engines[1:-1]} >= {"react", "reflexion", "rewoo", "auto", "dag"}
    tools = [line.split()[:2] for line in agentkit("tools")[1].splitlines()[1:-1]]
    assert ["math", "calculate"] in tools and ["clock", "now"] in tools


@pytest.mark.parametrize("command", ["runs", "models", "engines", "tools", "verify"])
def test_lists_are_also_json_in_ascii(command: str) -> None:
    id = recorded("What is 2 + 3? ☃\x1b")
    code, stdout, _ = agentkit(command, "--json")
    records = json.loads(stdout)
    assert code == 0 and stdout.isascii() and all(isinstance(record, dict) and "" not in record for record in records)
    if command == "runs":
        assert records[0]["run"] == id and records[0]["task"] == "What is 2 + 3? ☃\x1b" and records[0]["rows"] > 3


def test_a_table_in_a_pipe_is_neither_wrapped_nor_cut_and_in_a_terminal_a_line_is_a_row() -> None:
    task = "long " * 100
    id = recorded(task)
    command = [sys.executable, "-m", "agentkit", "runs"]
    piped = subprocess.run(command, stdout=-1, text=True, env={**os.environ, "COLUMNS": "40"}).stdout.splitlines()
    assert piped[1].startswith(id) and piped[1].endswith(task.strip())
    outer, inner = pty.openpty()
    process = subprocess.Popen(command, stdout=inner, env={**os.environ, "COLUMNS": "60"})
    os.close(inner)
    shown = b""
    with contextlib.suppress(OSError):  # how the end of a terminal is told
        while piece := os.read(outer, 10_000):
            shown += piece
    os.close(outer)
    assert process.wait(30) == 0
    lines = shown.decode().splitlines()
    assert len(lines) == len(piped) and max(map(len, lines)) == 60 and lines[1].startswith(id)


def parsed(text: str) -> Any:
    data = json.loads(text)
    for cell in data.get("cells", []):
        cell["source"] = "".join(cell["source"])  # a text, or a list of its lines
    for output in [output for cell in data.get("cells", []) for output in cell.get("outputs", [])]:
        output["data"] = {mime: "".join(content) for mime, content in output["data"].items()}
    return data


ENDINGS = {"notebook": ".ipynb", "html": ".html", "markdown": ".md", "json": ".json", "python": ".py"}


@pytest.mark.parametrize("format", ENDINGS)
def test_a_run_is_exported_in_each_format_to_a_file_or_to_the_output(format: str, tmp_path: Path) -> None:
    id = recorded("What is 2 + 3? ☃")
    path = tmp_path / f"trace{ENDINGS[format]}"
    assert agentkit("export", id, "-o", str(path)) == (0, "", "")
    code, stdout, stderr = agentkit("export", id, "--to", format)
    assert (code, stderr) == (0, "") and "What is 2" in stdout
    if format in ("notebook", "json"):
        assert stdout.isascii() and parsed(stdout) == parsed(path.read_text())
    else:
        assert stdout == path.read_text()


def test_an_export_overwrites_a_file_only_if_forced(tmp_path: Path) -> None:
    id, path = recorded(), tmp_path / "trace.md"
    path.write_text("mine")
    code, _, stderr = agentkit("export", id, "-o", str(path))
    assert (code, stderr, path.read_text()) == (1, f"'{path}' already exists; --force overwrites it\n", "mine")
    assert agentkit("export", id, "-o", str(path), "--force")[0] == 0 and path.read_text() != "mine"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--to", "pdf"), "unknown format 'pdf'"),
        (("-o", "trace.pdf"), "unknown format '.pdf'; the name of the file must end in .ipynb, .html"),
        (("--to", "html", "-o", "trace.md"), "the name of a file in the format html must end in .html or .htm"),
        (("--to", "events", "-o", "trace.json"), "> FILE"),
    ],
)
def test_an_export_to_a_wrong_format_is_refused(
    options: tuple[str, ...], error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = recorded()
    monkeypatch.chdir(tmp_path)
    code, stdout, stderr = agentkit("export", id, *options)
    assert (code, stdout) == (1, "") and error in stderr and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("agentkit eng", {"engines"}),
        ("agentkit run x -e re", {"react", "reflexion", "rewoo"}),
        ("agentkit run x -t math,", {"math,units", "math,clock", "math,facts", "math,files", "math,web"}),
        ("agentkit run x -m off", {"offline"}),
        ("agentkit run x --dialect j", {"json"}),
        ("agentkit export x --to e", {"events"}),
    ],
)
def test_the_shell_completes_commands_and_names(words: str, completed: set[str]) -> None:
    environment = {"_AGENTKIT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    finished = subprocess.run(
        [sys.executable, "-m", "agentkit"], capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert set(finished.stdout.split()) == completed, finished.stderr


@pytest.mark.parametrize("engine", registry.ENGINES)
def test_the_number_of_iterations_limits_the_loop_of_any_engine(engine: str) -> None:
    code, stdout, stderr = agentkit("run", "What is 3 * 17?", "-m", "offline", "-e", engine, "-n", "1")
    has_loop = engine not in ("auto", "chain_of_thought")
    assert (code, bool(stdout)) == ((0, True) if has_loop else (1, False))
    assert stderr == ("" if has_loop else f"the engine {engine} has no loop whose length could be limited\n")


def test_any_option_of_an_engine_can_be_set() -> None:
    tree = ("run", "What is 3 * 17?", "-m", "offline", "-e", "tree_of_thoughts", "-v")
    shallow = in_a_process(*tree, "--option", "n_branches=1", "--option", "max_depth=1", "--option", "search=dfs")
    assert shallow[0] == 0 and shallow[2].count("step=") < 5
    assert "did you mean 'max_depth'?" in in_a_process(*tree, "--option", "max_dept=1")[2]
    assert "--option takes NAME=VALUE" in in_a_process(*tree, "--option", "max_depth")[2]


OWN_ENGINE = """
from agentkit import Answer, Chat, Think
from pathlib import Path

def mine(task):
    "Ask once."
    chat = Chat.of(task)
    chat += yield Think(chat)
    if not Path("mended").exists():
        raise ValueError("not yet")
    return Answer("own " + chat[-1].text, chat)
"""


def in_a_process(*arguments: str, folder: Path | None = None, **environment: str) -> tuple[int, str, str]:
    command = [sys.executable, "-P", "-m", "agentkit", *arguments]
    finished = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, capture_output=True)
    return finished.returncode, finished.stdout.decode(errors="replace"), finished.stderr.decode()


def test_an_engine_of_the_current_folder_is_found_and_its_run_is_resumed_as_the_command_says(tmp_path: Path) -> None:
    (tmp_path / "own_engine.py").write_text(OWN_ENGINE)
    code, _, stderr = in_a_process("run", "hello", "-m", "echo", "-e", "own_engine:mine", folder=tmp_path)
    advised = stderr.splitlines()[-1].partition("agentkit ")[2].split()
    assert code == 1 and advised[2:] == ["-e", "own_engine:mine"]
    assert "-e MODULE:FUNCTION" in agentkit(*advised[:2])[2]
    other = f"the engine of this run is mine; for another one: agentkit fork {advised[1]} -e react\n"
    assert agentkit(*advised[:2], "-e", "react") == (1, "", other)
    (tmp_path / "mended").touch()
    assert in_a_process(*advised, folder=tmp_path) == (0, "own hello\n", "")
    missing = in_a_process("run", "hello", "-e", "own_engine:yours", folder=tmp_path)[2]
    assert missing == (
        "unknown engine 'own_engine:yours'; it cannot be imported: module 'own_engine' has no attribute 'yours'\n"
    )


@pytest.mark.parametrize("command", [("runs",), ("runs", "--json"), ("--help",), ("run", "hello", "-m", "echo", "-v")])
def test_a_command_whose_streams_are_closed_still_does_its_work(command: tuple[str, ...]) -> None:
    shell = ["sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', sys.executable, "-m", "agentkit", *command]
    assert subprocess.run(shell, capture_output=True).returncode == 0


def test_a_task_from_a_closed_input_is_empty() -> None:
    shell = ["sh", "-c", 'exec "$0" -m agentkit run - <&-', sys.executable]
    finished = subprocess.run(shell, capture_output=True, text=True)
    assert (finished.returncode, finished.stderr) == (1, "the task is empty; say what the agent should do\n")


def test_a_locale_without_a_character_shows_an_escape_and_loses_nothing() -> None:
    task = "Schnee: ☃ ß"
    run = ("run", task, "-m", "echo")
    assert in_a_process(*run, PYTHONIOENCODING="latin-1:strict")[0] == 0
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert in_a_process(*run, **plain) == (0, "Schnee: \\u2603 \\xdf\n", "")
    assert [record["task"] for record in json.loads(agentkit("runs", "--json")[1])[:2]] == [task, task]


def test_a_run_that_is_only_shown_has_the_status_that_it_had() -> None:
    agentkit("run", "hello", "-m", "echo")
    id = json.loads(agentkit("runs", "--json")[1])[0]["run"]
    assert agentkit("replay", id)[1].startswith("Run done (read-only): 2 steps")
    assert "Run done (read-only): 2 steps" in agentkit("export", id, "--to", "markdown")[1]


def test_the_help_documents_the_exit_codes() -> None:
    shown = " ".join(agentkit("--help")[1].split())
    assert "The exit code is 0 if" in shown and "130 after Ctrl-C" in shown
    assert agentkit("nonsense")[0] == agentkit("run")[0] == 2


# -- permissions -------------------------------------------------------------------------------------------------------


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a settings file with two rules."""
    monkeypatch.setenv("AGENTKIT_HOME", str(tmp_path))
    file = tmp_path / "permissions.toml"
    file.write_text('[[rules]]\nask = "calculate"\nwhy = "I like to look"\n\n[[rules]]\ndeny = "shell*"\n')
    return file


def test_permissions_lists_the_rules_and_the_file(rules: Path) -> None:
    code, text, _ = agentkit("permissions")
    assert code == 0 and text.splitlines()[-1] == str(rules)
    assert text.splitlines()[1].split("  ")[:2] == ["rule 1", "ask calculate"] and "I like to look" in text
    assert json.loads(agentkit("permissions", "--json")[1])["rules"][1] == {"deny": "shell*"}
    rules.unlink()
    assert "does not exist yet" in agentkit("permissions")[1]


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["shell_run"], "deny: rule 2 of the person: deny shell*"),
        (["calculate", "-a", '{"expression": "1 + 1"}'], "ask: rule 1 of the person: ask calculate (I like to look)"),
        (["other"], "allow: no rule matches it, and there is no mode"),
        (["other", "--mode", "plan", "--effect", "irreversible"], "deny: in mode plan, only pure tools are called"),
        (["other", "--mode", "plan", "--effect", "pure"], "allow: mode plan: a tool that is pure"),
    ],
)
def test_permissions_test_says_what_would_happen_to_a_call(rules: Path, arguments: list[str], answer: str) -> None:
    code, text, _ = agentkit("permissions", "test", *arguments)
    assert code == 0 and text.startswith(answer)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["other", "-a", "[1]"], "must be a JSON object"),
        (["other", "-a", "{"], "not JSON"),
        (["other", "--mode", "plam"], "did you mean 'plan'"),
        (["other", "--effect", "pur"], "did you mean 'pure'"),
        (["calculate", "-a", "{}"], "expression"),
    ],
)
def test_permissions_test_names_what_is_wrong(rules: Path, arguments: list[str], problem: str) -> None:
    code, _, error = agentkit("permissions", "test", *arguments)
    assert code == 1 and problem in error


def test_permissions_explain_says_why_each_call_of_a_run_was_made(rules: Path) -> None:
    agentkit("run", "What is 17 * 23?", "--model", "offline")
    (info,) = json.loads(agentkit("runs", "--json")[1])
    code, text, _ = agentkit("permissions", "explain", info["run"])
    assert code == 0 and "will be asked" in text and "I like to look" in text


def test_a_run_does_not_start_with_a_mistake_in_the_settings_file(rules: Path) -> None:
    rules.write_text('[[rules]]\nalow = "read"\n')
    code, _, error = agentkit("run", "What is 17 * 23?", "--model", "offline")
    assert code == 1 and "line 2" in error and "did you mean 'allow'" in error


# -- names and tags ----------------------------------------------------------------------------------------------------


def test_a_run_is_named_and_tagged_and_found_by_its_tags() -> None:
    assert (
        agentkit("run", "hello", "-m", "echo", "--name", "bill.1", "--tag", "project=a=b", "--tag", "who=Ada")[0] == 0
    )
    agentkit("run", "other", "-m", "echo", "--tag", "who=Bob")
    agentkit("run", "neither", "-m", "echo")
    assert len(agentkit("runs")[1].splitlines()) == 4
    header, line = agentkit("runs", "--tag", "who=Ada", "--tag", "project=a=b")[1].splitlines()
    assert header.split() == ["run", "status", "rows", "engine", "model", "tags", "task"]
    assert line.split()[0] == "bill.1" and "project=a=b, who=Ada" in line
    [info] = json.loads(agentkit("runs", "--prefix", "bill.", "--json")[1])
    assert info["tags"] == {"project": "a=b", "who": "Ada"}
    assert agentkit("runs", "--tag", "who=Eve")[1].splitlines()[1:] == []
    assert "tags" not in agentkit("runs", "--tag", "who=Eve")[1]


def test_a_name_that_is_run_again_prints_the_answer_and_begins_nothing() -> None:
    assert agentkit("run", "hello", "-m", "echo", "--name", "bill.1")[1] == "hello\n"
    before = agentkit("runs", "--json")
    assert agentkit("run", "hello", "-m", "echo", "--name", "bill.1")[1] == "hello\n"
    assert len(json.loads(before[1])) == len(json.loads(agentkit("runs", "--json")[1])) == 1
    code, _, error = agentkit("run", "goodbye", "-m", "echo", "--name", "bill.1")
    assert code == 1 and "bill.1" in error


@pytest.mark.parametrize("wrong", ["who", "=Ada", "who=" + "x" * 300])
def test_a_tag_that_is_none_is_refused(wrong: str) -> None:
    code, _, error = agentkit("run", "hello", "-m", "echo", "--tag", wrong)
    assert code == 1 and "tag" in error and len(error.splitlines()) == 1
    assert json.loads(agentkit("runs", "--json")[1]) == []


@pytest.mark.parametrize("command", ["run hello -m echo", "runs", "check"])
@pytest.mark.parametrize("wrong", ["who", "=Ada"])
def test_a_tag_without_a_name_or_a_value_is_refused_by_every_command(command: str, wrong: str) -> None:
    code, _, error = agentkit(*command.split(), "--tag", wrong)
    assert (code, error) == (1, f"--tag takes NAME=VALUE, such as experiment=prices, not {wrong!r}\n")


def test_a_tag_with_control_characters_is_listed_in_one_harmless_line() -> None:
    Agent("echo", journal="sqlite").run("hello", tags={"a\nb": "\x1b[31mred\u202e"})
    listed = agentkit("runs")[1]
    assert len(listed.splitlines()) == 2 and "\x1b" not in listed and "\u202e" not in listed


# -- recordings --------------------------------------------------------------------------------------------------------


def test_recorded_runs_are_checked_against_todays_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent("offline", ["math"], instructions="Be brief.")
    agent.run("What is 2 + 3?", tags={"suite": "smoke"}).run.to_json(tmp_path / "sum.json")
    (tmp_path / "shop_of_check.py").write_text(
        "from agentkit import Agent\nagent = Agent('offline', ['math'], instructions='Be very brief.')\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert agentkit("check", "sum.json") == (0, "1 recording, 1 the same\n", "")
    assert agentkit("check", "--tag", "suite=smoke", "--call")[:2] == (0, "1 recording, 1 the same\n")
    code, shown, _ = agentkit("check", "*.json", "-a", "shop_of_check:agent", "--summary", "summary.md")
    assert code == 1 and "  today    │ Be {+very +}brief." in shown
    assert "<details>" in (tmp_path / "summary.md").read_text()
    code, shown, _ = agentkit("check", "sum.json", "-a", "shop_of_check:agent", "--json")
    assert code == 1 and [each["status"] for each in json.loads(shown)] == ["differs"]
    (tmp_path / "sum.json").write_text("{")
    assert agentkit("check", "sum.json")[0] == 1
    for arguments in ((), ("missing",), ("--tag", "suite=other"), ("sum.json", "-a", "nothing")):
        code, shown, problem = agentkit("check", *arguments)
        assert (code, shown) == (1, "") and problem
    code, shown, problem = agentkit("check", "*.json", "--tag", "suite=other")
    assert (code, shown) == (1, "") and "no run in the journal has the tags suite=other" in problem
    code, shown, problem = agentkit("check", "--tag", "suite=smoke", "--summary", str(tmp_path))
    assert code == 1 and "the summary could not be written: " in problem and len(problem.splitlines()) == 1
