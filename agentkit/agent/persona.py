"""Load an agent from the configuration of a persona: an engine with a model, toolboxes and parameters.

A persona is a file, and so it is data: it names engines, models and toolboxes that are registered, and nothing that it
names is imported, and no URL in it is asked, before the agent runs. Only plug-ins of OVOS are made when it is loaded.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from agentkit.agent import opm
from agentkit.agent.agent import Agent
from agentkit.agent.options import NAMES, annotation
from agentkit.core.steps import Loop
from agentkit.engines import registry
from agentkit.errors import Unknown, UsageError
from agentkit.inert import for_terminal
from agentkit.models import brain
from agentkit.tools import builtin

_MODEL = ("model", "brain")
_TOOLS = ("tools", "toolboxes")
_PATHS = ("journal", "discover")

Data = dict[str, Any]


def load(config: Mapping[str, Any], model: Any = None, **more: Any) -> Agent:
    """Return the agent that a persona describes.

    `handlers` or `solvers` names engines, of which the first available one is used. The options of an engine are under
    its name in `plugin-config`, or in the persona itself: those of the engine, `brain` or `model`, `toolboxes` or
    `tools`, `system_prompt`, and the options of `Agent`, but no paths. If an engine, a brain, a toolbox or the
    `memory_module` is a plug-in of OVOS, its own options are under its id. Numbers may be written as strings.

    Anything that is not installed or not known is skipped with a warning, so that one broken plug-in never breaks the
    others. If that is the brain, the agent replies "Error: no brain configured."; no other model answers in its place.
    `model` and `more` override the persona. Raises `UsageError` if no engine is available, `ValueError` for a value out
    of range.
    """
    if not isinstance(config, Mapping) or not isinstance(config.get("plugin-config") or {}, Mapping):
        raise UsageError(f'a persona must be a dict with "solvers" and "plugin-config", not {config!r:.200}')
    solvers = names("solvers", config.get("handlers") or config.get("solvers") or ["react"])
    for name in solvers:
        if not isinstance(name, str):
            raise UsageError(f"solvers of a persona must be a list of names, not {solvers!r:.200}")
        options = _block(config.get("plugin-config") or {}, name) or _block(config, name)
        if not options.pop("enabled", True):
            continue
        try:
            loop, options = _engine(name, options)
        except Unknown as error:
            _warn(error)
            continue
        brains = [options.pop(key) for key in _MODEL if key in options]
        boxes = [box for key in _TOOLS for box in names(key, options.pop(key, ()))]
        roles = options["roles"] if isinstance(options.get("roles"), Mapping) else {}
        named = [each for each in (*brains, *boxes, *roles.values()) if isinstance(each, str)]
        plugins = {each: options.pop(each) for each in dict.fromkeys(named) if isinstance(options.get(each), Mapping)}
        tools = [tool for box in boxes if (tool := _tools(box, plugins)) is not None]
        context = _context(config, options)
        options = _own(name, options | context)
        if roles:
            options["roles"] = {role: _brain(other, plugins) for role, other in roles.items()}
        chosen = model if model is not None or not brains else _brain(brains[0], plugins)
        return Agent(chosen, tools, engine=loop, **{**options, **more})
    raise UsageError(
        f"none of the engines {solvers!r:.200} is available; known: {', '.join([*registry.ENGINES, *registry.ALIASES])}"
    )


def _block(config: Mapping[str, Any], name: str) -> Data:
    """Return the options under a name; an empty dict if there are none."""
    options = config.get(name) or {}
    if not isinstance(options, Mapping):
        raise UsageError(f"the options of {name} in a persona must be a dict, not {options!r:.200}")
    return dict(options)


def _engine(name: str, options: Data) -> tuple[Loop, Data]:
    """Return an engine with its own options, and the other options. Raises `Unknown` if one is not registered.

    A chat engine of OVOS is a model without a loop around it: its options are its own.
    """
    engine = registry.registered(name)
    if engine is None and opm.is_installed("chat", name):
        return Loop("react"), {"brain": name, name: options}
    if engine is None:
        raise Unknown("engine", name, [*registry.ENGINES, *registry.ALIASES])
    known = [key for key in registry.parameters(engine) if key in options and key != "tools"]
    own = {key: registry.read_number(options.pop(key), registry.annotation(engine, key)) for key in known}
    registry.build(engine, own, {})  # nested engines must be registered, too
    return Loop(name, **own), options


def _own(name: str, options: Data) -> Data:
    """Return the options of the agent; others are left out, with a warning."""
    own = {}
    for key, value in options.items():
        if key not in NAMES:
            _warn(f"{name} has no option {key!r}, which is ignored")
        elif key in _PATHS and value not in (None, True, False, "memory"):
            _warn(f"a persona cannot set {key!r}, which is ignored; use persona.load(config, {key}=…)")
        else:
            own[key] = registry.read_number(value, annotation(key))
    return own


def _context(config: Mapping[str, Any], options: Data) -> Data:
    """Return the options that say what the model reads before the task: the instructions, and a memory of OVOS.

    The system prompts of the persona, of its memory and of its engine are instructions.
    """
    name = config.get("memory_module")
    block = _block(config, name) if isinstance(name, str) else {}
    own = options.pop("system_prompt", None), options.get("instructions")
    prompts = [prompt for prompt in (config.get("system_prompt"), block.pop("system_prompt", None), *own) if prompt]
    for prompt in prompts:
        if not isinstance(prompt, str):
            raise UsageError(f"a system_prompt of a persona must be a string, not {prompt!r:.200}")
    context: Data = {"instructions": "\n\n".join(dict.fromkeys(prompts))} if prompts else {}
    if name and (memory := _found(opm.memory, name, block)) is not None:
        context["session_memory"] = memory
    return context


def names(key: str, value: Any) -> list[Any]:
    """Return the names in a value of a persona, which is a list or a single name. Raises `UsageError` for others."""
    if isinstance(value, str) or value is None:
        return [value] if value else []
    if not isinstance(value, list | tuple):
        raise UsageError(f"{key} of a persona must be a list of names, not {value!r:.200}")
    return list(value)


def _brain(name: Any, plugins: Mapping[str, Data]) -> Any:
    """Return the model with a name, or one that replies that there is none."""
    try:
        if opm.is_installed("chat", name):
            return opm.chat_engine(name, plugins.get(name))
        return brain.named(name)
    except UsageError as error:
        _warn(f"{error}; until then the reply is {brain.NO_BRAIN!r}")
        return brain.NoBrain(str(error))


def _tools(box: Any, plugins: Mapping[str, Data]) -> Any:
    """Return the toolbox with a name; None, with a warning, if there is none. Anything else is a source of tools."""
    if not isinstance(box, str):
        return box
    return _found(opm.toolbox, box, plugins.get(box)) if opm.is_installed("toolbox", box) else _found(builtin.box, box)


def _found(find: Any, name: Any, *block: Any) -> Any:
    """Return what `find` finds for a name; None, with a warning, if it finds nothing."""
    try:
        return find(name, *block)
    except UsageError as error:
        return _warn(error)


def _warn(warning: object) -> None:
    warnings.warn(for_terminal(warning), RuntimeWarning, stacklevel=4)
