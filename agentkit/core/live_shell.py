"""Whether somebody watches: the IPython shell of a notebook that is in use."""

from __future__ import annotations

import os
import sys
from typing import Any


def live_shell() -> Any:
    """Return the shell of a notebook that somebody watches; None elsewhere, or if AGENTKIT_NONINTERACTIVE is set."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    is_watched = os.environ.get("AGENTKIT_NONINTERACTIVE", "0") in ("", "0")
    return shell if is_watched and hasattr(shell, "kernel") else None
