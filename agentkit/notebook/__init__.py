"""What works only in Jupyter and IPython: the magics and the live view. Cheap to import; the rest is loaded when
needed.
"""

from __future__ import annotations

from typing import Any

from agentkit.core.display import set_live
from agentkit.core.live_shell import is_watched, live_shell
from agentkit.errors import UsageError
from agentkit.experiments.experiment import Experiment
from agentkit.run.run import Run


def load_ipython_extension(shell: Any) -> None:
    """Register `%agent` and `%%agent` with an IPython shell, in a notebook or a terminal."""
    from agentkit.notebook.magics import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Remove `%agent` and `%%agent`; runs continue."""
    from agentkit.notebook.magics import unload

    unload(shell)


class _Notebook:
    """The live views of the runs in this kernel."""

    def show(self, run: Run) -> None:
        """Show a run as a live view.

        Raises `NotImplementedError` if nobody watches, so that IPython shows it another way.
        """
        shell = live_shell()
        if shell is None:
            raise NotImplementedError
        from agentkit.notebook.widget import show

        show(run, shell)

    def show_experiment(self, found: Experiment) -> None:
        """Show an experiment as a live table. Raises `NotImplementedError` if nobody watches."""
        shell = live_shell()
        if shell is None:
            raise NotImplementedError
        from agentkit.notebook.table import show

        show(found, shell)

    def widget(self, run: Run) -> Any:
        """Return the live view as a widget, for a layout of ipywidgets or for marimo."""
        from agentkit.notebook.widget import placed

        return placed(run)

    def dock(self, run: Run) -> None:
        """Show a run in the running cell, and beside the notebook where the page has room for it; without a notebook,
        in a browser.
        """
        if not is_watched():
            raise UsageError("nobody watches here (AGENTKIT_NONINTERACTIVE is set); use run.entries, or export it")
        shell = live_shell()
        if shell is None:
            from agentkit.serve.browser import show

            show(run)
            return
        from agentkit.notebook.widget import dock

        dock(run, shell)

    def freeze(self, run: Run) -> None:
        """Close the live view of a run, and leave its static form behind."""
        from agentkit.notebook.widget import freeze

        freeze(run)

    def side_by_side(self, runs: list[Run]) -> Any:
        """Return the live views of several runs beside each other."""
        from agentkit.notebook.widget import side_by_side

        return side_by_side(runs)


set_live(_Notebook())
