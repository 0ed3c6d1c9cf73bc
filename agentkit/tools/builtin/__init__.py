"""The built-in toolboxes by name: one module each, which is loaded when its toolbox is first used."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from agentkit.config import load_plugin, plugins
from agentkit.errors import Unknown, UsageError

BOXES = {
    "math": "agentkit.tools.builtin.math",
    "units": "agentkit.tools.builtin.units",
    "clock": "agentkit.tools.builtin.clock",
    "facts": "agentkit.tools.builtin.facts",
}
"""The toolboxes that a run has by default in a terminal and in a notebook. Each module has one toolbox, `box`."""

ON_REQUEST = {
    "files": ("agentkit.tools.builtin.files", "Files"),
    "web": ("agentkit.tools.builtin.web", "WebFetch"),
}
"""Toolboxes that reach out of the process, for those who name them: each a module and a class, made without arguments.

A recording cannot bring them back.
"""

BY_CLASS = {
    "shell": ("agentkit.tools.builtin.shell", "Shell"),
    "python": ("agentkit.tools.builtin.python", "Python"),
    "kernel": ("agentkit.tools.builtin.python", "Kernel"),
    "search": ("agentkit.tools.builtin.web", "WebSearch"),
    "skills": ("agentkit.tools.builtin.skills", "Skills"),
}
"""Toolboxes that a name does not bring, because they need more than that or act with your rights."""

NAMES = (*BOXES, *ON_REQUEST)

NO_TOOLS = "none"
"""What stands for no toolbox in a list of names."""


def box(name: str) -> Any:
    """Return a built-in toolbox, or one that another package brings. Raises `Unknown` if there is none of this name."""
    if name in BOXES:
        return importlib.import_module(BOXES[name]).box
    if name in ON_REQUEST:
        module, toolbox = ON_REQUEST[name]
        return getattr(importlib.import_module(module), toolbox)()
    plugin = load_plugin("toolboxes", name)
    if plugin is None:
        module, toolbox = BY_CLASS.get(name, ("", ""))
        hint = f"it is made in a program: from {module} import {toolbox}" if module else ""
        raise Unknown("toolbox", name, [*NAMES, *plugins("toolboxes")], hint)
    return plugin() if inspect.isclass(plugin) or inspect.isfunction(plugin) else plugin


def listed() -> dict[str, Any]:
    """Return the built-in toolboxes by name, without those that this system or this folder does not allow."""
    found = {}
    for name in NAMES:
        try:
            found[name] = box(name)
        except UsageError:
            continue
    return found


def boxes(names: str) -> list[Any]:
    """Return the toolboxes of a list of names, separated by commas; `NO_TOOLS` and an empty name stand for none."""
    return [box(name.strip()) for name in names.split(",") if name.strip() not in ("", NO_TOOLS)]
