"""Configuration from outside the program: the data directory, the user's `config.toml`, and plug-ins of other packages.

A package declares its plug-ins as entry points in its `pyproject.toml`: in the group `agentkit.engines` an engine; in
`agentkit.toolboxes` a toolbox, a list of tools, or a function or class that returns one; in `agentkit.models` a model
or a class of models. Each is loaded when its name is first used. Plug-ins of other systems are found in the same way.
"""

from __future__ import annotations

import functools
import os
import warnings
from pathlib import Path
from typing import Any

from agentkit.inert import for_terminal


def home() -> Path:
    """Return the directory of agentkit's own data: `AGENTKIT_HOME`, or the user's data directory."""
    chosen = os.environ.get("AGENTKIT_HOME")
    if chosen:
        return Path(chosen).expanduser()
    import platformdirs

    return Path(platformdirs.user_data_dir("agentkit", appauthor=False))


def read_config() -> dict[str, Any]:
    """Return the settings in `config.toml`; empty if there is no such file.

    `model` is the name of the default model, and the table `[prices]` holds the prices of models.
    Raises `UsageError` if the file cannot be read.
    """
    import tomllib

    from agentkit.errors import UsageError

    path = home() / "config.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"cannot read {path}: {error}; correct the file, or move it away") from None


@functools.cache
def plugins(group: str, system: str = "agentkit") -> dict[str, Any]:
    """Return the entry points of a group by name; if two have the same name, the first one counts."""
    from importlib.metadata import entry_points

    return {point.name: point for point in reversed(tuple(entry_points(group=f"{system}.{group}")))}


def load_plugin(group: str, name: str) -> Any:
    """Return the plug-in of a name, or None if there is none.

    A plug-in that cannot be loaded causes a warning and counts as missing: a broken package must not break the others.
    """
    point = plugins(group).get(name)
    if point is None:
        return None
    try:
        return point.load()
    except Exception as error:
        warnings.warn(
            for_terminal(f"cannot load the plug-in {name!r} of agentkit.{group}: {type(error).__name__}: {error}"),
            RuntimeWarning,
            stacklevel=2,
        )
        return None
