"""Check the arguments of what people call by hand: a misspelled name or a wrong type gets a sentence that says so.

Not for what a run calls often: the check takes some microseconds.
"""

from __future__ import annotations

import collections.abc
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from agentkit.errors import Unknown, UsageError, nearest

Function = TypeVar("Function", bound=Callable[..., Any])

_NAMES = {
    int: "an int",
    float: "a number",
    str: "a str",
    bool: "True or False",
    dict: "a dict",
    list: "a list",
    type(None): "None",
    collections.abc.Iterable: "a list",
    collections.abc.Mapping: "a dict",
    collections.abc.Callable: "a function",
}
"""What types are called in a sentence; others by their name."""


def checked(function: Function) -> Function:
    """Decorate a function or an `__init__` so that the names and types of its arguments are checked.

    The types are those of its annotations; containers are not looked into. Raises `Unknown` for the name of an
    argument, `UsageError` for a value of a wrong type; everything else is left to Python.
    """
    return _checked(function, _check_types)


def checked_names(function: Function) -> Function:
    """Decorate a function that checks the values of its arguments itself, so that their names are checked."""
    return _checked(function, lambda function, owner, given: None)


def _checked(function: Function, check_values: Callable[[Any, str, dict[str, Any]], None]) -> Function:
    signature = inspect.signature(function)
    parameters = signature.parameters.values()
    known = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name != "self"]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    is_init = function.__name__ == "__init__"

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        owner = type(args[0]).__name__ if is_init and args else function.__name__
        for name in () if takes_any else kwargs:
            if name not in known:
                raise Unknown("argument", name, known, of=owner)
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:  # too many, or too few: Python says which, unless one of them is misspelled
            given, left = {}, {p.name for p in parameters if p.default is p.empty} - kwargs.keys()
            for name in kwargs.keys() - known:
                if near := nearest(name, left):
                    raise Unknown("argument", name, known, f"did you mean {near!r}?", of=owner) from None
        check_values(function, owner, given)
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def _check_types(function: Callable[..., Any], owner: str, given: dict[str, Any]) -> None:
    for name, value in given.items():
        kinds = _kinds(function).get(name, ())
        if kinds and not isinstance(value, kinds):
            shown = [kind for kind in kinds if kind is not int or float not in kinds]
            expected = " or ".join(dict.fromkeys(_NAMES.get(kind, f"a {kind.__name__}") for kind in shown))
            raise UsageError(f"{name} of {owner} must be {expected}, not {value!r:.200}")


@functools.cache
def _kinds(function: Callable[..., Any]) -> dict[str, tuple[type, ...]]:
    """Return the types that each annotated parameter of a function may have; not those that cannot be checked."""
    try:
        hints = get_type_hints(function)
    except Exception:  # a name that is imported for type checkers only
        return {}
    return {name: kinds for name, hint in hints.items() if (kinds := _of(hint))}


def _of(hint: Any) -> tuple[type, ...]:
    """Return the types of an annotation, or an empty tuple if not all of them can be checked."""
    if get_origin(hint) in (Union, types.UnionType):
        parts = [_of(part) for part in get_args(hint)]
        return tuple(kind for part in parts for kind in part) if all(parts) else ()
    kind = get_origin(hint) or hint
    if kind is float:
        return (float, int)
    if not isinstance(kind, type) or kind in (Any, object) or getattr(kind, "_is_protocol", False):
        return ()
    return (kind,)
