"""What only Jupyter and IPython use: the magics and the live view. Light by itself; the rest is loaded when it is used."""

from __future__ import annotations

import os
import sys
from typing import Any

from agentkit.core.display import set_live
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


class _Notebook:
    """Shows runs in the notebook of this kernel."""

    def show(self, run: Run) -> None:
        """Show a run as a live view. Raises `NotImplementedError`, IPython's word for: show it in another way."""
        shell = live_shell()
        if shell is None:
            raise NotImplementedError
        from agentkit.notebook.widget import show

        show(run, shell)

    def widget(self, run: Run) -> Any:
        """Return the live view as a widget, for a layout of ipywidgets or for marimo."""
        from agentkit.notebook.widget import view

        return view(run).widget

    def freeze(self, run: Run) -> None:
        """Replace the live views of a run by pictures that need no kernel."""
        from agentkit.notebook.widget import freeze

        freeze(run)

    def side_by_side(self, runs: list[Run]) -> Any:
        """Return the live views of several runs beside each other."""
        from agentkit.notebook.widget import side_by_side

        return side_by_side(runs)


set_live(_Notebook())
