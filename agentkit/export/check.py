"""Check rows that came from outside: every value is of the type that its class says, and refers to rows that are there."""

from __future__ import annotations

import functools
import types
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from agentkit.journal.base import Entry, Note, Row
from agentkit.messages import Chat, Message, Reply, message_from_json
from agentkit.steps import Answer

_RESULT: dict[str, Any] = {
    "begin": dict[str, Any],
    "think": Reply,
    "act": tuple[Message, ...],
    "ask": str,
    "conclude": Message | None,
    "batch": None,
    "join": dict[str, int],
    "answer": Answer,
}
_DO = {"begin": None, "join": ("all", "act"), "batch": ("all", "act"), "answer": None}
_BEGIN = {"task": list[dict[str, Any]], "engine": str, "options": dict[str, Any], "tools": dict[str, Any], "model": str}
_ABOUT = {"run": str, "parent": str, "task": str, "engine": str, "model": str, "status": str, "created": float}
_NOTE: dict[str, dict[str, Any]] = {
    "call": {"parent": int, "path": str, "index": int, "name": str},
    "inject": {"id": str, "text": str, "to": str, "anchor": int},
    "recall": {"id": str},
    "head": {"tips": dict[str, int], "why": str},
}


def row(found: Row, before: list[Row]) -> str:
    """Say what is wrong with a row that follows those `before` it; empty when nothing is."""
    if problem := misfit(found, type(found)):
        return f"holds {problem}"
    return _note(found, before) if isinstance(found, Note) else _entry(found, before)


def stored(value: Any) -> str:
    """Say what is wrong with a message or the tools that a row brought."""
    for each in value if isinstance(value, tuple) else (value,):
        if problem := misfit(each, type(each)):
            return f"holds {problem}"
    return ""


def about(runs: Any) -> str:
    """Say what is wrong with what a recording says of its runs."""
    if problem := misfit(runs, list[dict[str, Any]]):
        return f"holds {problem}"
    for each in runs:
        for name, hint in _ABOUT.items():
            if name not in each or misfit(each[name], hint):
                return f"does not say the {name} of run {each.get('run')!r}"
    return ""


def _entry(entry: Entry, before: list[Row]) -> str:
    if entry.kind not in _RESULT:
        return f"is of a kind that is not known: {entry.kind!r}"
    if problem := misfit(entry.result, _RESULT[entry.kind]):
        return f"has as its result {problem}"
    due = _DO.get(entry.kind, (entry.kind,))
    if due and (entry.step is None or entry.step.kind not in due):
        return f"is a {entry.kind} without its step"
    if entry.kind == "act" and not (entry.result and getattr(entry.step, "calls", ())):
        return "is an action without a call or without a result"
    if entry.kind == "begin":
        return _begin(entry.result)
    others = [entry.parent, *([entry.original] if entry.original else []), *(entry.result.values() if entry.kind == "join" else ())]
    return _first(f"refers to row {at}, which is no entry before it" for at in others if not _there(at, before))


def _begin(spec: dict[str, Any]) -> str:
    for name, hint in _BEGIN.items():
        if name not in spec or misfit(spec[name], hint):
            return f"does not say the run's {name}"
    for message in spec["task"]:
        if problem := misfit(message_from_json(message), Message):
            return f"holds a task with {problem}"
    return "" if spec["task"] else "holds no task"


def _note(note: Note, before: list[Row]) -> str:
    for name, hint in _NOTE.get(note.kind, {}).items():
        if name not in note.data or misfit(note.data[name], hint):
            return f"is a note of kind {note.kind!r} without a sound {name!r}"
    if note.kind == "head" and not ("" in note.data["tips"] and all(_there(at, before) for at in note.data["tips"].values())):
        return "moves to entries that are not there"
    return ""


def _there(number: int, before: list[Row]) -> bool:
    return 0 < number <= len(before) and isinstance(before[number - 1], Entry)


def misfit(value: Any, hint: Any) -> str:
    """Say which part of a value is not of the type that it should be; empty when all are."""
    if hint is Any or hint is Chat:
        return "" if hint is Any or isinstance(value, Chat) else "something that is no chat"
    if hint is None or hint is type(None):
        return "" if value is None else f"a {type(value).__name__}, where there should be nothing"
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        nearest = next((option for option in inner if isinstance(option, type) and isinstance(value, option)), None)
        problems = [misfit(value, option) for option in ([nearest] if nearest else inner)]
        return problems[0] if all(problems) else ""
    if origin is Literal:
        return "" if value in inner else f"{str(value)[:80]!r}, which is none of {', '.join(map(str, inner))}"
    kind = origin or hint
    number = kind is float and isinstance(value, int)
    if not number and not isinstance(value, kind):
        return f"a {type(value).__name__}, where there should be a {getattr(kind, '__name__', kind)}"
    if is_dataclass(kind):
        return _misfit_in(value, _hints(kind))  # type: ignore[arg-type]
    if kind in (dict, Mapping):
        return _first(misfit(part, inner[at]) for item in value.items() for at, part in enumerate(item) if inner[at] is not Any)
    if kind in (tuple, list) and inner and inner[0] is not Any:
        return _first(misfit(item, inner[0]) for item in value)
    return ""


def _misfit_in(value: Any, hints: dict[str, Any]) -> str:
    for name, hint in hints.items():
        if problem := misfit(getattr(value, name), hint):
            return f"{problem} ({type(value).__name__}.{name})"
    return ""


def _first(problems: Any) -> str:
    return next((problem for problem in problems if problem), "")


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    found = get_type_hints(kind, localns={"Tool": Any})
    return {name: hint for name, hint in found.items() if not name.startswith("_") and get_origin(hint) is not ClassVar}
