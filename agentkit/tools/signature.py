"""Read the signature of a function that is to be a tool, when the tool is made; pydantic is not needed for it."""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentkit.errors import UsageError
from agentkit.tools import docstring

_MOST_FRAMES = 20


@dataclass(slots=True)
class Signature:
    """The signature of a function, read when the tool is made; its types may wait until they are defined."""

    name: str
    function: Callable[..., Any]
    parameters: tuple[inspect.Parameter, ...]
    open: bool
    hints: dict[str, Any] | None
    about: str
    said: dict[str, str]

    @property
    def is_method(self) -> bool:
        """Whether it was written as a method, to be bound to its toolbox."""
        return bool(self.parameters) and self.parameters[0].name == "self"

    @property
    def taken(self) -> tuple[inspect.Parameter, ...]:
        """The parameters that a model fills in."""
        return self.parameters[1:] if self.is_method else self.parameters


def signature_of(function: Callable[..., Any], name: str) -> Signature:
    """Read a signature and its docstring. Raises `UsageError` where a model could not call such a function."""
    try:
        parameters = tuple(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        reason = f"tool {name!r} has no readable signature ({error}); wrap it in a function with named parameters"
        raise UsageError(reason) from None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        raise UsageError(f"tool {name!r} takes *args, which a model cannot name; give it named parameters, or one list")
    is_open = any(p.kind is p.VAR_KEYWORD for p in parameters)
    named = tuple(p for p in parameters if p.kind is not p.VAR_KEYWORD)
    about, said = docstring.read(
        inspect.getdoc(function) if not isinstance(function, functools.partial) else function.func.__doc__
    )
    return Signature(name, function, named, is_open, hints_of(function), about, said)


def hints_of(function: Callable[..., Any]) -> dict[str, Any] | None:
    """Resolve the annotations, with the local names of the functions around it; None where a name is not defined yet."""
    inner = inspect.unwrap(function.func if isinstance(function, functools.partial) else function)
    if inspect.isclass(inner):
        inner = inner.__init__
    elif not inspect.isroutine(inner):
        inner = type(inner).__call__
    try:
        return typing.get_type_hints(inner, include_extras=True)
    except NameError:
        pass
    known: dict[str, Any] = {}
    frame = sys._getframe(1)
    for _ in range(_MOST_FRAMES):
        if frame.f_globals is getattr(inner, "__globals__", None):
            known = {**frame.f_locals, **known}
        if frame.f_back is None:
            break
        frame = frame.f_back
    try:
        return typing.get_type_hints(inner, localns=known, include_extras=True)
    except NameError:
        return None


def called(function: Any) -> Any:
    """Give what really runs: the function in a partial, or the `__call__` of an object."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if inspect.isroutine(function) or inspect.isclass(function) else type(function).__call__


def by_name(function: Callable[..., Any], signature: Signature) -> Callable[..., Any]:
    """Let positional-only parameters be given by name."""
    positional = [p for p in signature.parameters if p.kind is p.POSITIONAL_ONLY]
    if not positional:
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = list(args)
        for parameter in positional[len(args) :]:
            if parameter.name not in kwargs and parameter.default is parameter.empty:
                break
            given.append(kwargs.pop(parameter.name, parameter.default))
        return function(*given, **kwargs)

    return call
