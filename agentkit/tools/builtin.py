"""The built-in toolboxes, by name."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from agentkit.config import load_plugin, plugins
from agentkit.errors import Unknown

BOXES = {
    "math": "agentkit.tools.math",
    "units": "agentkit.tools.units",
    "clock": "agentkit.tools.clock",
    "facts": "agentkit.tools.facts",
}
"""Each module holds one toolbox, `box`."""


def box(name: str) -> Any:
    """Give a built-in toolbox, or one that another package brings. Raises `Unknown`."""
    if name not in BOXES:
        found = load_plugin("toolboxes", name)
        if found is None:
            raise Unknown("toolbox", name, [*BOXES, *plugins("toolboxes")])
        return found() if inspect.isclass(found) or inspect.isfunction(found) else found
    return importlib.import_module(BOXES[name]).box


def boxes(names: str) -> list[Any]:
    """Give several of them, named with commas between; an empty text names none."""
    return [box(name.strip()) for name in names.split(",") if name.strip()]
