"""What only Jupyter and IPython use: the magics. Light by itself; `%load_ext agentkit` loads the rest."""

from __future__ import annotations

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """Register `%agent` and `%%agent` with an IPython shell, in a notebook or a terminal."""
    from agentkit.notebook.magics import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Take `%agent` and `%%agent` away again; runs go on."""
    from agentkit.notebook.magics import unload

    unload(shell)
