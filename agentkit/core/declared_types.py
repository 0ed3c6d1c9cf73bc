"""Check that a value from outside has the type that is declared for it, down to its items and fields."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from agentkit.core.steps import OfferedTool

LARGEST = 1 << 63
"""The first number that is too large for a count, a time or the number of a row: it would overflow when it is shown."""

LATEST = 253_402_300_800.0
"""The end of the year 9999 in seconds since 1970: the first time that cannot be shown."""


def type_problem(value: Any, hint: Any) -> str:
    """Return which part of a value does not have the declared type, or ""."""
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

    return _number_checker(check) if kind in (int, float) else check


def _number_checker(check: Checker) -> Checker:
    def check_range(value: Any) -> str:
        return check(value) or ("" if -LARGEST < value < LARGEST else "a number that is too large, or not a number")

    return check_range


def _inner_checker(kind: Any, arguments: tuple[Any, ...]) -> Checker | None:
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        names = [name for name, hint in hints.items() if not name.startswith("_") and get_origin(hint) is not ClassVar]
        return lambda value: first(
            f"{problem} ({kind.__name__}.{name})"
            for name in names
            if (problem := _checker(hints[name])(getattr(value, name)))
        )
    if kind in (dict, Mapping):
        keys, values = map(_checker, arguments)
        return lambda value: (
            first(map(keys, value)) or ("" if values is _accept else first(map(values, value.values())))
        )
    if kind in (tuple, list):
        items = _checker(arguments[0])
        return lambda value: first(map(items, value))
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


def first(problems: Iterable[str]) -> str:
    """Return the first problem, or "" if there is none."""
    return next(filter(None, problems), "")


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiouAEIOU' else 'a'} {noun}"
