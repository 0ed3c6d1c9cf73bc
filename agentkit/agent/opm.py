"""Plug-ins of OpenVoiceOS by id: chat engines, toolboxes and memories.

They are found and loaded by ovos-plugin-manager, and made with their block of a configuration, as OVOS makes them.
Without ovos-plugin-manager there are none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from agentkit.config import plugins
from agentkit.errors import Unknown, UsageError

Kind = Literal["chat", "toolbox", "memory"]
"""What a plug-in is: the last part of its group of entry points, such as `opm.agents.chat`."""


def is_installed(kind: Kind, name: Any) -> bool:
    """Return whether there is a plug-in of this kind and id; none is loaded."""
    return isinstance(name, str) and name in plugins(kind, "opm.agents")


def chat_engine(name: str, config: Mapping[str, Any] | None = None) -> Any:
    """Return a new chat engine, which is also a model for `Agent`. Raises `UsageError` if it cannot be made."""
    return _made("chat", name, config)


def toolbox(name: str, config: Mapping[str, Any] | None = None) -> Any:
    """Return a new toolbox, for the tools of an `Agent`. Raises `UsageError` if it cannot be made."""
    return _made("toolbox", name, config, bus=None)


def memory(name: str, config: Mapping[str, Any] | None = None) -> Any:
    """Return a new memory, for the option `session_memory` of an `Agent`. Raises `UsageError` if it cannot be made."""
    return _made("memory", name, config)


def _made(kind: Kind, name: str, config: Mapping[str, Any] | None, **more: Any) -> Any:
    try:
        return _class(kind, name)(config=dict(config or {}), **more)
    except UsageError:
        raise
    except Exception as error:  # whatever a plug-in raises
        raise UsageError(f"cannot make the OVOS plug-in {name!r}: {type(error).__name__}: {error}") from error


def _class(kind: Kind, name: str) -> Any:
    from ovos_plugin_manager.agents import load_chat_plugin, load_memory_plugin
    from ovos_plugin_manager.persona import find_toolbox_plugins

    load = {"chat": load_chat_plugin, "memory": load_memory_plugin, "toolbox": find_toolbox_plugins().get}[kind]
    found = load(name)
    if found is None:
        raise Unknown(f"{kind} plug-in of OVOS", name, plugins(kind, "opm.agents"))
    return found
