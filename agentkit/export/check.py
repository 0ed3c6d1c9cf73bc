"""Check rows that came from outside: each value has the type that its class declares, and refers to rows that exist.

A problem is described by the end of a sentence that begins with what was checked, such as "row 3 of the recording".
Each function returns "" if there is no problem.
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from agentkit.core.messages import Message, Reply, message_from_json
from agentkit.core.steps import End, OfferedTool
from agentkit.core.usage import Lost
from agentkit.journal.entries import Entry, Note, Row

_RESULT: dict[str, Any] = {
    "begin": dict[str, Any],
    "think": Reply,
    "act": Message,
    "ask": str,
    "conclude": Message | None,
    "end": End,
}
_BEGIN = {"task": list[dict[str, Any]], "engine": str, "options": dict[str, Any], "tools": dict[str, Any], "model": str}
_OUTPUT: dict[str, Any] = {"name": str, "schema": dict[str, Any], "type": str}
_NO_OUTPUT: dict[str, Any] = {"name": "", "schema": {}, "type": ""}
_RUN = {"run": str, "parent": str, "task": str, "engine": str, "model": str, "status": str, "created": float}
_NOTE: dict[str, dict[str, Any]] = {
    "call": {"parent": int, "path": str, "index": int, "name": str},
    "abandoned": {"parent": int, "path": str, "index": int, "why": str},
    "inject": {"id": str, "text": str, "to": str, "anchor": int},
    "recall": {"id": str},
    "head": {"keep": int, "then": list[int], "why": str},
}
_CHANGED: dict[str, Any] = {
    "options": dict[str, Any],
    "synthesize": int,
    "engine": str,
    "source": str,
    "source_digest": str,
    "model": str,
    "dialect": str | None,
    "tools": dict[str, Any],
    "agent": dict[str, Any],
    "needs": list[str],
    "guards": dict[str, Any],
    "author": str,
}


def row_problem(row: Row, earlier: list[Row]) -> str:
    """Return what is wrong with a row that follows the `earlier` ones."""
    if problem := type_problem(row, type(row)):
        return f"contains {problem}"
    return _note_problem(row, earlier) if isinstance(row, Note) else _entry_problem(row, earlier)


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
                return f"has no valid {name!r} for run {run.get('run')!r}"
    return ""


def _entry_problem(entry: Entry, earlier: list[Row]) -> str:
    if entry.kind not in _RESULT:
        return f"has the unknown kind {entry.kind!r}"
    if problem := type_problem(entry.result, _RESULT[entry.kind]):
        return f"contains {problem} (Entry.result)"
    if entry.kind == "begin":
        return _begin_problem(entry.result)
    if entry.step is None or entry.kind not in (entry.step.kind, "end"):
        return f"is of kind {entry.kind!r} but has no such step"
    others = [entry.parent, *([entry.original] if entry.original else [])]
    return _first(f"refers to row {row}, which is not an earlier entry" for row in others if not _exists(row, earlier))


def _begin_problem(spec: dict[str, Any]) -> str:
    for name, hint in _BEGIN.items():
        if name not in spec or type_problem(spec[name], hint):
            return f"has no valid {name!r}"
    for message in spec["task"]:
        if problem := type_problem(message_from_json(message), Message):
            return f"has a task with {problem}"
    for name in _CHANGED.keys() & spec.keys():
        if type_problem(spec[name], _CHANGED[name]):
            return f"has no valid {name!r}"
    if problem := _output_problem(spec.get("output", _NO_OUTPUT)) or type_problem(spec.get("synthesize", 0), int):
        return f"has an output with {problem}"
    return "" if spec["task"] else "has an empty task"


def _output_problem(output: Any) -> str:
    if problem := type_problem(output, dict[str, Any]):
        return problem
    return _first(type_problem(output.get(name), hint) for name, hint in _OUTPUT.items())


def _note_problem(note: Note, earlier: list[Row]) -> str:
    for name, hint in _NOTE.get(note.kind, {}).items():
        if name not in note.data or type_problem(note.data[name], hint):
            return f"is a note of kind {note.kind!r} without a valid {name!r}"
    if note.kind in ("error", "abandoned") and not _is_lost(note.data.get("lost", {})):
        return f"is a note of kind {note.kind!r} without a valid 'lost'"
    if note.kind == "head" and not all(_exists(row, earlier) for row in note.data["then"]):
        return "moves to entries that do not exist"
    if note.kind == "head" and not _are_changes(note.data.get("changes", {})):
        return "is a fork with changes that a fork cannot have"
    if note.kind == "changed" and not _are_changes(note.data):
        return "has changes that a run cannot have"
    return ""


def _are_changes(changes: Any) -> bool:
    return isinstance(changes, dict) and all(
        name in _CHANGED and not type_problem(value, _CHANGED[name]) for name, value in changes.items()
    )


def _is_lost(data: Any) -> bool:
    """Return whether this is what calls without a result have used, by frame path."""
    names = {field.name for field in fields(Lost)}
    return not type_problem(data, dict[str, dict[str, float]]) and all(
        names.issuperset(used) and all(0 <= value < math.inf for value in used.values()) for used in data.values()
    )


def _exists(number: int, earlier: list[Row]) -> bool:
    return 0 < number <= len(earlier) and isinstance(earlier[number - 1], Entry)


# -- types -------------------------------------------------------------------------------------------------------------


def type_problem(value: Any, hint: Any) -> str:
    """Return which part of a value does not have the declared type."""
    return _checker(hint)(value)


Checker = Callable[[Any], str]


@functools.cache
def _checker(hint: Any) -> Checker:
    """Return the function that checks a value for a type: a dataclass by its fields, a container by its items."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return _accept
    if origin in (Union, types.UnionType):
        return _union_checker(arguments)
    if origin is Literal:
        choices = ", ".join(map(str, arguments))
        return lambda value: "" if value in arguments else f"{str(value)[:80]!r}, which is not one of {choices}"
    kind = type(None) if hint is None else origin or hint
    if kind is OfferedTool:
        return _accept  # the reader of the recording makes its tools
    kinds = (int, float) if kind is float else kind
    expected = "nothing" if kind is type(None) else _with_article(kind.__name__)
    check_inside = _inner_checker(kind, arguments)

    def check(value: Any) -> str:
        if not isinstance(value, kinds):
            return f"{_with_article(type(value).__name__)} instead of {expected}"
        return check_inside(value) if check_inside else ""

    return check


def _inner_checker(kind: Any, arguments: tuple[Any, ...]) -> Checker | None:
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        names = [name for name, hint in hints.items() if not name.startswith("_") and get_origin(hint) is not ClassVar]
        return lambda value: _first(
            f"{problem} ({kind.__name__}.{name})"
            for name in names
            if (problem := _checker(hints[name])(getattr(value, name)))
        )
    if kind in (dict, Mapping):
        keys, values = map(_checker, arguments)
        return lambda value: (
            _first(map(keys, value)) or ("" if values is _accept else _first(map(values, value.values())))
        )
    if kind in (tuple, list):
        items = _checker(arguments[0])
        return lambda value: _first(map(items, value))
    return None


def _union_checker(options: tuple[Any, ...]) -> Checker:
    checkers = [(option, _checker(option)) for option in options]

    def check(value: Any) -> str:
        matching = next((c for option, c in checkers if isinstance(option, type) and isinstance(value, option)), None)
        problems = [matching(value)] if matching else [checker(value) for _, checker in checkers]
        return problems[0] if all(problems) else ""

    return check


def _accept(value: Any) -> str:
    return ""


def _first(problems: Iterable[str]) -> str:
    return next(filter(None, problems), "")


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiouAEIOU' else 'a'} {noun}"
