"""The built-in toolboxes by name: one module each, which is loaded when its toolbox is first used."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from agentkit.config import load_plugin, plugins
from agentkit.errors import Unknown

BOXES = {
    "math": "agentkit.tools.builtin.math",
    "units": "agentkit.tools.builtin.units",
    "clock": "agentkit.tools.builtin.clock",
    "facts": "agentkit.tools.builtin.facts",
}
"""Each module has one toolbox, `box`."""

NO_TOOLS = "none"
"""What stands for no toolbox in a list of names."""


def box(name: str) -> Any:
    """Return a built-in toolbox, or one that another package brings. Raises `Unknown` if there is none of this name."""
    if name in BOXES:
        return importlib.import_module(BOXES[name]).box
    plugin = load_plugin("toolboxes", name)
    if plugin is None:
        raise Unknown("toolbox", name, [*BOXES, *plugins("toolboxes")])
    return plugin() if inspect.isclass(plugin) or inspect.isfunction(plugin) else plugin


def boxes(names: str) -> list[Any]:
    """Return the toolboxes of a list of names, separated by commas; `NO_TOOLS` and an empty name stand for none."""
    return [box(name.strip()) for name in names.split(",") if name.strip() not in ("", NO_TOOLS)]
