"""Hostile text in all fields through every command of the command line, in a real pseudo-terminal.

`AGENTKIT_SIZE` sets how many texts are tried.
"""

from __future__ import annotations

import inspect
import itertools
import json
import os
import pty
import re
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile_text import forged_lines, hostile_engine, hostile_run, moments, raw_characters, texts
from loopback import Loopback, answer, fault

from agentkit import Agent, Loop, Run
from agentkit.cli import app
from agentkit.journal import open_journal
from agentkit.models.scripted import Scripted

pytestmark = pytest.mark.slow

SESSION = """
import json, logging, runpy, sys
import agentkit.cli

streams = sys.stdout, sys.stderr
for arguments in json.load(open(sys.argv[1])):
    sys.argv, (sys.stdout, sys.stderr), code = ["agentkit", *arguments], streams, 1
    logging.getLogger("agentkit").handlers.clear()
    try:
        runpy.run_module("agentkit", run_name="__main__")
    except SystemExit as end:
        code = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
    streams[0].write(f"\\n<<exit {code}>>\\n")
    streams[0].flush()
"""


def in_terminal(folder: Path, *commands: list[str], **environment: str) -> list[tuple[int, str]]:
    """Return the exit code of each command, and what it wrote to its terminal."""
    (folder / "commands.json").write_text(json.dumps(commands), encoding="utf-8")
    outer, inner = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", SESSION, str(folder / "commands.json")],
        stdin=inner,
        stdout=inner,
        stderr=inner,
        cwd=folder,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "200", **environment},
    )
    os.close(inner)
    written = b"".join(_pieces(outer)).decode("utf-8", errors="surrogateescape").replace("\r\n", "\n")
    os.close(outer)
    assert process.wait(60) == 0, written[-2000:]
    shown = re.split(r"\n<<exit (\d+)>>\n", written)
    results = [(int(code), text) for text, code in zip(shown[0::2], shown[1::2], strict=False)]
    assert len(results) == len(commands), written[-2000:]
    return results


