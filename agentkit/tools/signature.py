"""Read the signature of a function that becomes a tool.

This happens when the tool is made, and does not load pydantic.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from agentkit.errors import UsageError
from agentkit.tools import docstring


@dataclass(slots=True)
class Signature:
    """The signature of a function, with what its docstring says about it.

    `accepts_extra` is true for a function with `**kwargs`. `hints` are the annotations by name; `unresolved` gives the
    reason for each annotation that cannot be resolved, such as a type that is not defined yet.
    """

    tool: str
    function: Callable[..., Any]
    parameters: tuple[inspect.Parameter, ...]
    accepts_extra: bool
    description: str
    parameter_descriptions: dict[str, str]
    hints: dict[str, Any]
    unresolved: dict[str, str]

    @property
    def is_method(self) -> bool:
        """Whether the function takes the object first, as `self`, if it is an attribute of a class."""
        first = self.parameters[0] if self.parameters else None
        return first is not None and first.name == "self" and first.kind is not first.KEYWORD_ONLY

    def without_self(self) -> Signature:
        """Return the signature of the bound method."""
        return replace(self, parameters=self.parameters[1:])

    def resolve(self) -> None:
        """Look again for the types that were not defined when the tool was made."""
        if self.unresolved:
            self.hints, self.unresolved = resolve_hints(self.function)


def read_signature(function: Callable[..., Any], tool: str) -> Signature:
    """Return the signature of the function of a tool. Raises `UsageError` if a model could not call this function."""
    try:
        parameters = tuple(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"tool {tool!r} has no readable signature ({error}); wrap it in a function with named parameters"
        ) from None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        raise UsageError(f"tool {tool!r} takes *args, which a model cannot name; give it named parameters, or one list")
    accepts_extra = any(p.kind is p.VAR_KEYWORD for p in parameters)
    named = tuple(p for p in parameters if p.kind is not p.VAR_KEYWORD)
    text = function.func.__doc__ if isinstance(function, functools.partial) else inspect.getdoc(function)
    description, parameter_descriptions = docstring.parse(text)
    return Signature(
        tool, function, named, accepts_extra, description, parameter_descriptions, *resolve_hints(function)
    )


def resolve_hints(function: Callable[..., Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the annotations of a function by name, and for each that cannot be resolved the reason.

    Annotations that are texts (as all are after `from __future__ import annotations`) may name what is local to the
    functions around this one, as long as these are running.
    """
    inner = inspect.unwrap(underlying(function))
    if inspect.isclass(inner):
        inner = inner.__init__
    try:
        return typing.get_type_hints(inner, include_extras=True), {}
    except Exception:  # an annotation that is a text is evaluated, which can raise anything
        pass
    hints: dict[str, Any] = {}
    unresolved: dict[str, str] = {}
    global_names, local_names = getattr(inner, "__globals__", {}), _enclosing_locals(getattr(inner, "__code__", None))
    for name, annotation in getattr(inner, "__annotations__", {}).items():
        alone = types.SimpleNamespace(__annotations__={name: annotation})
        try:
            hints |= typing.get_type_hints(alone, global_names, local_names, include_extras=True)
        except Exception as error:
            unresolved[name] = f"{type(error).__name__}: {error}"
    return hints, unresolved


def _enclosing_locals(code: types.CodeType | None) -> dict[str, Any]:
    """Return the local names of the functions and classes around a piece of code that are running now."""
    names: dict[str, Any] = {}
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if _encloses(frame.f_code, code):
            names = {**frame.f_locals, **names}
        frame = frame.f_back
    return names


def _encloses(outer: types.CodeType, code: types.CodeType | None) -> bool:
    inner = [constant for constant in outer.co_consts if isinstance(constant, types.CodeType)]
    return any(constant is code or _encloses(constant, code) for constant in inner)


def underlying(function: Any) -> Any:
    """Return what really runs: the function in a partial, or the `__call__` of an object."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if inspect.isroutine(function) or inspect.isclass(function) else type(function).__call__


def accept_names(function: Callable[..., Any], signature: Signature) -> Callable[..., Any]:
    """Return the function so that its positional-only parameters can be passed by name too."""
    positional = [p for p in signature.parameters if p.kind is p.POSITIONAL_ONLY]
    if not positional:
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        arguments = list(args)
        for parameter in positional[len(args) :]:
            if parameter.name not in kwargs and parameter.default is parameter.empty:
                break
            arguments.append(kwargs.pop(parameter.name, parameter.default))
        return function(*arguments, **kwargs)

    return call
