"""Engines by name, and facts about an engine: its parameters, their ranges, its source, and its cost.

The annotation of a parameter says what it accepts: a range as in `Annotated[int, Ge(1)]`, a choice as in
`Literal["a", "b"]`, a nested engine as `Loop`.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentkit.config import load_plugin, plugins
from agentkit.core.schema import KeysOf
from agentkit.core.steps import Loop
from agentkit.errors import OptionError, Unknown, UsageError

_NAMES = (
    *("react", "chain_of_thought", "plan_and_execute", "reflexion", "self_ask", "critic", "tree_of_thoughts", "dag"),
    *("auto", "self_refine", "rewoo"),
)
ENGINES = {name: f"agentkit.engines.{name}:{name}" for name in _NAMES}
"""The engines of this package, by name, with their import paths."""

ALIASES = {
    "ovos-react-loop": "react",
    "ovos-chain-of-thought-loop": "chain_of_thought",
    "ovos-plan-execute-loop": "plan_and_execute",
    "ovos-reflexion-loop": "reflexion",
    "ovos-self-ask-loop": "self_ask",
    "ovos-critic-loop": "critic",
    "ovos-tree-of-thoughts-loop": "tree_of_thoughts",
}
"""The ids that other systems use for these engines."""

Engine = Callable[..., Any]
"""A generator function that takes a task and options, and returns an engine."""


@dataclass(slots=True)
class Configured:
    """An engine with options that have been checked.

    `options` are JSON data; a nested engine is a name or a spec such as `{"engine": "react", "max_iterations": 5}`.
    `given` holds the nested engines that were passed as functions, by import path, because some cannot be imported by
    it.
    """

    engine: Engine
    path: str
    options: dict[str, Any]
    given: dict[str, Engine] = field(default_factory=dict)


# -- finding -----------------------------------------------------------------------------------------------------------


def find(engine: Any) -> tuple[Engine, str]:
    """Return an engine and its import path, for a name, an import path ("module:function") or a generator function.

    Raises `Unknown` for a name that no engine has, `UsageError` for anything that is not an engine.
    """
    if isinstance(engine, str):
        path = ENGINES.get(ALIASES.get(engine, engine), engine)
        module, _, name = path.partition(":")
        if not name:
            plugin = load_plugin("engines", engine)
            if plugin is None:
                raise Unknown("engine", engine, [*ENGINES, *ALIASES, *plugins("engines")])
            return find(plugin)
        try:
            return getattr(importlib.import_module(module), name), path
        except (ImportError, AttributeError) as error:
            raise Unknown("engine", engine, ENGINES) from error
    if not inspect.isgeneratorfunction(engine):
        raise UsageError(f"an engine must be a generator function (it yields steps), not {engine!r}")
    return engine, f"{engine.__module__}:{engine.__qualname__}"


def load_engine(name: str) -> Engine:
    """Return the engine of a name, an id of another system, an entry point, or an import path. Raises `Unknown`."""
    return find(name)[0]


# -- parameters --------------------------------------------------------------------------------------------------------


@functools.cache
def parameters(engine: Engine) -> tuple[str, ...]:
    """Return the names of an engine's parameters, without the first one, which is the task."""
    names = list(inspect.signature(engine).parameters.values())[1:]
    return tuple(parameter.name for parameter in names if parameter.kind is not parameter.VAR_KEYWORD)


@functools.cache
def takes_any(engine: Engine) -> bool:
    """Return whether an engine takes options of any name, as in `def engine(task, **options)`."""
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in inspect.signature(engine).parameters.values())


def defaults(engine: Any) -> dict[str, Any]:
    """Return the default values of an engine's parameters."""
    function, _ = find(engine)
    known = inspect.signature(function).parameters
    return {name: known[name].default for name in parameters(function)}


@functools.cache
def _annotations(engine: Engine) -> dict[str, Any]:
    """Return the evaluated annotations of the parameters; one that cannot be evaluated is left out."""
    written = inspect.get_annotations(engine)
    evaluated: dict[str, Any] = {}
    for name in parameters(engine):
        alone = type("alone", (), {"__annotations__": {name: written[name]} if name in written else {}})
        try:
            evaluated |= inspect.get_annotations(alone, globals=getattr(engine, "__globals__", {}), eval_str=True)
        except Exception:  # a type that only the engine's own module, or a type checker, knows
            continue
    return evaluated


