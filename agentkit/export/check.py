"""Check rows that came from outside: every value is of the type that its class says, and refers to rows that are there."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from agentkit.core.messages import Message, Reply, message_from_json
from agentkit.core.steps import End, OfferedTool
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
_ABOUT = {"run": str, "parent": str, "task": str, "engine": str, "model": str, "status": str, "created": float}
_NOTE: dict[str, dict[str, Any]] = {
    "call": {"parent": int, "path": str, "index": int, "name": str},
    "inject": {"id": str, "text": str, "to": str, "anchor": int},
    "recall": {"id": str},
    "head": {"keep": int, "then": list[int], "why": str},
}

_FORK = {"options": dict[str, Any], "synthesize": int, "engine": str, "source": str, "source_digest": str}


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
    if entry.kind == "begin":
        return _begin(entry.result)
    if entry.step is None or entry.kind not in (entry.step.kind, "end"):
        return f"is a {entry.kind} without its step"
    others = [entry.parent, *([entry.original] if entry.original else [])]
    return _first(f"refers to row {at}, which is no entry before it" for at in others if not _there(at, before))


def _begin(spec: dict[str, Any]) -> str:
    for name, hint in _BEGIN.items():
        if name not in spec or misfit(spec[name], hint):
            return f"does not say the run's {name}"
    for message in spec["task"]:
        if problem := misfit(message_from_json(message), Message):
            return f"holds a task with {problem}"
    if problem := _output(spec.get("output", _NO_OUTPUT)) or misfit(spec.get("synthesize", 0), int):
        return f"holds an output with {problem}"
    return "" if spec["task"] else "holds no task"


def _output(about: Any) -> str:
    if problem := misfit(about, dict[str, Any]):
        return problem
    return _first(misfit(about.get(name), hint) for name, hint in _OUTPUT.items())


def _note(note: Note, before: list[Row]) -> str:
    for name, hint in _NOTE.get(note.kind, {}).items():
        if name not in note.data or misfit(note.data[name], hint):
            return f"is a note of kind {note.kind!r} without a sound {name!r}"
    if note.kind == "head" and not all(_there(at, before) for at in note.data["then"]):
        return "moves to entries that are not there"
    if note.kind == "head" and not _changed(note.data.get("changes", {})):
        return "is a fork with changes that a fork cannot have"
    return ""


def _changed(changes: Any) -> bool:
    return isinstance(changes, dict) and all(
        name in _FORK and not misfit(value, _FORK[name]) for name, value in changes.items()
    )


def _there(number: int, before: list[Row]) -> bool:
    return 0 < number <= len(before) and isinstance(before[number - 1], Entry)


def misfit(value: Any, hint: Any) -> str:
    """Say which part of a value is not of the type that it should be; empty when all are."""
    return _checker(hint)(value)


Checker = Callable[[Any], str]


@functools.cache
def _checker(hint: Any) -> Checker:
    """Make the function that holds a value to a type; a dataclass by its fields, a container by what it holds."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return _anything
    if origin in (Union, types.UnionType):
        return _one_of(inner)
    if origin is Literal:
        return lambda value: (
            "" if value in inner else f"{str(value)[:80]!r}, which is none of {', '.join(map(str, inner))}"
        )
    kind = type(None) if hint is None else origin or hint
    if kind is OfferedTool:
        return _anything  # the tools of a recording are made by its reader
    kinds = (int, float) if kind is float else kind
    name = "nothing" if kind is type(None) else f"a {kind.__name__}"

    def check(value: Any) -> str:
        if not isinstance(value, kinds):
            return f"a {type(value).__name__}, where there should be {name}"
        return within(value) if within else ""

    within = _within(kind, inner)
    return check


def _within(kind: Any, inner: tuple[Any, ...]) -> Checker | None:
    if is_dataclass(kind) and isinstance(kind, type):
        found = get_type_hints(kind)
        own = [name for name, hint in found.items() if not name.startswith("_") and get_origin(hint) is not ClassVar]
        return lambda value: _first(
            f"{problem} ({kind.__name__}.{name})"
            for name in own
            if (problem := _checker(found[name])(getattr(value, name)))
        )
    if kind in (dict, Mapping):
        keys, values = map(_checker, inner)
        return lambda value: (
            _first(map(keys, value)) or ("" if values is _anything else _first(map(values, value.values())))
        )
    if kind in (tuple, list):
        items = _checker(inner[0])
        return lambda value: _first(map(items, value))
    return None


def _one_of(options: tuple[Any, ...]) -> Checker:
    kinds = [(option, _checker(option)) for option in options]

    def check(value: Any) -> str:
        nearest = next((held for option, held in kinds if isinstance(option, type) and isinstance(value, option)), None)
        problems = [nearest(value)] if nearest else [held(value) for _, held in kinds]
        return problems[0] if all(problems) else ""

    return check


def _anything(value: Any) -> str:
    return ""


def _first(problems: Iterable[str]) -> str:
    return next(filter(None, problems), "")
