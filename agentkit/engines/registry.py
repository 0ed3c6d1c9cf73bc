"""Engines by name, and what is known of an engine: its parameters, their ranges, its source, what it may cost."""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agentkit.config import load_plugin, plugins
from agentkit.errors import Unknown, UsageError

_OWN = (
    "react",
    "chain_of_thought",
    "plan_and_execute",
    "reflexion",
    "self_ask",
    "critic",
    "tree_of_thoughts",
    "dag",
    "auto",
    "self_refine",
    "rewoo",
)
Loops = Mapping[str, Callable[..., Any]]
"""Engines that were given as functions, by import path."""

ENGINES = {name: f"agentkit.engines.{name}:{name}" for name in _OWN}
"""The engines of this package, by name."""

ALIASES = {
    "ovos-react-loop": "react",
    "ovos-chain-of-thought-loop": "chain_of_thought",
    "ovos-plan-execute-loop": "plan_and_execute",
    "ovos-reflexion-loop": "reflexion",
    "ovos-self-ask-loop": "self_ask",
    "ovos-critic-loop": "critic",
    "ovos-tree-of-thoughts-loop": "tree_of_thoughts",
}
"""Ids under which other systems know these engines."""

OF_OTHERS = {
    **dict.fromkeys(("system", "system_prompt", "prompt"), ("instructions", "instructions")),
    **dict.fromkeys(("max_steps", "max_turns"), ("max_iterations", "max_iterations")),
    **dict.fromkeys(("temperature", "max_tokens", "top_p", "seed"), ("settings", 'settings={{"{name}": …}}')),
    **dict.fromkeys(("api_key", "base_url"), ("settings", "Agent(OpenAI(…, {name}=…))")),
}
"""Names that options have elsewhere: the one that must be known here, and what to write."""

AT_LEAST = {
    "max_iterations": 1,
    "max_steps": 1,
    "max_step_iterations": 1,
    "max_reflections": 1,
    "max_follow_ups": 1,
    "max_critique_rounds": 1,
    "max_refinements": 1,
    "max_replans": 0,
    "max_parallel": 1,
    "n_branches": 1,
    "beam_width": 1,
    "max_depth": 1,
}
"""The least value of the parameters that count something."""

AT_MOST = {"n_branches": 1_000}
"""The most of what is asked for all at once, before anybody can pause."""

BETWEEN = {"threshold": (0, 1), "min_confidence": (0, 1), "min_score": (0, 10)}
"""The range of the parameters that measure something, in engines of this package."""

ONE_OF = {"search": ("beam", "dfs"), "force_answer": (True, False), "replan": (True, False)}
"""The values of the parameters that choose something, in engines of this package."""


def find(engine: Any) -> tuple[Callable[..., Any], str]:
    """Give an engine and its import path, for a name, an import path ("module:function"), or a generator function."""
    if isinstance(engine, str):
        path = ENGINES.get(ALIASES.get(engine, engine), engine)
        module, _, name = path.partition(":")
        if not name:
            return _plugged(engine)
        try:
            return getattr(importlib.import_module(module), name), path
        except (ImportError, AttributeError) as error:
            raise Unknown("engine", engine, ENGINES) from error
    if not inspect.isgeneratorfunction(engine):
        raise UsageError(f"an engine is a generator function (it yields steps), not {engine!r}")
    return engine, f"{engine.__module__}:{engine.__qualname__}"


def _plugged(name: str) -> tuple[Callable[..., Any], str]:
    """Give the engine that another package brings under this name."""
    engine = load_plugin("engines", name)
    if engine is None:
        raise Unknown("engine", name, [*ENGINES, *ALIASES, *plugins("engines")])
    return find(engine)


def load_engine(name: str) -> Callable[..., Any]:
    """Give the engine of a name, an id of another system, an entry point, or an import path. Raises `Unknown`."""
    return find(name)[0]


@functools.cache
def parameters(engine: Callable[..., Any]) -> tuple[str, ...]:
    """Name an engine's parameters, after the task."""
    return tuple(inspect.signature(engine).parameters)[1:]


def defaults(engine: Any) -> dict[str, Any]:
    """Give the values that an engine's parameters have when nothing else is said."""
    known = inspect.signature(find(engine)[0]).parameters
    return {name: known[name].default for name in parameters(find(engine)[0])}


@functools.cache
def loops(engine: Callable[..., Any]) -> frozenset[str]:
    """Name the parameters that take an engine: those annotated as `Loop`, and those that have one by default."""
    known = inspect.signature(engine).parameters.values()
    return frozenset(p.name for p in known if "Loop" in str(p.annotation) or inspect.isgeneratorfunction(p.default))


def _meant(name: str, known: list[str]) -> str:
    """Give what somebody means who calls an option as other libraries do; "" where that is not to be had."""
    here, written = OF_OTHERS.get(name, ("", ""))
    return written.format(name=name) if here in known else ""


def check(engine: Callable[..., Any], options: Mapping[str, Any], others: Iterable[str] = ()) -> None:
    """Check an engine's parameters. Raises `Unknown` for a name it does not have, `ValueError` for a value out of range."""
    known = parameters(engine)
    for name, value in options.items():
        if name not in known:
            all_known = [*known, *others]
            raise Unknown("option", name, all_known, _meant(name, all_known))
        if name in AT_LEAST:
            _check_count(name, value)
        if name == "force_answer" and not isinstance(value, bool):
            raise ValueError(f"{name} is True or False, not {value!r}")
        if engine.__module__.startswith("agentkit.engines."):
            _check_own(engine, name, value)


