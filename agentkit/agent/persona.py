"""Load an agent from the configuration of a persona: an engine with a model, toolboxes and parameters."""

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
from agentkit.models import resolve
from agentkit.tools import builtin

_MODEL = ("model", "brain")


def load(config: Mapping[str, Any], model: Any = None, **more: Any) -> Agent:
    """Return the agent that a persona describes.

    `solvers` names engines, of which the first available one is used, and `plugin-config` contains its options: those
    of the engine, `brain` or `model`, `toolboxes` or `tools`, and the options of `Agent`. Anything that is not
    installed or not known is skipped with a warning, so that one broken plug-in never breaks the others. `model` and
    `more` override the persona. Raises `UsageError` if no engine is available, `ValueError` for a value out of range.
    """
    if not isinstance(config, Mapping) or not isinstance(config.get("plugin-config") or {}, Mapping):
        raise UsageError(f'a persona must be a dict with "solvers" and "plugin-config", not {config!r:.200}')
    solvers = config.get("solvers") or ["react"]
    for name in [solvers] if isinstance(solvers, str) else solvers:
        try:
            engine, _ = registry.find(name)
        except Unknown as error:
            _warn(error)
            continue
        options = dict((config.get("plugin-config") or {}).get(name) or {})
        brain = [options.pop(key) for key in _MODEL if key in options]
        boxes = [box for key in ("tools", "toolboxes") for box in _listed(options.pop(key, ()))]
        tools = [tool for box in boxes if (tool := _find(builtin.box, box)) is not None]
        own = {key: options.pop(key) for key in registry.parameters(engine) if key in options}
        for key in [key for key in options if key not in NAMES]:
            _warn(f"{name} has no option {key!r}, which is ignored")
            del options[key]
        chosen = model if model is not None or not brain else _find(resolve.find, brain[0])
        return Agent(chosen, tools, engine=Loop(name, **own), **{**options, **more})
    raise UsageError(
        f"none of the engines {solvers!r} is available; known: {', '.join([*registry.ENGINES, *registry.ALIASES])}"
    )


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) else list(value or ())


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
