"""What makes two runs of an experiment the same run: a digest of the agent, of its code, and of the task.

The code of tools, models and scores counts: it is the compiled code of the function, and of the functions, texts and
numbers around it that it uses. A comment or a blank line changes nothing. Lists, dicts and objects around it do not
count, because they often change while runs go on; neither does the code of a library that it calls.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import os
import types
from collections.abc import Mapping
from typing import Any

from agentkit.agent.agent import Agent
from agentkit.core.lessons import LessonStore
from agentkit.core.messages import canonical, digest
from agentkit.engines import registry
from agentkit.models.base import name_of
from agentkit.tools.tool import Tool

_DEPTH = 8
_NOT_THE_RUN = ("journal", "audit", "on_event", "on_step", "raise_errors", "steering", "roles")
"""Options of an agent that do not change what its runs do, or that are looked at apart."""


def identity_of_agent(agent: Agent) -> str:
    """Return a digest of all that decides how the runs of an agent go."""
    options = {name: value for name, value in agent.options.items() if name not in _NOT_THE_RUN and value is not None}
    return _digest(
        {
            "engine": [agent.engine_name, registry.source(agent.engine)["source_digest"]],
            "engine options": content(agent.engine_options),
            "loops": sorted(
                [name, registry.source(engine)["source_digest"]] for name, engine in agent.given_loops.items()
            ),
            "tools": [content(tool) for tool in agent.tools.tools],
            "model": identity_of_model(agent.model),
            "roles": {role: identity_of_model(model) for role, model in agent.roles.items()},
            "options": content(options),
        }
    )


def identity_of_code(function: Any) -> str:
    """Return a digest of a function, or of a callable object, that changes with what it does."""
    return _digest(content(function))


def content(value: Any, depth: int = _DEPTH) -> Any:
    """Return a value as JSON data that is equal for what does the same."""
    if value is None or isinstance(value, bool | int | float | str):
        return value if not isinstance(value, float) else repr(value)
    if depth <= 0:
        return _name(type(value))
    inside = functools.partial(content, depth=depth - 1)
    if isinstance(value, Mapping):
        return {str(key): inside(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [inside(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted((inside(each) for each in value), key=repr)
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, os.PathLike):
        return str(value)
    if isinstance(value, Tool):
        return [value.name, value.digest, value.effect, value.repeat, value.approve, inside(value.function)]
    if isinstance(value, LessonStore):
        return _name(type(value))
    if isinstance(value, functools.partial):
        return [inside(value.func), inside(value.args), inside(value.keywords)]
    if isinstance(value, types.MethodType):
        return [_name(type(value.__self__)), inside(value.__func__)]
    if isinstance(value, types.FunctionType):
        return _function(value, depth)
    if isinstance(value, type | types.ModuleType | types.BuiltinFunctionType):
        return _name(value)
    if dataclasses.is_dataclass(value):
        fields = [field.name for field in dataclasses.fields(value) if not field.name.startswith("_")]
        return [_name(type(value)), {name: inside(getattr(value, name)) for name in fields}]
    if isinstance(own := getattr(value, "identity", None), str):
        return [_name(type(value)), own]
    call = vars(type(value)).get("__call__")
    return [_name(type(value)), inside(call) if isinstance(call, types.FunctionType) else ""]


def _function(function: types.FunctionType, depth: int) -> Any:
    inner: Any = inspect.unwrap(function)
    if not isinstance(inner, types.FunctionType):
        return content(inner, depth - 1)
    function = inner
    cells = [_cell(cell, depth) for cell in function.__closure__ or ()]
    code = function.__code__
    around = {name: function.__globals__.get(name) for name in sorted(_names(code))}
    used = {name: _constant(value, depth) for name, value in around.items()}
    defaults = content([function.__defaults__, function.__kwdefaults__], depth - 1)
    return [_code(code), defaults, cells, {name: each for name, each in used.items() if each is not None}]


def _cell(cell: Any, depth: int) -> Any:
    try:
        return _constant(cell.cell_contents, depth)
    except ValueError:  # it is empty: the function refers to itself, or to what is not defined yet
        return None


def _constant(value: Any, depth: int) -> Any:
    """Return what counts of a value around a function: what cannot change, and functions; None for anything else."""
    if isinstance(value, str | int | float | bool | bytes | tuple | frozenset | types.FunctionType | functools.partial):
        return content(value, depth - 2)
    if isinstance(value, Tool):
        return content(value, depth - 2)
    return _name(value) if isinstance(value, type | types.ModuleType) else None


def _names(code: types.CodeType) -> set[str]:
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _code(code: types.CodeType) -> Any:
    constants = [_code(each) if isinstance(each, types.CodeType) else content(each, 3) for each in code.co_consts]
    return [hashlib.sha256(code.co_code).hexdigest(), list(code.co_names), list(code.co_varnames), repr(constants)]


def identity_of_model(model: Any) -> Any:
    """Return what counts of a model: its name, its settings, where it is, and if it is a function, its code."""
    about = {name: content(getattr(model, name, None), 3) for name in ("settings", "url", "abilities")}
    return [name_of(model), _name(type(model)), about, content(model) if inspect.isroutine(model) else ""]


def _name(value: Any) -> str:
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '') or getattr(value, '__name__', '')}"


def _digest(data: Any) -> str:
    return digest(canonical(data))
