"""Where agentkit keeps its own data, and what a person has set there in `config.toml`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def home() -> Path:
    """Give the directory of agentkit's own data: `AGENTKIT_HOME`, or the user's data directory."""
    chosen = os.environ.get("AGENTKIT_HOME")
    if chosen:
        return Path(chosen).expanduser()
    import platformdirs

    return Path(platformdirs.user_data_dir("agentkit", appauthor=False))


def config() -> dict[str, Any]:
    """Read `config.toml`: `model` names the model that answers when none is named, `[prices]` what models cost.

    Without such a file, nothing is set. Raises `UsageError` where it cannot be read.
    """
    import tomllib

    from agentkit.errors import UsageError

    path = home() / "config.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}; mend it, or move it away") from None
