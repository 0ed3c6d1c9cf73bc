"""The IPython shell of this process, and whether somebody watches it: the shell of a notebook that is in use."""

from __future__ import annotations

import os
import sys
from typing import Any


def running_shell() -> Any:
    """Return the IPython shell of this process, of a notebook or a terminal; None if there is none."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None


def live_shell() -> Any:
    """Return the shell of a notebook that somebody watches; None elsewhere, or if AGENTKIT_NONINTERACTIVE is set."""
    shell = running_shell()
    return shell if is_watched() and hasattr(shell, "kernel") else None


def is_watched() -> bool:
    """Return whether somebody may look at what is shown: AGENTKIT_NONINTERACTIVE is not set."""
    return os.environ.get("AGENTKIT_NONINTERACTIVE", "0") in ("", "0")