def _pieces(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            return
        if not piece:
            return
        yield piece


def assert_inert(folder: Path, *commands: list[str], failing: bool = False, **environment: str) -> list[str]:
    """Run commands in a terminal, check what they write, and return it."""
    results = in_terminal(folder, *commands, **environment)
    for command, (code, shown) in zip(commands, results, strict=True):
        assert not raw_characters(shown), command
        assert "Traceback" not in shown, f"{command}: {shown}"
        assert not failing or (code and shown.strip()), command
    return [shown for _, shown in results]


def recorded_runs() -> Iterator[Run]:
    """Yield runs in the journal of the command line: paused, done, waiting, failed, edited, of a hostile engine."""
    for text in texts():
        yield hostile_run(text, "sqlite", approve=[text])
        for number in range(1, 5):
            *_, run = itertools.islice(moments(text, "sqlite"), number)
            yield run
        yield Agent(Scripted([text], name=text), engine=Loop(hostile_engine, role=text)).run(text).run


COMMANDS = {
    str(command.name or getattr(command.callback, "__name__", "")): command for command in app.registered_commands
}
WITH_ID = [
    name for name, command in COMMANDS.items() if "id" in inspect.signature(command.callback or print).parameters
]
OTHERS = [name for name in COMMANDS if name not in WITH_ID]


def about(name: str, id: str) -> list[str]:
    """Return a command about a run, with a word for each other argument that it needs."""
    parameters = inspect.signature(COMMANDS[name].callback or print).parameters.values()
    needed = [each for each in parameters if each.default is inspect.Parameter.empty and each.name != "id"]
    return [name, id, *("word" for _ in needed)]


def test_recorded_texts_are_inert_in_every_command(home: Path, tmp_path: Path) -> None:
    ids = [run.id for run in recorded_runs()]
    journal = open_journal("sqlite")
    assert journal is not None
    journal.close()
    assert {"delete", "export", "replay", "resume"} <= set(WITH_ID)
    commands = [["runs"], *([name, id] for id in ids for name in ("replay", "export", "resume"))]
    apart = ("replay", "export", "resume", "delete", "watch")  # `watch` ends with the run, and has tests of its own
    more = [about(name, id) for id in ids for name in WITH_ID if name not in apart]
    listing, *shown = assert_inert(tmp_path, *commands, *more, ["runs"])
    assert all(id[:8] in listing for id in ids)
    assert not forged_lines(listing) and len(listing.splitlines()) == len(ids) + 1
    for command, text in zip(commands[1:], shown, strict=False):
        if command[0] in ("replay", "export"):
            assert not forged_lines(text), command
        if command[0] == "export" and text.startswith("{"):
            assert [json.loads(line)["run"] for line in text.splitlines()] == [command[1]] * text.count("\n"), command
    assert any("Observation" in text for text in shown) and any("\\x1b" in text for text in shown)
    for code, text in in_terminal(tmp_path, *(["delete", id] for id in ids)):
        assert (code, text.strip()) == (0, "")


def test_arguments_are_inert(home: Path, tmp_path: Path) -> None:
    refused: list[list[str]] = []
    accepted: list[list[str]] = []
    for text in texts():
        word = text.replace("-", "").replace("/", "")
        refused += [about(name, word) for name in WITH_ID]
        refused += [["run", "x", option, word] for option in ("-m", "-e", "-t", "-n", "--dialect")]
        refused += [["run", "x", "-e", f"{word}:{word}"], ["run", "x", f"--{word}"], [word]]
        accepted += [["run", text, "-m", "echo", "-v"], ["run", text, "-m", "offline", "-v"]]
        accepted += [[name, word] for name in OTHERS if name != "run"]
    assert_inert(tmp_path, *refused, failing=True)
    assert_inert(tmp_path, *accepted)


def test_texts_of_hosts_models_and_settings_are_inert(home: Path, tmp_path: Path) -> None:
    for text in texts():

        def act(connection: socket.socket, _: threading.Event, text: str = text) -> None:
            listed = {"data": [{"id": f"{text} {number}"} for number in range(3)]}
            is_list = host.got[-1].line.startswith("GET")
            connection.sendall(
                answer(json.dumps(listed), kind="application/json") if is_list else fault("400 Bad Request", text)
            )

        with Loopback([act]) as host:
            url = f"{host.url}/v1"
            run = ["run", "What is 2 + 3?", "-v", "-m"]
            shown = assert_inert(tmp_path, ["models"], [*run, f"{url}#{text}"], [*run, f"{url}#x"], AGENTKIT_LOCAL=url)
        assert "FORGED" not in text or "FORGED" in shown[0]
        assert not any(map(forged_lines, shown))
        settings = text.translate({ord(character): None for character in "\x00"})
        (home / "config.toml").write_text(f"model = {json.dumps(settings)}\n", encoding="utf-8")
        assert not any(map(forged_lines, assert_inert(tmp_path, ["models"], ["run", "x"])))
        (home / "config.toml").write_text(f"model = {text}\n", encoding="utf-8", errors="replace")
        assert not any(map(forged_lines, assert_inert(tmp_path, ["models"], ["run", "x"])))
        (home / "config.toml").unlink()
        assert not any(map(forged_lines, assert_inert(tmp_path, ["models"], ["run", "x"], AGENTKIT_MODEL=text)))


def test_a_journal_that_cannot_be_read_is_one_inert_line(tmp_path: Path) -> None:
    for number, text in enumerate(texts()):
        home = tmp_path / f"{number}{text.replace('/', '').encode()[:100].decode(errors='ignore')}"
        home.mkdir()
        commands = [["runs"], ["run", "x", "-m", "echo"], *(about(name, "x") for name in WITH_ID)]
        assert_inert(tmp_path, ["run", "x", "-m", "echo"], AGENTKIT_HOME=str(home))
        (journal,) = home.glob("*.db")
        with sqlite3.connect(journal) as db:
            db.execute("DROP TABLE runs")
        for content in (None, b"this is no database" * 100):
            if content is not None:
                journal.write_bytes(content)
            shown = assert_inert(tmp_path, *commands, failing=True, AGENTKIT_HOME=str(home))
            for each in shown:
                assert len(each.strip().splitlines()) == 1, each
