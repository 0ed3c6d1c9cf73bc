"""What a run records about its agent, and how a recorded run gets the same agent again.

A recording names engines, models and tools, but it imports nothing and calls nothing: what it names is looked for among
the registered parts and in the opener's own agent. What is not found there is missing, and the run is read-only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, get_args

from agentkit.agent import arounds, lessons
from agentkit.agent import options as agent_options
from agentkit.agent.options import Options
from agentkit.config import plugins
from agentkit.core.messages import canonical
from agentkit.core.secrets import mask_json
from agentkit.core.steps import Loop
from agentkit.core.text import one_line
from agentkit.engines import registry
from agentkit.errors import AgentkitError, EngineError, ModelError, OptionError
from agentkit.journal.entries import Entry, Row
from agentkit.models import dialects, resolve
from agentkit.models.base import Abilities, Request, name_of
from agentkit.run.run import Missing
from agentkit.tools import builtin
from agentkit.tools.sources import Source
from agentkit.tools.tool import Effect, Tool
from agentkit.tools.toolset import ToolSet

Data = dict[str, Any]

OPTIONS = (
    *("roles", "settings", "max_tool_calls", "repair", "discover", "select_tools", "window", "compact"),
    *("clear_results", "offload", "revise_calls", "structured_thinking", "self_check", "check_completion"),
    *("completion_markers", "warn_cycles", "max_failures", "mark_results", "arounds"),
)
"""The options of an agent that change how a run goes, and that are recorded with it under `agent`."""


_PLAIN_MARKER = re.compile(r"(?:\\s\*|[^\\*+?{(|])*")
"""A marker whose only repetition is that of spaces, so that it is searched for in linear time."""


class Opener(Protocol):
    """What is needed of an agent that records or opens a run."""

    options: Options
    roles: dict[str, Any]
    engine: registry.Engine
    engine_name: str
    engine_options: Data
    named_model: Any
    tools: ToolSet
    given_tools: list[Tool | Source]
    given_loops: dict[str, registry.Engine]


@dataclass(slots=True)
class Restored:
    """How to open a recorded run: what to change about the opener's agent, and what is missing.

    `changes` are those of `Agent.using`.
    """

    changes: Data = field(default_factory=dict)
    missing: list[Missing] = field(default_factory=list)


# -- recording ---------------------------------------------------------------------------------------------------------


def about(agent: Opener) -> Data:
    """Return what a run records about the options of its agent: `agent` is the data, `needs` names the other options.

    An option that holds functions, objects or secrets cannot be recorded: it has to be given again. `needs` also names
    such options of the engine, as in "engine.rate".
    """
    data: Data = {}
    needs: list[str] = []
    for name in OPTIONS:
        value: Any = option(agent.options, name)
        if name == "roles":
            value = {role: name_of(model) for role, model in agent.roles.items()} or None
        if value is None or (value is False and name in arounds.DEFAULTS):
            continue
        try:
            data[name] = _plain(name, value)
        except TypeError:
            needs.append(name)
    needs += [
        f"engine.{name}" for name, value in lessons.with_lessons(agent.engine_options).items() if not _is_data(value)
    ]
    return {"agent": data, "needs": needs}


def option(options: Options, name: str) -> Any:
    """Return an option of an agent; if it was left out, the around that is on by default under this name, or None."""
    value: Any = options.get(name)
    return arounds.DEFAULTS.get(name) if value is None else value


def _plain(name: str, value: Any) -> Any:
    """Return an option as JSON data. Raises `TypeError` if it is not data, or if it holds a secret."""
    if name == "discover" and not isinstance(value, bool):
        raise TypeError("a recording must not name a folder of somebody else's disk")
    data = _json(value)
    if mask_json(data) != data:
        raise TypeError("a secret is not recorded")
    return data


def _is_data(value: Any) -> bool:
    try:
        _json(value)
    except TypeError:
        return False
    return True


def _json(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(_json(item) for item in value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{value!r:.100} is not data")


def first_spec(rows: Iterable[Row], run: str) -> Data | None:
    """Return what a run was started with; None if that is not recorded."""
    return next((row.result for row in rows if isinstance(row, Entry) and row.kind == "begin" and row.run == run), None)


IDENTITY = ("task", "engine", "options", "tools", "model", "dialect", "agent", "output")
"""What decides whether two runs of one name are the same run, of what a run records about its start."""


def started_differently(recorded: Data | None, spec: Data) -> str:
    """Return which part of a run's recorded start differs from the start of another one, as words; "" if none does.

    The lessons that a run is told do not count: other runs add to them.
    """
    if recorded is None:
        return "a start that is not recorded"
    for name in IDENTITY:
        parts = [mask_json(each.get(name)) for each in (recorded, spec)]
        if name == "options":
            parts = [{key: value for key, value in (part or {}).items() if key != "lessons"} for part in parts]
        before, now = (canonical(part).decode() for part in parts)
        if before != now:
            return f"another {_SINGULAR.get(name, name)} ({one_line(before, 100)} instead of {one_line(now, 100)})"
    return ""


_SINGULAR = {
    "options": "configuration of its engine",
    "tools": "set of tools",
    "agent": "set of options",
    "output": "type of answer",
}


def spec_of(rows: Iterable[Row], run: str) -> Data | None:
    """Return what was recorded about a run: its first entry, with later changes; None if there is no first entry."""
    spec: Data | None = None
    for row in rows:
        if isinstance(row, Entry):
            if row.kind == "begin" and spec is None:
                spec = dict(row.result)
        elif row.run == run and spec is not None:
            if row.kind == "head" and row.data["why"] == "fork":
                spec |= row.data.get("changes", {})
            elif row.kind == "changed":
                spec |= {name: value for name, value in row.data.items() if name != "author"}
    return spec


def difference(spec: Data, now: Data) -> Data:
    """Return what of `now` differs from a recorded spec."""
    return {name: value for name, value in now.items() if not _is_same(value, spec.get(name))}


def _is_same(one: Any, other: Any) -> bool:
    if one == other or (not one and not other):
        return True
    try:
        return canonical(one) == canonical(other)
    except (TypeError, ValueError, RecursionError):
        return False


# -- restoring ---------------------------------------------------------------------------------------------------------


def restore(opener: Opener, spec: Data, rows: Iterable[Row], *, to_look: bool) -> Restored:
    """Return how to make the recorded agent out of the opener's, whose own options and model take precedence.

    With `to_look`, models are replaced by stand-ins, because none will be asked.
    """
    restored = Restored()
    _restore_engine(restored, opener, spec)
    _restore_tools(restored, opener, spec, rows)
    if not to_look:
        _check_sources(restored, opener)
    for name in spec.get("needs") or ():
        if not name.startswith("engine.") and opener.options.get(name) is None:
            restored.missing.append(Missing(name, f"option {name!r}"))
    find = _stand_in if to_look else _find_model
    known = {**dict.fromkeys(arounds.DEFAULTS, False), **(spec.get("agent") or {})}
    for name, value in known.items():
        if name in OPTIONS and opener.options.get(name) is None and value != arounds.DEFAULTS.get(name):
            try:
                if name == "roles":
                    value = {role: find(model) for role, model in value.items()}
                agent_options.check({name: value}, opener.engine)
                _check_harmless(name, value)
                restored.changes[name] = value
            except (AgentkitError, ValueError, TypeError, AttributeError) as error:
                restored.missing.append(Missing(name, f"option {name!r} as it was recorded ({error})"))
    if to_look:
        if name_of(opener.named_model) != spec["model"]:
            restored.changes["model"] = AbsentModel(spec["model"])
    elif opener.named_model is None:
        try:
            restored.changes["model"] = _find_model(spec["model"])
        except (AgentkitError, ValueError) as error:
            restored.missing.append(Missing("model", f"model {spec['model']!r} ({error})"))
            restored.changes["model"] = AbsentModel(spec["model"])
    return restored


def _check_harmless(name: str, value: Any) -> None:
    """Check that an option of a file names no folder, and no pattern that might search for ever.

    Raises `OptionError`.
    """
    if name == "discover" and not isinstance(value, bool):
        raise OptionError("a file cannot name a folder")
    markers = [value] if isinstance(value, str) else value
    if name == "completion_markers" and not all(map(_PLAIN_MARKER.fullmatch, markers)):
        raise OptionError("a file cannot bring regular expressions with repetitions")


def _restore_engine(restored: Restored, opener: Opener, spec: Data) -> None:
    """Find the recorded engine and its options."""
    path, options = spec["engine"], dict(spec["options"])
    is_own = opener.engine_name == path
    engine = opener.engine if is_own else registry.registered(path)
    own = opener.engine_options if is_own else {}
    for name in [name.removeprefix("engine.") for name in spec.get("needs") or () if name.startswith("engine.")]:
        if name in own:
            options[name] = own[name]
        else:
            options.pop(name, None)
            restored.missing.append(Missing("engine", f"option {name!r} of the engine"))
    if engine is None:
        restored.missing.append(Missing("engine", f"engine {path!r} (a file cannot import code: {registry.pass_it()})"))
    elif is_own and _is_same(_without_lessons(own), _without_lessons(options)):
        return
    else:
        try:
            built = registry.build(engine, options, opener.given_loops)
            registry.check(engine, built)
            if lessons.has_store(own):
                built["lessons"] = own["lessons"]
            restored.changes["engine"] = Loop(engine, **built)
            return
        except (AgentkitError, ValueError, TypeError, AttributeError) as error:
            restored.missing.append(Missing("engine", f"engine {path!r} as it was recorded ({error})"))
    restored.changes["engine"] = Loop(absent)


def _without_lessons(options: Data) -> Data:
    return {name: value for name, value in options.items() if name != "lessons"}


def _restore_tools(restored: Restored, opener: Opener, spec: Data, rows: Iterable[Row]) -> None:
    """Find the recorded tools that the opener does not have: built-in ones that are still the same, or stand-ins."""
    wanted = {name: digest for name, digest in spec["tools"].items() if opener.tools.find(name) is None}
    if spec.get("agent", {}).get("discover") and opener.options.get("discover") is None:
        wanted.pop("discover", None)  # the option brings it
    if not wanted:
        return
    known = {tool.digest: tool for box in builtin.BOXES for tool in ToolSet.of([builtin.box(box)])}
    offered: dict[str, Any] = {}
    for row in rows:
        if isinstance(row, Entry) and row.kind == "think":
            offered |= {tool.name: tool for tool in row.step.tools if tool.name in wanted}  # type: ignore[union-attr]
    found = []
    for name, digest in wanted.items():
        tool = known.get(digest)
        if tool is None or tool.name != name:
            restored.missing.append(Missing("tools", f"tool {name!r}"))
            tool = _absent_tool(name, offered.get(name))
        found.append(tool)
    restored.changes["tools"] = [*opener.given_tools, *found]


def _check_sources(restored: Restored, opener: Opener) -> None:
    """Note the sources of tools that cannot be reached, so that a run does not go on without them."""
    for part in opener.given_tools:
        if isinstance(part, Source) and part.check is not None:
            try:
                part.check()
            except AgentkitError as error:
                restored.missing.append(Missing("tools", str(error)))


def _find_model(name: str) -> Any:
    """Return the model that was recorded under a name.

    A model at a URL is found only if the URL is that of a server on this machine, or of the model that answers by
    default: a file must not choose the host that a conversation is sent to. Raises `AgentkitError` or `ValueError`.
    """
    if name in resolve.KNOWN or name in plugins("models") or (name.startswith(resolve.PREFIXES) and " " not in name):
        return resolve.find(name)
    for candidate in _models_here():
        model = resolve.find(candidate)
        if name_of(model) == name:
            return model
    raise ModelError("it is not one that a name alone finds")


def _models_here() -> Iterable[str]:
    """Yield the names of the models that answer here without being named."""
    from agentkit.models import local_servers

    yield resolve.choose().name
    for server in local_servers.servers():
        yield from server.names


# -- stand-ins ---------------------------------------------------------------------------------------------------------


class AbsentModel:
    """The name of a model that is not available; nobody can ask it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.abilities = Abilities()

    def __call__(self, request: Request) -> Any:
        raise ModelError(f"the model {self.name!r} is not available here; name another one")


def _stand_in(name: str) -> Any:
    return AbsentModel(name)


def absent(task: Any, **options: Any) -> Any:
    """Stand in for an engine that is not available: the recording is shown without it."""
    if task is not None:
        raise EngineError("the engine of this run is not available here")
    yield


def _absent_tool(name: str, offered: Any) -> Tool:
    """Return a tool with the recorded description, so that an engine that reads its tools does the same again."""

    def refuse(**arguments: Any) -> str:
        raise EngineError(f"the tool {name!r} is not available here")

    effect: Any = getattr(offered, "effect", "irreversible")
    return Tool(
        name,
        getattr(offered, "description", ""),
        getattr(offered, "parameters", {}),
        refuse,
        getattr(offered, "returns", {}),
        effect if effect in get_args(Effect) else "irreversible",
    )


def last_dialect(spec: Data, rows: Iterable[Row], run: str) -> str | None:
    """Return the dialect that was set for a run, or the one in which its model was asked last."""
    used = [row.dialect for row in rows if isinstance(row, Entry) and row.run == run and row.kind == "think"]
    known = [name for name in used if name in dialects.DIALECTS]
    return spec.get("dialect") or (known[-1] if known else None)
