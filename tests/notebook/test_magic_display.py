"""What is shown while a run continues: a live view in a notebook, a line per step in a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hostile_text import ATTACKS, raw_characters
from kernel.conftest import LONG_ENOUGH

from agentkit import Agent, Call, Reply
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted
from agentkit.notebook.command import COMMANDS
from agentkit.notebook.display import Listing, StepPrinter, follow


def updates_until(notebook: Any, cell: Any, text: str) -> list[dict[str, Any]]:
    """Return the updates of outputs since a cell was run, until the output of that cell begins with a text."""
    (shown,) = [message for message in cell.messages if message["msg_type"] == "display_data"]
    messages, end = list(cell.messages), time.monotonic() + LONG_ENOUGH
    while True:
        updates = [message for message in messages if message["msg_type"] == "update_display_data"]
        own_texts = [u["content"]["data"]["text/plain"] for u in updates if display_id(u) == display_id(shown)]
        if any(own_text.startswith(text) for own_text in own_texts):
            return updates
        messages.append(notebook.client.get_iopub_msg(timeout=end - time.monotonic()))


def display_id(message: dict[str, Any]) -> str:
    return str(message["content"]["transient"]["display_id"])


def test_the_output_of_the_starting_cell_shows_the_end_while_other_cells_run(notebook: Any) -> None:
    notebook.run("import threading; bell = threading.Event()\ndef waits(): bell.wait(10); return 'rung'")
    notebook.run("model = scripted(calling('waits'), 'done')")
    started = notebook.run("%agent -m model -t waits Go.")
    notebook.client.execute("bell.set()", silent=True)
    assert len({display_id(update) for update in updates_until(notebook, started, "Run done")}) == 1


def test_an_output_is_updated_once_whatever_the_number_of_steps(notebook: Any) -> None:
    notebook.run("def go(): pass\nmodel = scripted(*[calling('go') for _ in range(300)], 'done')")
    started = notebook.run("%agent -m model -n 400 -t go Go.\nagent_run.wait()")
    assert len(updates_until(notebook, started, "Run done: 602 steps")) == 1


def test_a_run_that_is_played_again_is_shown_in_the_cell_that_plays_it(notebook: Any) -> None:
    notebook.run("%agent -m model -t price --pause The price of tea")
    for cell in ("%agent play\nagent_run.wait()", "%agent undo\n%agent play\nagent_run.wait()"):
        assert updates_until(notebook, notebook.run(cell), "Run done")


def test_a_listing_shows_hostile_text_as_text() -> None:
    listing = Listing(("name",), [("<img src=x onerror=alert(1)>\x1b[31m\u202e",)], note="<b>")
    assert "<img" not in listing._repr_html_() and "&lt;b&gt;" in listing._repr_html_()
    assert "\x1b" not in repr(listing) and "\u202e" not in repr(listing)


def test_a_listing_shows_every_row() -> None:
    listing = Listing(("name", "value"), [(f"name {n}", "$5" * 100) for n in range(100)], note="all of them")
    assert repr(listing).count("\n") == 101 and "… (+100 characters)" in repr(listing)
    assert listing._repr_html_().count("<tr>") == 101 and "mathjax_ignore" in listing._repr_html_()
    assert "all of them" in listing._repr_html_() and repr(listing).endswith("all of them")


SCRIPT = """
from IPython.core.interactiveshell import InteractiveShell
import sys
shell = InteractiveShell.instance()
def cell(code):
    return shell.run_cell(code).result
