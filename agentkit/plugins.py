"""What other packages bring: engines, toolboxes and models by entry point, each loaded when it is named first.

A package declares them in its `pyproject.toml`, in the group `agentkit.engines` (a generator function),
`agentkit.toolboxes` (a toolbox, a list of tools, or a function or class that gives one) or `agentkit.models` (a model, or a class
of models).
"""

from __future__ import annotations

import functools
import warnings
from typing import Any


@functools.cache
def points(group: str) -> dict[str, Any]:
    """Give the entry points of a group by name; of two with one name the first."""
    from importlib.metadata import entry_points

    return {point.name: point for point in reversed(tuple(entry_points(group=f"agentkit.{group}")))}


def load(group: str, name: str) -> Any:
    """Load what is declared under a name; None where nothing is, and, with a warning, where it cannot be loaded."""
    point = points(group).get(name)
    if point is None:
        return None
    try:
        return point.load()
    except Exception as error:  # a broken package must not break the others
        warnings.warn(f"{name!r} of {group} cannot be loaded: {type(error).__name__}: {error}", RuntimeWarning, stacklevel=2)
        return None
