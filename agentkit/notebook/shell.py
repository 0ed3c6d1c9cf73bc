# mypy: disable-error-code="no-untyped-call"
"""The IPython shell, and how a run is shown in it."""

from __future__ import annotations

import os
import sys
from typing import Any

from agentkit.run.run import Run


def live_shell() -> Any:
    """Return the shell of a notebook that somebody is watching; None elsewhere, or if AGENTKIT_NONINTERACTIVE is set."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    watched = os.environ.get("AGENTKIT_NONINTERACTIVE", "0") in ("", "0")
    return shell if watched and hasattr(shell, "kernel") else None


def in_notebook(shell: Any) -> bool:
    """Return whether a shell has outputs that can be changed later, which one in a terminal does not have."""
    return hasattr(shell, "kernel")


def bundle(run: Run, shell: Any) -> dict[str, Any]:
    """Return everything that a run is shown as, by MIME type, even while `hush` is on."""
    formats = shell.display_formatter
    found = {
        kind: shown for kind, form in formats.formatters.items() if form.enabled and (shown := form(run)) is not None
    }
    more = formats.mimebundle_formatter(run) or {}
    return {**found, **(more[0] if isinstance(more, tuple) else more)}


def show(run: Run, shell: Any) -> None:
    """Show the present state of a run in the output of the running cell."""
    from IPython.display import display

    display(bundle(run, shell), raw=True)


def hush(run: Run, shell: Any) -> None:
    """Do not show a run again at the end of the running cell, which has shown it already."""
    held = vars(run)
    if "_ipython_display_" in held:
        return
    held["_ipython_display_"] = lambda: None

    def over(*_: Any) -> None:
        held.pop("_ipython_display_", None)
        shell.events.unregister("post_run_cell", over)

    shell.events.register("post_run_cell", over)
