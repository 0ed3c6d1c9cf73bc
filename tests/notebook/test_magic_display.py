"""What is seen while a run goes on: in a notebook a live view, in a terminal a line per step."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from kernel.conftest import LONG_ENOUGH

from agentkit import Agent, Call, Reply
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted
from agentkit.notebook.display import Listing, StepPrinter, follow


def until(client: Any, enough: Any) -> list[dict[str, Any]]:
    """Give what the kernel says, until it is enough."""
    found, end = [], time.monotonic() + LONG_ENOUGH
    while not (found and enough(found[-1])):
        found.append(client.get_iopub_msg(timeout=end - time.monotonic()))
    return found


def test_the_output_of_the_starting_cell_shows_the_end_while_other_cells_run(notebook: Any) -> None:
    notebook.run("import threading; bell = threading.Event()\ndef waits(): bell.wait(10); return 'rung'")
    notebook.run("model = scripted(asks('waits'), 'done')")
    started = notebook.run("%agent -m model -t waits Go.")
    first = next(message for message in started.messages if message["msg_type"] == "display_data")
    name = first["content"]["transient"]["display_id"]
    notebook.client.execute("bell.set()", silent=True)
    messages = until(
        notebook.client, lambda message: "Run done" in message["content"].get("data", {}).get("text/plain", "")
    )
    updates = [message for message in messages if message["msg_type"] == "update_display_data"]
    assert {message["content"]["transient"]["display_id"] for message in updates} == {name}


def test_a_thousand_events_are_a_few_messages(notebook: Any) -> None:
    notebook.run("def go(): pass\nmodel = scripted(*[asks('go') for _ in range(300)], 'done')")
    started = notebook.run("%agent -m model -n 400 -t go Go.\nagent_run.wait()\nimport time; time.sleep(0.3)")
    updates = [message for message in started.messages if message["msg_type"] == "update_display_data"]
    assert len(updates) == 1 and updates[0]["content"]["data"]["text/plain"].startswith("Run done: 602 steps")
    sent = [message for message in started.messages if message["msg_type"] == "comm_msg"]
    seconds = (sent[-1]["header"]["date"] - sent[0]["header"]["date"]).total_seconds()
    assert 1 <= len(sent) < 10 + 30 * seconds


def test_a_run_that_is_played_again_is_shown_in_the_cell_that_plays_it(notebook: Any) -> None:
    notebook.run("%agent -m model -t price --pause The price of tea")
    cell = notebook.run("%agent play\nagent_run.wait()\nimport time; time.sleep(0.3)")
    assert [message["msg_type"] for message in cell.messages].count("display_data") == 1
    again = notebook.run("%agent undo\n%agent play\nagent_run.wait()\ntime.sleep(0.3)")
    shown = [m["content"]["transient"]["display_id"] for m in again.messages if m["msg_type"] == "display_data"]
    drawn = {m["content"]["transient"]["display_id"] for m in again.messages if m["msg_type"] == "update_display_data"}
    assert len(shown) == 1 and shown[0] in drawn


def test_a_table_shows_hostile_text_as_text() -> None:
    table = Listing(("name",), [("<img src=x onerror=alert(1)>\x1b[31m\u202e",)], note="<b>")
    assert "<img" not in table._repr_html_() and "&lt;b&gt;" in table._repr_html_()
    assert "\x1b" not in repr(table) and "\u202e" not in repr(table)


PLAIN = """
from IPython.core.interactiveshell import InteractiveShell
import sys
shell = InteractiveShell.instance()
def cell(code):
    done = shell.run_cell(code)
    return done.result
cell("%agent too early")
cell("%load_ext agentkit")
held = cell("%agent -m offline -t math --pause What is 3 * 17?")
cell("%agent step")
cell("%agent play\\nagent_run.wait();")
assert held.status == "done", held
cell("%agent runz")
print("ipywidgets" in sys.modules, "nbformat" in sys.modules)
cell("%unload_ext agentkit")
cell("%agent too late")
"""


def test_plain_ipython_has_the_magics_and_prints_each_step(home: Path) -> None:
    done = subprocess.run([sys.executable, "-c", PLAIN], capture_output=True, text=True, timeout=60, cwd=home)
    assert done.returncode == 0, done.stderr
    errors = [line for line in done.stderr.split("\n") if line]
    assert errors == [
        "UsageError: Line magic function `%agent` not found.",
        "UsageError: unknown command 'runz'; did you mean 'runs'? A task that begins so is written %agent -- runz …",
        "UsageError: Line magic function `%agent` not found.",
    ]
    lines = done.stdout.split("\n")
    assert "Action       calculate(expression='3 * 17')" in lines and "Observation  51" in lines
    assert lines[-2] == "False False"


def test_the_terminal_prints_steps_in_colour_while_the_prompt_waits(home: Path) -> None:
    main, its = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "IPYTHONDIR": str(home)}
    environment.pop("NO_COLOR", None)
    command = [
        sys.executable,
        "-m",
        "IPython",
        "--simple-prompt",
        "--no-banner",
        "--no-confirm-exit",
        "--ext",
        "agentkit",
    ]
    terminal = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=environment, close_fds=True)
    os.close(its)
    try:
        os.write(main, b"%agent -m echo Hello there\n")
        read_until(main, b"\x1b[32mAnswer       Hello there")
        os.write(main, b"exit\n")
        assert terminal.wait(LONG_ENOUGH) == 0
    finally:
        terminal.kill()
        terminal.wait()
        os.close(main)


def read_until(terminal: int, text: bytes) -> bytes:
    seen, end = b"", time.monotonic() + LONG_ENOUGH
    while text not in seen:
        assert select.select([terminal], [], [], max(0.0, end - time.monotonic()))[0], seen
        seen += os.read(terminal, 65536)
    return seen


def test_a_line_holds_nothing_that_a_terminal_would_obey(capsys: pytest.CaptureFixture[str]) -> None:
    run = Agent(Scripted([Reply("FINAL_ANSWER: \x1b]0;mine\x07 [red]x[/red]")]), journal=None).start("x", paused=True)
    StepPrinter(run)
    run.drive()
    said = capsys.readouterr().out
    assert "[red]x[/red]" in said and "\x1b" not in said and "\x07" not in said


def test_lines_of_two_runs_at_once_say_which_run_they_belong_to(capsys: pytest.CaptureFixture[str]) -> None:
    began, bell = threading.Event(), threading.Event()

    def waits() -> None:
        """Wait for the bell."""
        began.set()
        bell.wait(LONG_ENOUGH)

    asks = Reply("I wait.", (Call("waits", {}, "1"),))
    slow = Agent(Scripted([asks, "slow"], abilities=Abilities(tools=True)), [waits], journal=None).start(
        "x", paused=True
    )
    quick = Agent(Scripted(["quick"]), journal=None).start("x", paused=True)
    for run in (slow, quick):
        follow(run, object())
    slow.play()
    assert began.wait(LONG_ENOUGH)
    quick.drive()
    bell.set()
    slow.wait()
    lines = capsys.readouterr().out.split("\n")
    assert f"[{quick.id[:6]}] Answer       quick" in lines and "Answer       slow" in lines