def _check_count(name: str, value: Any) -> None:
    if not (isinstance(value, int) and not isinstance(value, bool) and value >= AT_LEAST[name]):
        raise ValueError(f"{name} is a whole number of at least {AT_LEAST[name]}, not {value!r}")
    if value > AT_MOST.get(name, value):
        raise ValueError(f"{name} is at most {AT_MOST[name]:,}, not {value!r}")


def _check_own(engine: Callable[..., Any], name: str, value: Any) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if name in BETWEEN and not (name == "threshold" and value is None):
        low, high = BETWEEN[name]
        if not (number and low <= value <= high):
            raise ValueError(f"{name} is a number from {low} to {high}, not {value!r}")
    if name in ONE_OF and not any(value is one or (isinstance(one, str) and value == one) for one in ONE_OF[name]):
        raise ValueError(f"{name} is one of {', '.join(map(repr, ONE_OF[name]))}, not {value!r}")
    if name == "step_timeout" and value is not None and not (number and 0 < value < math.inf):
        raise ValueError(f"{name} is a number of seconds above 0, or None, not {value!r}")
    if name == "lessons" and not (hasattr(value, "recall") or _is_texts(value)):
        raise ValueError(f"{name} is a list of texts, or a store of them, not {value!r:.200}")
    if name == "prompts" and value is not None:
        own = sys.modules[engine.__module__].PROMPTS
        for key, prompt in value.items() if isinstance(value, Mapping) else [(value, None)]:
            if key not in own or not isinstance(prompt, str):
                raise ValueError(f"prompts is a dict of texts for some of {', '.join(own)}, not {value!r:.200}")


def _is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)


# -- engines within engines ----------------------------------------------------------------------------------------------


def spell(
    engine: Callable[..., Any], options: Mapping[str, Any], others: Iterable[str] = ()
) -> tuple[dict[str, Any], Loops]:
    """Check options and give them as JSON data: an engine becomes its name, or a spec such as `{"engine": "react", …}`.

    Beside them the engines that were given as functions, by import path, for `build`: some can be found nowhere else.
    """
    check(engine, options, others)
    known: dict[str, Callable[..., Any]] = {}
    plain = {name: dict(value) if isinstance(value, Mapping) else value for name, value in options.items()}
    return plain | {name: _spell_loop(name, options[name], known) for name in loops(engine) & options.keys()}, known


def _spell_loop(name: str, value: Any, known: dict[str, Callable[..., Any]]) -> Any:
    if value is None:
        return None
    if isinstance(value, functools.partial) and not value.args:
        value = {"engine": value.func, **value.keywords}
    if isinstance(value, Mapping):
        if "engine" not in value:
            raise UsageError(f'{name} is an engine, or a spec such as {{"engine": "react", …}}, not {value!r:.200}')
        more, found = spell(find(value["engine"])[0], {key: inner for key, inner in value.items() if key != "engine"})
        known |= found
        return {"engine": _spell_loop(name, value["engine"], known), **more}
    function, path = find(value)
    if isinstance(value, str):
        return value
    known[path] = function
    return next((own for own, where in ENGINES.items() if where == path), path)


def build(engine: Callable[..., Any], options: Mapping[str, Any], known: Loops) -> dict[str, Any]:
    """Give the arguments that options in JSON stand for: engines in the place of their names and specs."""
    return {**options, **{name: _build_loop(options[name], known) for name in loops(engine) & options.keys()}}


def _build_loop(value: Any, known: Loops) -> Any:
    if value is None:
        return None
    if isinstance(value, Mapping):
        function = _build_loop(value["engine"], known)
        more = {key: inner for key, inner in value.items() if key != "engine"}
        return functools.partial(function, **build(function, more, known))
    return known[value] if value in known else find(value)[0]


def forecast(engine: Callable[..., Any], options: Mapping[str, Any]) -> str:
    """Say how many model calls a run may take, where the engine can tell beforehand: its module counts them in `cost`."""
    count = getattr(sys.modules.get(engine.__module__), "cost", None)
    if count is None or not engine.__module__.startswith("agentkit.engines."):
        return ""
    own = {name: value for name, value in options.items() if name in inspect.signature(count).parameters}
    calls = count(**own)
    return f"{'more than a million' if calls > 1_000_000 else f'at most {calls}'} model calls, when no answer is found on the way"


def check_recorded(engine: Callable[..., Any], spec: dict[str, Any]) -> None:
    """See that an engine has the options with which a run was started. Raises `UsageError`."""
    for name, value in spec["options"].items():
        if name not in parameters(engine):
            raise UsageError(
                f"the run was started with {name}={value!r}, and {engine.__name__} knows no such option: resume it with "
                f"the engine {spec['engine']}, or with another one that has it"
            )


@functools.cache
def source(engine: Callable[..., Any]) -> dict[str, Any]:
    """Give an engine's source text and its digest; empty where Python does not have it."""
    try:
        text = inspect.getsource(engine)
    except (OSError, TypeError):
        text = ""
    return {"source": text, "source_digest": hashlib.sha256(text.encode()).hexdigest()[:32]}
