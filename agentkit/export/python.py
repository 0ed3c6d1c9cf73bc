"""A run as a Python script: each step is a cell (`# %%`) of comments, and an action calls its tool by name.

Editors open it as cells, and Python runs it. The script plays the recording that it contains. No text of a model or a
tool becomes code: it is a comment, a literal in ASCII, or packed.
"""

from __future__ import annotations

import os
import textwrap

from agentkit.export import files, literal, parts, text
from agentkit.export import json as recording
from agentkit.export.protocols import RunLike
from agentkit.inert import for_terminal
from agentkit.journal.entries import Entry

_START = '''\
"""The trace of an agent run, exported by agentkit: it plays recorded calls, without a model or a tool."""

from agentkit.export.playback import playback

live = False  # True really calls the tools, and asks before any call that cannot be undone
tools = []  # the tools to call: functions, toolboxes, or names of built-in ones such as "math"'''

_CALL = 'call = playback(live=live, tools=tools, recording=recording.replace("\\n", ""))'


def to_python(run: RunLike, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False) -> str:
    """Return a run as a Python script that contains its whole recording; write it to `path` if there is one."""
    data = recording.to_json(run)
    entries = recording.line_of(data)
    packed = "\n".join(textwrap.wrap(recording.pack(data), 100))
    cells = [_START, f'recording = """\n{packed}\n"""\n{_CALL}']
    cells.append(_cell("Trace of an agent run", [text.summary(run)]))
    for number, entry in enumerate(entries):
        cells.append(_section(entry, number, parts.labels_shown_next(entries, number)))
    if lines := [f"{label}: {line}" for label, line in parts.outlook(run)]:
        cells.append(_cell("Ahead", lines))
    script = "\n\n".join(cells) + "\n"
    if path is not None:
        files.write(path, "python", script, overwrite=overwrite)
    return script


def _section(entry: Entry, number: int, without: tuple[str, ...]) -> str:
    shown = parts.parts_of(entry)
    lines = [shown.mark] if shown.mark else []
    code = ""
    if entry.kind == "act":
        call = entry.step.call  # type: ignore[union-attr]
        code = f"print({literal.call(number, call.name, call.arguments)})"
        without = (*without, "")  # the call, which is the code
        lines += [f"Problem: {call.problem}"] if call.problem else []
    lines += [
        f"{part.label}: {part.text}" if part.label else part.text for part in shown.parts if part.label not in without
    ]
    return _cell(f"{number} · {shown.kind}", lines, code)


def _cell(title: str, texts: list[str], code: str = "") -> str:
    """Return a cell with a title, code, and texts as comments."""
    comments = [f"# {line}".rstrip() for each in texts for line in for_terminal(each, lines=True).split("\n")]
    return "\n".join([f"# %% {for_terminal(title)}", *([code] if code else []), *comments])
