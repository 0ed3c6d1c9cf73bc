"""Engines by name, and facts about an engine: its parameters, their ranges, its source, and its cost.

The annotation of a parameter says what it accepts: a range as in `Annotated[int, Ge(1)]`, a choice as in
`Literal["a", "b"]`, a nested engine as `Loop`.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import json
import types
import typing
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentkit.config import load_plugin, plugins
from agentkit.core.schema import Checked, KeysOf
from agentkit.core.steps import Loop
from agentkit.errors import OptionError, Unknown, UsageError, nearest
from agentkit.inert import for_terminal

_NAMES = (
    *("react", "chain_of_thought", "plan_and_execute", "reflexion", "self_ask", "critic", "tree_of_thoughts", "dag"),
    *("auto", "self_refine", "rewoo"),
)
ENGINES = {name: f"agentkit.engines.{name}:{name}" for name in _NAMES}
"""The engines of this package, by name, with their import paths."""

BUILT_IN = {**ENGINES, **{path: path for path in ENGINES.values()}}
"""The import paths of the engines of this package, by name and by import path."""

ALIASES = {
    "ovos-react-loop": "react",
    "ovos-native-toolcall-loop": "react",
    "ovos-chain-of-thought-loop": "chain_of_thought",
    "ovos-plan-execute-loop": "plan_and_execute",
    "ovos-reflexion-loop": "reflexion",
    "ovos-self-ask-loop": "self_ask",
    "ovos-critic-loop": "critic",
    "ovos-tree-of-thoughts-loop": "tree_of_thoughts",
    **{f"agentkit-{name.replace('_', '-')}": name for name in _NAMES},
}
"""The ids that other systems use for these engines."""

MAX_NESTED = 20
TOO_DEEP = f"engines can be nested at most {MAX_NESTED} levels deep"

ROLES = (
    *("analyze", "answer", "choose", "compact", "critique", "draft", "evaluate", "feedback", "follow_up", "guard"),
    *(
        "nudge",
        "plan",
        "propose",
        "reflect",
        "reformat",
        "revise",
        "self_check",
        "solve",
        "steps",
        "structured_thought",
    ),
    *("synthesize", "thought", "work"),
)
"""The roles of the thoughts of this package's engines and arounds; other engines may have others."""