@functools.cache
def loops(engine: Engine) -> frozenset[str]:
    """Return the names of the parameters that take an engine: those that are annotated with `Loop`."""
    return frozenset(name for name, hint in _annotations(engine).items() if Loop in _members(hint))


def _members(hint: Any) -> tuple[Any, ...]:
    """Return the types that an annotation allows: the members of a union, without `Annotated`."""
    if typing.get_origin(hint) is typing.Annotated:
        return _members(typing.get_args(hint)[0])
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return tuple(member for part in typing.get_args(hint) for member in _members(part))
    return (hint,)


def check(engine: Engine, options: Mapping[str, Any]) -> None:
    """Check the options of an engine. Raises `Unknown` for an unknown name, `OptionError` for a value out of range."""
    known, hints, nested = parameters(engine), _annotations(engine), loops(engine)
    for name, value in options.items():
        if name not in known and not takes_any(engine):
            raise Unknown("option", name, known, of=f"the engine {engine.__name__}")
        if name in hints and name not in nested:
            check_value(name, value, hints[name])


def check_value(name: str, value: Any, hint: Any) -> None:
    """Check a value against an annotation. Raises `OptionError`, which says what the value must be."""
    from pydantic import ValidationError

    try:
        _adapter(hint).validate_python(value, strict=True)
    except ValidationError as error:
        raise OptionError(_refusal(name, value, error.errors())) from None
    for mark in getattr(hint, "__metadata__", ()):
        if isinstance(mark, KeysOf):
            mark.check(name, value)


WRONG_TYPE = {
    "bool_type": "True or False",
    "int_type": "an integer",
    "float_type": "a number",
    "string_type": "a string",
    "dict_type": "a dict",
    "list_type": "a list",
    "tuple_type": "a tuple",
    "set_type": "a set",
    "frozen_set_type": "a set",
    "callable_type": "a function",
    "string_too_short": "a string that is not empty",
}
"""The expected type, by the name of pydantic's error."""

CLASSES = {"PathLike": "a path", "Collection": "a list, tuple or set", "Sequence": "a list", "Mapping": "a dict"}


def _refusal(name: str, value: Any, errors: list[Any]) -> str:
    """Return a sentence that says what an option must be. Each type of a union has its own error."""
    if inside := [error for error in errors if any(isinstance(part, int) for part in error["loc"])]:
        errors, name = inside, f"an item of {name}"
    elif errors[0]["loc"][-1:] == ("[key]",):
        name = f"a key of {name}"
    types = [_expected_type(error) for error in errors]
    if all(types):
        *others, last = dict.fromkeys(types)
        expected = f"{', '.join(others)} or {last}" if others else last
    else:
        message = next(error["msg"] for error, kind in zip(errors, types, strict=True) if not kind)
        message = message.replace("greater than or equal to", "at least").replace("less than or equal to", "at most")
        expected = message.removeprefix("Input should be ").removeprefix("Value error, ")
    return f"{name} must be {expected}, not {value!r:.200}"


def _expected_type(error: Any) -> str:
    """Return the type that an error expects, or "" if the error is not about the type of the value."""
    context = error.get("ctx") or {}
    if cls := context.get("class") or context.get("class_name"):
        return CLASSES.get(cls, f"a {cls}")
    return WRONG_TYPE.get(error["type"], "")


@functools.lru_cache(maxsize=256)
def _adapter(hint: Any) -> Any:
    from pydantic import ConfigDict, TypeAdapter

    return TypeAdapter(hint, config=ConfigDict(arbitrary_types_allowed=True))


# -- engines within engines --------------------------------------------------------------------------------------------


def configure(engine: Any, within: str = "engine") -> Configured:
    """Return an engine with checked options, for a name, a function, a `Loop`, or a spec with the key "engine".

    Raises `Unknown`, `UsageError` or `OptionError`.
    """
    if isinstance(engine, Loop):
        return _configured(engine.engine, engine.options)
    if isinstance(engine, functools.partial) and not engine.args:
        return _configured(engine.func, engine.keywords)
    if isinstance(engine, Mapping):
        if "engine" not in engine:
            raise UsageError(
                f'{within} must be an engine, or a spec such as {{"engine": "react", …}}, not {engine!r:.200}'
            )
        return _configured(engine["engine"], {name: value for name, value in engine.items() if name != "engine"})
    return _configured(engine, {})


