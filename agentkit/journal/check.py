"""Check rows that came from outside: each value has the type that its class declares, and refers to rows that exist.

A problem is described by the end of a sentence that begins with what was checked, such as "row 3 of the recording".
Each function returns "" if there is no problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from agentkit.core.declared_types import LATEST, first, type_problem
from agentkit.core.messages import Message, Reply, message_from_json
from agentkit.core.steps import End
from agentkit.core.usage import Lost
from agentkit.errors import UsageError
from agentkit.journal.entries import Entry, Note, Row, checked_tags

_RESULT: dict[str, Any] = {
    "begin": dict[str, Any],
    "think": Reply,
    "act": Message,
    "ask": str,
    "conclude": Message | None,
    "end": End,
}
_PATH = re.compile(r"(?:\.\d{1,9}+|\[\d{1,9}+\.\d{1,9}+(?:<\d{1,9}+(?:,\d{1,9}+)*+)?+\]){0,500}+")
_MAX_LANES = 50  # one inside the other: each entry is put in order by all lanes that it is in
_BEGIN = {"task": list[dict[str, Any]], "engine": str, "options": dict[str, Any], "tools": dict[str, str], "model": str}
_OUTPUT: dict[str, Any] = {"name": str, "schema": dict[str, Any], "type": str}
_NO_OUTPUT: dict[str, Any] = {"name": "", "schema": {}, "type": ""}
_RUN = {"run": str, "parent": str, "task": str, "engine": str, "model": str, "status": str, "created": float}
_NOTE: dict[str, dict[str, Any]] = {
    "call": {"parent": int, "path": str, "index": int, "name": str},
    "abandoned": {"parent": int, "path": str, "index": int, "why": str},
    "inject": {"id": str, "text": str, "to": str, "anchor": int},
    "recall": {"id": str},
    "signal": {"name": str},
    "asked_again": {"of": str, "request": str},
    "traced": {"traceparent": str},
    "head": {"keep": int, "then": list[int], "why": str},
    "completed": {"answer": str},
    "budget": {"limit": str, "to": float},
    "budget_warning": {"limit": str},
    "budget_exceeded": {"limit": str},
}
_MORE: dict[str, dict[str, Any]] = {
    "head": {"inherits": list[str], "trial": bool},
    "call": {"role": str, "tags": dict[str, Any], "effect": str, "arguments": dict[str, Any]},
    "error": {"lost": dict[str, dict[str, Any]]},
    "abandoned": {"lost": dict[str, dict[str, Any]]},
}
_SPEC: dict[str, Any] = {
    "version": int,
    "told": int,
    "history": list[dict[str, Any]],
    "session": dict[str, Any],
    "context": list[dict[str, Any]],
}
_SESSION: dict[str, Any] = {"id": str, "user": str}
_NO_SESSION: dict[str, Any] = {"id": "", "user": ""}
_SUMMARY: dict[str, Any] = {"turns": int, "upto": int}
_COMPACTED: dict[str, Any] = {"compacted": dict[str, int]}
_CHANGED: dict[str, Any] = {
    **dict.fromkeys(("engine", "source", "source_digest", "model", "author"), str),
    **dict.fromkeys(("options", "agent", "guards"), dict[str, Any]),
    "tools": dict[str, str],
    "sources": list[list[dict[str, Any]]],
    "dialect": str | None,
    "temperature": float | None,
    "needs": list[str],
    "synthesize": int,
}


class Checker:
    """A check of the rows of one tree, in order."""

    def __init__(self) -> None:
        self._is_entry: list[bool] = []

    def problem(self, row: Row) -> str:
        """Return what is wrong with the next row."""
        if problem := type_problem(row, type(row)):
            return f"contains {problem}"
        times = (row.started, row.ended, row.streamed) if isinstance(row, Entry) else (row.at,)
        if not all(0 <= moment < LATEST for moment in times):
            return "has a time that is not one"
        earlier, is_entry = self._is_entry, isinstance(row, Entry)
        problem = _entry_problem(row, earlier) if isinstance(row, Entry) else _note_problem(row, earlier)
        earlier.append(is_entry)
        return problem


def sound(rows: Iterable[Row], checker: Checker | None = None) -> tuple[list[Row], str]:
    """Return the rows before the first one with a problem, and that problem with the number of its row, or "".

    With a `checker`, these are the rows after those that it has seen.
    """
    checker, good = checker or Checker(), list[Row]()
    for row in rows:
        try:
            problem = checker.problem(row)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            problem = f"is not valid ({type(error).__name__}: {str(error)[:200]})"
        if problem:
            return good, f"row {row.id} {problem}"
        good.append(row)
    return good, ""


def stored_problem(value: Any) -> str:
    """Return what is wrong with a message, or a tuple of tools, that came with a row."""
    for item in value if isinstance(value, tuple) else (value,):
        if problem := type_problem(item, type(item)):
            return f"contains {problem}"
    return ""


def runs_problem(runs: Any) -> str:
    """Return what is wrong with the list of runs in a recording."""
    if problem := type_problem(runs, list[dict[str, Any]]):
        return f"contains {problem}"
    for run in runs:
        for name, hint in _RUN.items():
            if name not in run or type_problem(run[name], hint):
                return f"has no valid {name!r} for run {run.get('run')!r:.200}"
        if not 0 <= run["created"] < LATEST:
            return f"has no valid 'created' for run {run['run']!r:.200}"
        try:
            checked_tags(run.get("tags", {}))
        except UsageError as error:
            return f"has no valid 'tags' for run {run['run']!r:.200} ({error})"
    return ""


def _entry_problem(entry: Entry, earlier: Sequence[bool]) -> str:
    if entry.kind not in _RESULT:
        return f"has the unknown kind {entry.kind!r}"
    if problem := type_problem(entry.result, _RESULT[entry.kind]):
        return f"contains {problem} (Entry.result)"
    if entry.kind == "begin":
        return "begins a run within another one" if any(earlier) else _begin_problem(entry.result)
    if entry.step is None or entry.kind not in (entry.step.kind, "end"):
        return f"is of kind {entry.kind!r} but has no such step"
    if problem := _path_problem(entry.path):
        return problem
    if not all(0 <= seconds < LATEST for seconds in (entry.rested or {}).values()):
        return "has rested for a time that is not one"
    others = [entry.parent, *([entry.original] if entry.original else [])]
    return first(f"refers to row {row}, which is not an earlier entry" for row in others if not _exists(row, earlier))


def _path_problem(path: str) -> str:
    if not _PATH.fullmatch(path):
        return f"has {path[:60]!r} instead of the path of a step"
    return f"is in more than {_MAX_LANES} lanes, one inside the other" if path.count("[") > _MAX_LANES else ""


def _begin_problem(spec: dict[str, Any]) -> str:
    if wrong := _wrong_field(spec, _BEGIN) or _wrong_field(spec, {**_SPEC, **_CHANGED}, optional=True):
        return f"has no valid {wrong!r}"
    for message in [*spec["task"], *spec.get("history", ())]:
        if problem := type_problem(message_from_json(message), Message):
            return f"has a task with {problem}"
    if problem := _output_problem(spec.get("output", _NO_OUTPUT)):
        return f"has an output with {problem}"
    session = spec.get("session", _NO_SESSION)
    wrong = _wrong_field(session, _SESSION) or ("turns" in session and _wrong_field(session, _SUMMARY)) or ""
    if wrong := wrong or _wrong_field(session, _COMPACTED, optional=True):
        return f"has a session without a valid {wrong!r}"
    return "" if spec["task"] else "has an empty task"


def _wrong_field(data: dict[str, Any], fields: dict[str, Any], *, optional: bool = False) -> str:
    """Return the first field of an object that is missing or has the wrong type, or ""."""
    for name, hint in fields.items():
        if (name not in data and not optional) or (name in data and type_problem(data[name], hint)):
            return name
    return ""


def _output_problem(output: Any) -> str:
    if problem := type_problem(output, dict[str, Any]):
        return problem
    return first(type_problem(output.get(name), hint) for name, hint in _OUTPUT.items())


def _note_problem(note: Note, earlier: Sequence[bool]) -> str:
    data, kind = note.data, note.kind
    wrong = _wrong_field(data, _NOTE.get(kind, {})) or _wrong_field(data, _MORE.get(kind, {}), optional=True)
    if not wrong and kind in ("error", "abandoned") and not all(map(_is_lost, data.get("lost", {}).values())):
        wrong = "lost"
    if wrong:
        return f"is a note of kind {kind!r} without a valid {wrong!r}"
    if kind in ("call", "abandoned", "inject") and (
        problem := _path_problem(data["to" if kind == "inject" else "path"])
    ):
        return problem
    if kind == "head" and not all(_exists(row, earlier) for row in data["then"]):
        return "moves to entries that do not exist"
    if kind == "head" and not _are_changes(data.get("changes", {})):
        return "is a fork with changes that a fork cannot have"
    if kind == "changed" and not _are_changes(data):
        return "has changes that a run cannot have"
    return ""


def _is_lost(used: dict[str, Any]) -> bool:
    """Return whether this is what calls without a result have used."""
    known = {field.name for field in fields(Lost)}
    return known.issuperset(used) and not type_problem(used, dict[str, float]) and min(used.values(), default=0) >= 0


def _are_changes(changes: Any) -> bool:
    if not isinstance(changes, dict) or changes.keys() - _CHANGED.keys():
        return False
    return not _wrong_field(changes, _CHANGED, optional=True)


def _exists(number: int, earlier: Sequence[bool]) -> bool:
    return 0 < number <= len(earlier) and earlier[number - 1]
