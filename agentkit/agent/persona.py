"""Load an agent from the configuration of a persona: which engine, with which model, toolboxes and parameters."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from agentkit.agent.agent import Agent
from agentkit.agent.options import NAMES
from agentkit.core.steps import Loop
from agentkit.engines import registry
from agentkit.errors import Unknown, UsageError
from agentkit.models import resolve
from agentkit.tools import builtin

_MODEL = ("model", "brain")


def load(config: Mapping[str, Any], model: Any = None, **more: Any) -> Agent:
    """Make an agent of a persona: `solvers` names engines, the first that is there is taken, `plugin-config` has its options.

    The options are those of the engine, `brain` or `model`, `toolboxes` or `tools`, and the settings of `Agent`. What is
    not installed or not known is passed over with a warning, so that one broken plugin never breaks the others; `model` and
    `more` come before what the persona says.
    Raises `UsageError` where no engine is left, `ValueError` for a value out of range.
    """
    if not isinstance(config, Mapping) or not isinstance(config.get("plugin-config") or {}, Mapping):
        raise UsageError(f'a persona is a dict with "solvers" and "plugin-config", not {config!r:.200}')
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
        tools = [found for box in boxes if (found := _passed(builtin.box, box)) is not None]
        own = {key: options.pop(key) for key in registry.parameters(engine) if key in options}
        for key in [key for key in options if key not in NAMES]:
            _warn(f"{name} has no option {key!r}; it is ignored")
            del options[key]
        chosen = model if model is not None or not brain else _passed(resolve.find, brain[0])
        return Agent(chosen, tools, engine=Loop(name, **own), **{**options, **more})
    raise UsageError(
        f"none of the engines {solvers!r} is there; known: {', '.join([*registry.ENGINES, *registry.ALIASES])}"
    )


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) else list(value or ())


def _passed(find: Any, wanted: Any) -> Any:
    """Find something by name; None, with a warning, where it is not there."""
    if not isinstance(wanted, str):
        return wanted
    try:
        return find(wanted)
    except UsageError as error:
        return _warn(error)


def _warn(what: object) -> None:
    warnings.warn(str(what), RuntimeWarning, stacklevel=4)