cell("%agent too early")
cell("%load_ext agentkit")
run = cell("%agent -m offline -t math --pause What is 3 * 17?")
cell("%agent step")
cell("%agent play\\nagent_run.wait();")
assert run.status == "done", run
cell("%agent runz")
print("ipywidgets" in sys.modules, "nbformat" in sys.modules)
cell("%unload_ext agentkit")
cell("%agent too late")
"""


def test_plain_ipython_has_the_magics_and_prints_each_step(home: Path) -> None:
    finished = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, cwd=home)
    assert finished.returncode == 0, finished.stderr
    errors = [line for line in finished.stderr.split("\n") if line]
    assert errors == [
        "UsageError: Line magic function `%agent` not found.",
        "UsageError: unknown command 'runz'; did you mean 'runs'? If it is a task, write %agent -- runz …",
        "UsageError: Line magic function `%agent` not found.",
    ]
    lines = finished.stdout.split("\n")
    assert "Action       calculate(expression='3 * 17')" in lines and "Observation  51" in lines
    assert lines[-2] == "False False"


def test_the_terminal_prints_steps_in_colour_while_the_prompt_waits(home: Path) -> None:
    main, child = pty.openpty()
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
    terminal = subprocess.Popen(command, stdin=child, stdout=child, stderr=child, env=environment, close_fds=True)
    os.close(child)
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
    output, end = b"", time.monotonic() + LONG_ENOUGH
    while text not in output:
        assert select.select([terminal], [], [], max(0.0, end - time.monotonic()))[0], output
        output += os.read(terminal, 65536)
    return output


def test_a_printed_line_contains_no_characters_that_a_terminal_interprets(capsys: pytest.CaptureFixture[str]) -> None:
    run = Agent(Scripted([Reply("FINAL_ANSWER: \x1b]0;mine\x07 [red]x[/red]")]), journal=None).start("x", paused=True)
    StepPrinter(run)
    run.drive()
    output = capsys.readouterr().out
    assert "[red]x[/red]" in output and "\x1b" not in output and "\x07" not in output


def test_the_lines_of_two_parallel_runs_begin_with_the_id_of_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    began, bell = threading.Event(), threading.Event()

    def waits() -> None:
        """Wait for the bell."""
        began.set()
        bell.wait(LONG_ENOUGH)

    wait = Reply("I wait.", (Call("waits", {}, "1"),))
    slow = Agent(Scripted([wait, "slow"], abilities=Abilities(tools=True)), [waits], journal=None).start(
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


def test_hostile_texts_are_inert_in_everything_that_the_magics_show(notebook: Any) -> None:
    text = " ".join(ATTACKS)
    notebook.run(f"text = {text!r}")
    notebook.run("""
from agentkit.tools.tool import Tool
def failing(**arguments): raise ValueError(text)
hostile = Tool(text, text, {"type": "object"}, lambda **arguments: text, effect="irreversible")
broken = Tool("broken", text, {"type": "object"}, failing)
calls = Call(text, {text: text}, "1"), Call("broken", {}, "2")
replies = [Reply(text, calls, reasoning=text), ConnectionError(text), Reply(text, answer=text), text]
model = Scripted(replies, abilities=Abilities(tools=True), name=text)
""")
    cells = [notebook.cell("%%agent -m model -t hostile,broken\n" + text.replace("\r", ""))]
    for _ in range(3):
        cells += [notebook.cell("%agent play --wait"), notebook.cell("agent_run"), notebook.cell("print(agent_run)")]
        lines = ("", *COMMANDS, "edit 1 x", "stpe", text.split()[0])
        cells += [notebook.cell(f"%agent {line}") for line in lines]
    cells += [
        notebook.cell(f"%agent {command} {text.splitlines()[0]}") for command in ("-m", "-e", "-t", "export", "resume")
    ]
    cells.append(notebook.cell("from agentkit.errors import ModelRejected\nraise ModelRejected(text)"))
    assert "ModelRejected" in cells[-1].error
    for cell in cells:
        own_text = cell.printed + cell.stderr + cell.error
        for shown in (own_text, *(data.get(mime, "") for data in cell.shown for mime in ("text/plain", "text/html"))):
            assert not raw_characters(re.sub("\x1b\\[[0-9;]*m", "", shown))  # the colours of IPython
    assert sum("\\x1b" in str(cell.shown) + cell.stderr for cell in cells) > 10
