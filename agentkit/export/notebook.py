"""A run as a notebook that runs again: a thought is a Markdown cell, an action is a cell that calls its tool by name.

No text that came from a model or a tool is code: it is escaped Markdown, a literal in ASCII, an output, or packed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from agentkit.core.messages import digest
from agentkit.export import json as recording
from agentkit.export import literal, parts
from agentkit.export import text as plain
from agentkit.export.held import HeldRun
from agentkit.export.inert import phrase, prose
from agentkit.export.markdown import ahead, part, section
from agentkit.export.playback import bundle
from agentkit.journal.entries import Entry

FORMAT, VERSION = "agentkit.notebook", 1
LIMIT = 100_000
"""Characters of one text in a cell; the recording has all of them."""
_SIZE = parts.Size(LIMIT, 0)

_SETTINGS = '''\
from agentkit.export.playback import playback

live = False  # True calls the tools for real; what cannot be taken back asks first
tools = []  # the tools to call then: functions, toolboxes, or names of built-in toolboxes such as "math"'''

_HOW = """\
Each action below is a cell that calls its tool by name. Run as it is, it gives what was observed then: no model is asked and no
tool runs. A call that was changed by hand is refused, and the error names the nearest that was recorded."""

_KINDS = {"begin": "task", "think": "thought", "act": "action", "ask": "question", "conclude": "answer"}


def to_notebook(run: HeldRun, path: str | os.PathLike[str] | None = None) -> Any:
    """Give a run as a notebook (a `NotebookNode` of format 4.5) that holds its whole recording; write it where a `path` is given.

    `data_of_notebook` reads it back.
    """
    import nbformat

    data = recording.to_json(run)
    entries = recording.line_of(data)
    cells = [_header(run, entries), _settings(), _recording(data)]
    for number, entry in enumerate(entries[1:], 1):
        cells += (
            _action(entry, number) if entry.kind == "act" else [_said(entry, number, parts.repeated(entries, number))]
        )
    if coming := ahead(run, LIMIT):
        cells.append(_markdown("ahead", "ahead", None, "\n\n".join(coming)))
    for place, cell in enumerate((cell for cell in cells if cell["cell_type"] == "code"), 1):
        cell["execution_count"] = place
        for output in cell["outputs"]:
            output["execution_count"] = place
    about = {"format": FORMAT, "version": VERSION, "cells": [cell["id"] for cell in cells]}
    metadata = {
        "agentkit": about,
        "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    notebook = nbformat.from_dict({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    if path is not None:
        text: str = nbformat.v4.writes(notebook)  # type: ignore[no-untyped-call]
        Path(path).write_text(text + "\n", encoding="utf-8", newline="\n")
    return notebook


def seal(source: str) -> str:
    """Name the source of a cell by its content, to see whether it was changed."""
    return digest(source.encode(errors="backslashreplace"))


def _header(run: HeldRun, entries: list[Entry]) -> dict[str, Any]:
    task = [part(each, _SIZE) for each in parts.of(entries[0]).parts]
    others = len(run.branches()) - 1
    aside = (
        f"\n\n{others} other {'branch is' if others == 1 else 'branches are'} in the recording, beside this one."
        if others
        else ""
    )
    spec = run.task
    by = f"{plain.summary(run)}; engine {spec['engine'].rpartition(':')[2]}, model {spec['model']}"
    source = "\n\n".join(["# Trace of an agent run", "**Task**", *task, f"{phrase(by)}{aside}", _HOW])
    return _markdown("task", "task", 0, source)


def _settings() -> dict[str, Any]:
    return _code("settings", "settings", None, _SETTINGS, [])


def _recording(data: dict[str, Any]) -> dict[str, Any]:
    source = f'call = playback(live=live, tools=tools, recording="{recording.pack(data)}")  # all that was recorded'
    cell = _code("recording", "recording", None, source, [])
    cell["metadata"]["jupyter"] = {"source_hidden": True}
    return cell


def _said(entry: Entry, number: int, without: tuple[str, ...]) -> dict[str, Any]:
    """A thought, a question, an answer; what a thought asks for stands in the cells below it, if it was done."""
    kind = _KINDS.get(entry.kind, entry.kind)
    return _markdown(f"entry-{number}-{kind}", kind, number, section(entry, number, _SIZE, without))


def _action(entry: Entry, number: int) -> list[dict[str, Any]]:
    """An action: the call, and above it who changed what it gave, and why."""
    call = entry.step.call  # type: ignore[union-attr]
    seen, name = parts.of(entry), f"entry-{number}-action"
    output = {"output_type": "execute_result", "data": bundle(entry.result), "metadata": {}, "execution_count": 0}
    cell = _code(name, "action", number, literal.call(number, call.name, call.arguments), [output])
    notes = [f"*{phrase(seen.mark)}*"] if seen.mark else []
    notes += [f"**Problem:** {prose(call.problem, LIMIT)}"] if call.problem else []
    if not notes:
        return [cell]
    return [_markdown(f"{name}-note", "note", number, "\n\n".join([f"### {number} · Action", *notes])), cell]


def _markdown(name: str, kind: str, number: int | None, source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": name, "metadata": _metadata(name, kind, number, source), "source": source}


def _code(name: str, kind: str, number: int | None, source: str, outputs: list[dict[str, Any]]) -> dict[str, Any]:
    about = _metadata(name, kind, number, source)
    return {
        "cell_type": "code",
        "id": name,
        "metadata": about,
        "source": source,
        "outputs": outputs,
        "execution_count": None,
    }


def _metadata(name: str, kind: str, number: int | None, source: str) -> dict[str, Any]:
    about: dict[str, Any] = {"cell": name, "kind": kind, "digest": seal(source)}
    if number is not None:
        about["entry"] = number
    return {"agentkit": about, "tags": [f"agentkit-{kind}"]}
