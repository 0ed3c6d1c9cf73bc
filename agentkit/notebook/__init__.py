"""What only Jupyter and IPython use: the magics and the live view. Light by itself; the rest is loaded when it is used."""

from __future__ import annotations

import os
import sys
from typing import Any

from agentkit.agent.comparison import Comparison
from agentkit.run.run import Run


def load_ipython_extension(shell: Any) -> None:
    """Register `%agent` and `%%agent` with an IPython shell, in a notebook or a terminal."""
    from agentkit.notebook.magics import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Take `%agent` and `%%agent` away again; runs go on."""
    from agentkit.notebook.magics import unload

    unload(shell)


def live_shell() -> Any:
    """Give the shell of a notebook in which somebody watches; None elsewhere, and where AGENTKIT_NONINTERACTIVE is set."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    watched = os.environ.get("AGENTKIT_NONINTERACTIVE", "0") in ("", "0")
    return shell if watched and hasattr(shell, "kernel") else None


def _show(run: Run) -> None:
    """Show a run as a live view, where there is a notebook for it; elsewhere its HTML or its text is shown."""
    shell = live_shell()
    if shell is None:
        raise NotImplementedError  # IPython's word for: show it in another way
    from agentkit.notebook.widget import show

    show(run, shell)


def _widget(run: Run) -> Any:
    """Give the live view as a widget, to place it oneself: in a layout of ipywidgets, or in marimo."""
    from agentkit.notebook.widget import view

    return view(run).widget


def _freeze(run: Run) -> None:
    """Put a picture that needs no kernel in the place of the run's live views; `run` in a cell opens a new one."""
    from agentkit.notebook.widget import freeze

    freeze(run)


def _side_by_side(comparison: Comparison) -> Any:
    """Give the live views of the compared runs beside each other, to step back into each and go on."""
    from agentkit.notebook.widget import side_by_side

    return side_by_side(comparison.runs)


Run._ipython_display_ = _show  # type: ignore[attr-defined]
Run._display_ = _widget  # type: ignore[attr-defined]
Run.widget, Run.freeze = _widget, _freeze
Comparison.widget = _side_by_side
