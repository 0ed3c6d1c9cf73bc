"""A run as a Python script, and the files that a run is exported to."""

from __future__ import annotations

import ast
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentkit import Agent, Call, Reply, Run, load, tool
from agentkit.errors import UsageError
from agentkit.models import Scripted
from agentkit.models.base import Abilities


@tool(effect="pure")
def weather(city: str) -> str:
    """Get the weather in a city."""
    return f"rain in {city}"


def trip(city: str = "Bern", thought: str = "I'll check.") -> Run:
    replies = [Reply(thought, (Call("weather", {"city": city}),)), "Take an umbrella."]
    agent = Agent(Scripted(replies, abilities=Abilities(tools=True)), [weather], journal="memory")
    return agent.run("What should I take?").run


def test_the_script_has_every_step_and_plays_the_recording(tmp_path: Path) -> None:
    script = trip().to_python(tmp_path / "trip.py")
    assert (tmp_path / "trip.py").read_text() == script
    for text in ("What should I take?", "I'll check.", "Take an umbrella.", "# Observation: rain in Bern"):
        assert text in script
    played = subprocess.run([sys.executable, tmp_path / "trip.py"], capture_output=True, text=True)
    assert (played.returncode, played.stdout, played.stderr) == (0, "rain in Bern\n", "")


def test_texts_become_comments_and_literals_and_never_code() -> None:
    ends = "\n\r\x0b\x0c\x1c\x85\u2028\u2029"
    hostile = "".join(f"{end}open('canary', 'w')" for end in ends) + '"""\n# -*- coding: utf-7 -*-\\'
    statements = ast.parse(trip(hostile, hostile).to_python()).body
    texts = [ast.unparse(statement).partition("(")[0].partition(" =")[0] for statement in statements[1:]]
    assert texts == ["from agentkit.export.playback import playback", "live", "tools", "recording", "call", "print"]
    printed = statements[-1].value.args[0]  # type: ignore[attr-defined]
    assert [ast.literal_eval(argument) for argument in printed.args] == [2, "weather", {"city": hostile}]


FORMATS = {"notebook": "ipynb", "html": "html", "markdown": "md", "json": "json", "python": "py"}


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_has_the_ending_of_its_format_and_is_not_overwritten_unasked(format: str, tmp_path: Path) -> None:
    write: Any = getattr(trip(), f"to_{format}")
    path = tmp_path / f"trip.{FORMATS[format]}"
    write(path)
    first = path.read_bytes()
    assert first and stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(UsageError, match="already exists: choose another name, or pass overwrite=True"):
        write(path)
    assert path.read_bytes() == first
    write(path, overwrite=True)
    for name in ("trip.txt", "trip", "trip.py" if format != "python" else "trip.json"):
        with pytest.raises(
            UsageError, match=rf"the name of a file in the format {format} must end in .*\.{FORMATS[format]}"
        ):
            write(tmp_path / name)
        assert not (tmp_path / name).exists()
    write(os.devnull)


@pytest.mark.parametrize("format", ["json", "notebook"])
def test_a_run_is_written_to_a_file_and_loaded_from_it(format: str, tmp_path: Path) -> None:
    run, path = trip(), tmp_path / f"trip.{FORMATS[format]}"
    getattr(run, f"to_{format}")(path)
    agent = Agent("offline", [weather], journal="memory")
    assert repr(load(str(path), agent)) == repr(agent.load(path)) == repr(run)
    if format == "json":
        assert json.loads(path.read_text()) == json.loads(json.dumps(run.to_json()))


@pytest.mark.parametrize("format", ["html", "markdown", "python"])
def test_a_format_that_cannot_be_loaded_says_which_can(format: str, tmp_path: Path) -> None:
    path = tmp_path / f"trip.{FORMATS[format]}"
    getattr(trip(), f"to_{format}")(path)
    with pytest.raises(UsageError, match="only to_json and to_notebook write all that it needs"):
        load(path)