def _configured(engine: Any, options: Mapping[str, Any]) -> Configured:
    function, path = find(engine)
    check(function, options)
    configured = Configured(function, path, dict(options))
    for name in loops(function) & options.keys():
        configured.options[name] = _spell(name, options[name], configured.given)
    return configured


def _spell(name: str, engine: Any, given: dict[str, Engine]) -> Any:
    """Return a nested engine as JSON data; if it was passed as a function, add that to `given`."""
    if engine is None:
        return None
    inner = configure(engine, name)
    given.update(inner.given)
    own_name = next((known for known, path in ENGINES.items() if path == inner.path), inner.path)
    if callable(_named(engine)):
        given[inner.path] = inner.engine
    else:
        own_name = _named(engine)
    return {"engine": own_name, **inner.options} if inner.options or isinstance(engine, Mapping) else own_name


def _named(engine: Any) -> Any:
    """Return the name or function of the engine in a `Loop`, a partial or a spec."""
    if isinstance(engine, Loop):
        return engine.engine
    if isinstance(engine, functools.partial):
        return engine.func
    return engine["engine"] if isinstance(engine, Mapping) else engine


def build(engine: Engine, options: Mapping[str, Any], given: Mapping[str, Engine]) -> dict[str, Any]:
    """Return the arguments for options that are JSON data, with a `Loop` instead of each name or spec of an engine."""
    return {**options, **{name: _build(options[name], given) for name in loops(engine) & options.keys()}}


def _build(spec: Any, given: Mapping[str, Engine]) -> Loop | None:
    if spec is None:
        return None
    if isinstance(spec, Mapping):
        inner = _build(spec["engine"], given)
        assert inner is not None and callable(inner.engine)
        options = {name: value for name, value in spec.items() if name != "engine"}
        return Loop(inner.engine, **build(inner.engine, options, given))
    return Loop(given[spec] if spec in given else find(spec)[0])


# -- before and after a run --------------------------------------------------------------------------------------------


def forecast(engine: Engine, options: Mapping[str, Any]) -> str:
    """Return how many model calls a run may take, if the engine has a function `cost` that can tell; otherwise ""."""
    cost = getattr(engine, "cost", None)
    if cost is None:
        return ""
    known = inspect.signature(cost).parameters
    calls = cost(**{name: value for name, value in options.items() if name in known})
    number = "more than a million" if calls > 1_000_000 else f"at most {calls}"
    return f"{number} model calls if it finds no answer earlier"


def check_recorded(engine: Engine, spec: Mapping[str, Any]) -> None:
    """Check that an engine has the options that a run was started with. Raises `UsageError` if not."""
    for name, value in spec["options"].items():
        if name not in parameters(engine) and not takes_any(engine):
            raise UsageError(
                f"the run was started with {name}={value!r}, but {engine.__name__} has no such option: resume it with "
                f"the engine {spec['engine']}, or with another one that has this option"
            )


@functools.cache
def source(engine: Engine) -> dict[str, Any]:
    """Return an engine's source text and its digest; both are those of an empty text if the source is not available."""
    try:
        text = inspect.getsource(engine)
    except (OSError, TypeError):
        text = ""
    return {"source": text, "source_digest": hashlib.sha256(text.encode()).hexdigest()[:32]}


OTHER_NAMES = {
    **dict.fromkeys(("system", "system_prompt", "prompt"), "use instructions=…"),
    **dict.fromkeys(("temperature", "max_tokens", "top_p", "seed"), 'use settings={{"{name}": …}}'),
    **dict.fromkeys(("api_key", "base_url"), "use Agent(OpenAI(…, {name}=…))"),
}
"""The names that options have in other libraries, and what to write here instead."""


def hint_for(name: str, engine: Engine) -> str:
    """Return what to write instead of an option that an agent does not have, or "" if nothing is known."""
    if name in ("max_steps", "max_turns") and name not in parameters(engine):
        name = "max_iterations"
    if name in parameters(engine):
        known = f'"{engine.__name__}"' if engine.__name__ in ENGINES else engine.__name__
        return f"use engine=Loop({known}, {name}=…)"
    return OTHER_NAMES.get(name, "").format(name=name)
