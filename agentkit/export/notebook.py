"""A run as a notebook that can be executed: a thought is a Markdown cell, an action is a cell that calls its tool by
name.

No text of a model or a tool becomes code: it is escaped Markdown, a literal in ASCII, an output, or packed.
"""

from __future__ import annotations

import os
import textwrap
from typing import Any

from agentkit.core.messages import digest
from agentkit.export import files, literal, overviews, parts, text
from agentkit.export import json as recording
from agentkit.export.escaping import markdown_block, markdown_inline
from agentkit.export.markdown import entry_section, outlook, part
from agentkit.export.playback import bundle
from agentkit.export.protocols import RunLike
from agentkit.journal.entries import Entry

FORMAT, VERSION = "agentkit.notebook", 1
MAX_TEXT = 100_000
"""Characters of one text in a cell; the recording contains all of them."""
_RECORDING_WIDTH = 72
"""Characters in a line of the recording: a notebook scrolls sideways where a line does not fit."""
_LIMITS = parts.Limits(MAX_TEXT, 0)

_SETTINGS = '''\
from agentkit.export.playback import playback

live = False  # True really calls the tools, and asks before any call that cannot be undone
tools = []  # the tools to call: functions, toolboxes, or names of built-in ones such as "math"'''

_EXPLANATION = """\
Each action below is a cell that calls its tool by name. By default, it returns the recorded observation, without
calling a model or a tool. If you change the arguments of a call, it is refused, and the error shows the most similar
recorded call."""

_KINDS = {"begin": "task", "think": "thought", "act": "action", "ask": "question", "conclude": "answer"}


def to_notebook(run: RunLike, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False) -> Any:
    """Return a run as a `NotebookNode` of format 4.5 that contains its whole recording; write it to `path` if there is
    one.

    `data_of_notebook` reads it back.
    """

    data = recording.to_json(run)
    entries = recording.line_of(data)
    cells = [_header(run, entries), _settings(), _recording(data)]
    if blocks := overviews.to_markdown(run):
        cells.append(_markdown("overviews", "overviews", None, "\n\n".join(blocks)))
    for number, entry in enumerate(entries[1:], 1):
        if entry.kind == "act":
            cells += _action(entry, number)
        else:
            cells.append(_section(entry, number, parts.labels_shown_next(entries, number)))
    if lines := outlook(run, MAX_TEXT):
        cells.append(_markdown("ahead", "ahead", None, "\n\n".join(lines)))
    for count, cell in enumerate((cell for cell in cells if cell["cell_type"] == "code"), 1):
        cell["execution_count"] = count
        for output in cell["outputs"]:
            output["execution_count"] = count
    made_by = {"format": FORMAT, "version": VERSION, "cells": [cell["id"] for cell in cells]}
    return notebook_of(cells, path, overwrite=overwrite, agentkit=made_by)


def notebook_of(
    cells: list[dict[str, Any]], path: str | os.PathLike[str] | None, *, overwrite: bool, **metadata: Any
) -> Any:
    """Return cells as a valid `NotebookNode`, with more metadata; write it to `path` if there is one."""
    import nbformat

    metadata["kernelspec"] = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    metadata["language_info"] = {"name": "python"}
    notebook = nbformat.from_dict({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    if path is not None:
        content: str = nbformat.v4.writes(notebook)  # type: ignore[no-untyped-call]
        files.write(path, "notebook", content + "\n", overwrite=overwrite)
    return notebook


def source_digest(source: str) -> str:
    """Return a digest of the source of a cell, by which a change is noticed."""
    return digest(source.encode(errors="backslashreplace"))


def _header(run: RunLike, entries: list[Entry]) -> dict[str, Any]:
    task = [part(task_part, _LIMITS) for task_part in parts.parts_of(entries[0]).parts]
    others = len(run.branches()) - 1
    branches = ""
    if others:
        branches = f"\n\nThe recording contains {others} other {'branch' if others == 1 else 'branches'}."
    spec = run.task
    about = f"{text.summary(run)}; engine {spec['engine'].rpartition(':')[2]}, model {spec['model']}"
    blocks = ["# Trace of an agent run", "**Task**", *task, f"{markdown_inline(about)}{branches}", _EXPLANATION]
    return _markdown("task", "task", 0, "\n\n".join(blocks))


def _settings() -> dict[str, Any]:
    return _code("settings", "settings", None, _SETTINGS, [])


def _recording(data: dict[str, Any]) -> dict[str, Any]:
    lines = "\n".join(f'    "{line}"' for line in textwrap.wrap(recording.pack(data), _RECORDING_WIDTH))
    call = "call = playback(live=live, tools=tools, recording=recording)"
    source = f"recording = (\n{lines}\n)  # the whole recording\n{call}"
    cell = _code("recording", "recording", None, source, [])
    cell["metadata"]["jupyter"] = {"source_hidden": True}
    return cell


def _section(entry: Entry, number: int, without: tuple[str, ...]) -> dict[str, Any]:
    """Return the cell of a thought, a question or an answer; calls that were made have cells of their own."""
    kind = _KINDS.get(entry.kind, entry.kind)
    return _markdown(f"entry-{number}-{kind}", kind, number, entry_section(entry, number, _LIMITS, without))


def _action(entry: Entry, number: int) -> list[dict[str, Any]]:
    """Return the cell of a call, and before it a note if somebody changed the result or the call has a problem."""
    call = entry.step.call  # type: ignore[union-attr]
    name, mark = f"entry-{number}-action", parts.parts_of(entry).mark
    output = {"output_type": "execute_result", "data": bundle(entry.result), "metadata": {}, "execution_count": 0}
    cell = _code(name, "action", number, literal.call(number, call.name, call.arguments), [output])
    notes = [f"*{markdown_inline(mark)}*"] if mark else []
    notes += [f"**Problem:** {markdown_block(call.problem, MAX_TEXT)}"] if call.problem else []
    if not notes:
        return [cell]
    return [_markdown(f"{name}-note", "note", number, "\n\n".join([f"### {number} · Action", *notes])), cell]


def _markdown(name: str, kind: str, number: int | None, source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": name, "metadata": _metadata(name, kind, number, source), "source": source}


def _code(name: str, kind: str, number: int | None, source: str, outputs: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": name,
        "metadata": _metadata(name, kind, number, source),
        "source": source,
        "outputs": outputs,
        "execution_count": None,
    }


def _metadata(name: str, kind: str, number: int | None, source: str) -> dict[str, Any]:
    data: dict[str, Any] = {"cell": name, "kind": kind, "digest": source_digest(source)}
    if number is not None:
        data["entry"] = number
    return {"agentkit": data, "tags": [f"agentkit-{kind}"]}
