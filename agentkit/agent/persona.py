"""Load an agent from the configuration of a persona: an engine with a model, toolboxes and parameters.

A persona is a file, and so it is data: it names engines, models and toolboxes that are registered, and nothing that it
names is imported, and no URL in it is asked, before the agent runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from agentkit.agent.agent import Agent
from agentkit.agent.options import NAMES
from agentkit.core.steps import Loop
from agentkit.engines import registry
from agentkit.errors import Unknown, UsageError
from agentkit.inert import for_terminal
from agentkit.models import brain
from agentkit.tools import builtin

_MODEL = ("model", "brain")
_PATHS = ("journal", "discover")


def load(config: Mapping[str, Any], model: Any = None, **more: Any) -> Agent:
    """Return the agent that a persona describes.

    `solvers` names engines, of which the first available one is used, and `plugin-config` contains its options: those
    of the engine, `brain` or `model`, `toolboxes` or `tools`, and the options of `Agent`, but no paths. Anything that
    is not installed or not known is skipped with a warning, so that one broken plug-in never breaks the others. If that
    is the brain, the agent replies "Error: no brain configured."; no other model answers in its place. `model` and
    `more` override the persona. Raises `UsageError` if no engine is available, `ValueError` for a value out of range.
    """
    if not isinstance(config, Mapping) or not isinstance(config.get("plugin-config") or {}, Mapping):
        raise UsageError(f'a persona must be a dict with "solvers" and "plugin-config", not {config!r:.200}')
    solvers = _names("solvers", config.get("solvers") or ["react"])
    for name in solvers:
        if not isinstance(name, str):
            raise UsageError(f"solvers of a persona must be a list of names, not {solvers!r:.200}")
        options = (config.get("plugin-config") or {}).get(name) or {}
        if not isinstance(options, Mapping):
            raise UsageError(f"the options of {name} in a persona must be a dict, not {options!r:.200}")
        try:
            loop, options = _engine(name, dict(options))
        except Unknown as error:
            _warn(error)
            continue
        brains = [options.pop(key) for key in _MODEL if key in options]
        boxes = [box for key in ("tools", "toolboxes") for box in _names(key, options.pop(key, ()))]
        tools = [tool for box in boxes if (tool := _find(builtin.box, box)) is not None]
        for key in list(options):
            if key not in NAMES:
                _warn(f"{name} has no option {key!r}, which is ignored")
            elif key in _PATHS and options[key] not in (None, True, False, "memory"):
                _warn(f"a persona cannot set {key!r}, which is ignored; use persona.load(config, {key}=…)")
            else:
                continue
            del options[key]
        if isinstance(roles := options.get("roles"), Mapping):
            options["roles"] = {role: _brain(other) for role, other in roles.items()}
        chosen = model if model is not None or not brains else _brain(brains[0])
        return Agent(chosen, tools, engine=loop, **{**options, **more})
    raise UsageError(
        f"none of the engines {solvers!r:.200} is available; known: {', '.join([*registry.ENGINES, *registry.ALIASES])}"
    )


def _engine(name: str, options: dict[str, Any]) -> tuple[Loop, dict[str, Any]]:
    """Return an engine with its own options, and the other options. Raises `Unknown` if one is not registered."""
    engine = registry.registered(name)
    if engine is None:
        raise Unknown("engine", name, [*registry.ENGINES, *registry.ALIASES])
    own = {key: options.pop(key) for key in registry.parameters(engine) if key in options and key != "tools"}
    registry.build(engine, own, {})  # nested engines must be registered, too
    return Loop(name, **own), options


def _names(key: str, value: Any) -> list[Any]:
    if isinstance(value, str) or value is None:
        return [value] if value else []
    if not isinstance(value, list | tuple):
        raise UsageError(f"{key} of a persona must be a list of names, not {value!r:.200}")
    return list(value)


def _brain(name: Any) -> Any:
    """Return the model with a name, or one that replies that there is none."""
    try:
        return brain.named(name)
    except UsageError as error:
        _warn(f"{error}; until then the reply is {brain.NO_BRAIN!r}")
        return brain.NoBrain(str(error))


def _find(find: Any, name: Any) -> Any:
    """Return what `find` finds for a name; None, with a warning, if it finds nothing."""
    if not isinstance(name, str):
        return name
    try:
        return find(name)
    except UsageError as error:
        return _warn(error)


def _warn(warning: object) -> None:
    warnings.warn(for_terminal(warning), RuntimeWarning, stacklevel=4)