LOOP_LIMITS = "max_iterations", "max_steps", "max_follow_ups", "max_critique_rounds", "max_refinements", "max_depth"
"""The options that limit the outermost loop of an engine; if it has several, the first one does."""

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

    An import path runs code, so only a person may write it; for the names in files there is `registered`.
    Raises `Unknown` for a name that no engine has, `UsageError` for anything that is not an engine.
    """
    if isinstance(engine, str):
        if ":" in engine:
            return _imported(engine), engine
        found = registered(engine)
        if found is None:
            raise Unknown("engine", engine, [*ENGINES, *ALIASES, *plugins("engines")])
        return find(found)
    if not inspect.isgeneratorfunction(engine):
        raise UsageError(f"an engine must be a generator function (it yields steps), not {engine!r:.200}")
    return engine, f"{engine.__module__}:{engine.__qualname__}"


def _imported(path: str) -> Engine:
    """Return the engine at an import path. Raises `Unknown` or `UsageError`."""
    module, _, name = path.partition(":")
    try:
        engine = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise Unknown("engine", path, (), f"it cannot be imported: {error}") from error
    if not inspect.isgeneratorfunction(engine):
        raise UsageError(f"an engine must be a generator function (it yields steps), and {path} is not one")
    return engine


def registered(name: str) -> Engine | None:
    """Return the engine of this package, or of an installed plug-in, that a file names; None if it is not registered.

    Nothing else is imported. A name is an id ("react"), the id of another system, the name of an entry point, or the
    import path of one of these engines, which is what runs record.
    """
    if path := BUILT_IN.get(ALIASES.get(name, name)):
        module, _, attribute = path.partition(":")
        engine: Engine = getattr(importlib.import_module(module), attribute)
        return engine
    points = plugins("engines")
    own_name = next((known for known in points if name in (known, points[known].value)), None)
    plugin = load_plugin("engines", own_name) if own_name is not None else None
    return plugin if callable(plugin) else None


def loop_limit(engine: Engine) -> str:
    """Return the name of the option that limits the outermost loop of an engine. Raises `UsageError` if it has none."""
    for option in LOOP_LIMITS:
        if option in parameters(engine) or takes_any(engine):
            return option
    raise UsageError(f"the engine {engine.__name__} has no loop whose length could be limited")


def check_role(role: str, path: str) -> None:
    """Warn about a role that looks misspelled, for the import path of an engine: those of others may have any role."""
    if path in BUILT_IN and role not in ROLES and (meant := nearest(role, ROLES)):
        text = f"no thought of {path.rpartition(':')[2]} has the role {role!r}; did you mean {meant!r}?"
        warnings.warn(for_terminal(text), RuntimeWarning, stacklevel=3)


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
        if name not in known and (name == "task" or not takes_any(engine)):
            raise Unknown("option", name, known, of=f"the engine {engine.__name__}")
        if name in hints and name not in nested:
            check_value(name, value, hints[name])


def check_value(name: str, value: Any, hint: Any) -> None:
    """Check a value against an annotation. Raises `OptionError`, which says what the value must be.

    A list fits where the annotation says tuple or set: the options of a recorded run have been JSON.
    """
    from pydantic import ValidationError

    try:
        _adapter(hint).validate_python(value, strict=True)
    except ValidationError as error:
        if not isinstance(value, list | dict) or not _fits_as_json(value, hint):
            raise OptionError(_refusal(name, value, error.errors())) from None
    for mark in getattr(hint, "__metadata__", ()):
        if isinstance(mark, KeysOf | Checked):
            mark.check(name, value)


def read_number(value: Any, hint: Any) -> Any:
    """Return a value of a file as the number that its annotation wants: 4 for "4" or 4.0; else the value itself."""
    kinds = (int, float) if isinstance(value, str | float) and not _fits(value, hint) else ()
    for kind in kinds:
        try:
            number = kind(value)
        except (ValueError, OverflowError):
            continue
        if (isinstance(value, str) or number == value) and _fits(number, hint):
            return number
    return value


def _fits(value: Any, hint: Any) -> bool:
    try:
        check_value("", value, hint)
    except OptionError:
        return False
    return True


def annotation(engine: Engine, name: str) -> Any:
    """Return the evaluated annotation of a parameter of an engine; `Any` if it has none."""
    return _annotations(engine).get(name, Any)


def _fits_as_json(value: Any, hint: Any) -> bool:
    try:
        _adapter(hint).validate_json(json.dumps(value), strict=True)
    except (ValueError, TypeError, RecursionError):
        return False
    return True


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
    return _configure(engine, within, 0)


def _configure(engine: Any, within: str, depth: int) -> Configured:
    if depth > MAX_NESTED:
        raise OptionError(TOO_DEEP)
    if isinstance(engine, Loop):
        return _configured(engine.engine, engine.options, depth)
    if isinstance(engine, functools.partial) and not engine.args:
        return _configured(engine.func, engine.keywords, depth)
    if isinstance(engine, Mapping):
        if "engine" not in engine:
            raise UsageError(
                f'{within} must be an engine, or a spec such as {{"engine": "react", …}}, not {engine!r:.200}'
            )
        options = {name: value for name, value in engine.items() if name != "engine"}
        return _configured(engine["engine"], options, depth)
    return _configured(engine, {}, depth)


def _configured(engine: Any, options: Mapping[str, Any], depth: int) -> Configured:
    function, path = find(engine)
    check(function, options)
    configured = Configured(function, path, dict(options))
    for name in loops(function) & options.keys():
        configured.options[name] = _spell(name, options[name], configured.given, depth + 1)
    return configured


def _spell(name: str, engine: Any, given: dict[str, Engine], depth: int) -> Any:
    """Return a nested engine as JSON data, and add its function to `given` by the name that it has there."""
    if engine is None:
        return None
    inner = _configure(engine, name, depth)
    given.update(inner.given)
    own_name = next((known for known, path in ENGINES.items() if path == inner.path), inner.path)
    if not callable(_named(engine)):
        own_name = _named(engine)
    given[own_name] = inner.engine
    return {"engine": own_name, **inner.options} if inner.options or isinstance(engine, Mapping) else own_name


def _named(engine: Any) -> Any:
    """Return the name or function of the engine in a `Loop`, a partial or a spec."""
    if isinstance(engine, Loop):
        return engine.engine
    if isinstance(engine, functools.partial):
        return engine.func
    return engine["engine"] if isinstance(engine, Mapping) else engine


def build(engine: Engine, options: Mapping[str, Any], given: Mapping[str, Engine]) -> dict[str, Any]:
    """Return the arguments for options that are JSON data, with a `Loop` instead of each name or spec of an engine.

    The options may come from a file: a name means an engine of `given` or a registered one, and all options are
    checked like those of a call. Raises `Unknown`, `UsageError` or `OptionError`.
    """
    return _build(engine, options, given, 0)


def _build(engine: Engine, options: Mapping[str, Any], given: Mapping[str, Engine], depth: int) -> dict[str, Any]:
    check(engine, options)
    nested = loops(engine) & options.keys()
    return {**options, **{name: _built_loop(name, options[name], given, depth + 1) for name in nested}}


def _built_loop(name: str, spec: Any, given: Mapping[str, Engine], depth: int) -> Loop | None:
    if spec is None:
        return None
    if depth > MAX_NESTED:
        raise OptionError(TOO_DEEP)
    options = {key: value for key, value in spec.items() if key != "engine"} if isinstance(spec, Mapping) else {}
    wanted = spec.get("engine") if isinstance(spec, Mapping) else spec
    if not isinstance(wanted, str):
        raise UsageError(f'{name} must be an engine, or a spec such as {{"engine": "react", …}}, not {spec!r:.200}')
    engine = given.get(wanted) or registered(wanted)
    if engine is None:
        raise NotRegistered(wanted, name)
    return Loop(engine, **_build(engine, options, given, depth))


class NotRegistered(Unknown):
    """A file names a nested engine that is neither registered nor passed in by the person who opens the file."""

    def __init__(self, engine: str, option: str) -> None:
        super().__init__("engine", engine, (), f"a file cannot import code: {pass_it(option)}")


def pass_it(option: str = "") -> str:
    """Return how to open a file with an engine that is not registered, perhaps as an option of another engine."""
    passed = f"Loop(..., {option}=that function)" if option else "that function"
    return f"open it with Agent(..., engine={passed})"


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


def first_line(engine: Engine, text: str) -> int:
    """Return the number, in its file, of the first line of a recorded source text; 1 if the engine has changed since
    then, or its file is not available.
    """
    try:
        lines, number = inspect.getsourcelines(engine)
    except (OSError, TypeError):
        return 1
    return number if "".join(lines) == text else 1


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
