# mypy: disable-error-code="no-untyped-call"
"""The IPython shell, and how a run is shown in it."""

from __future__ import annotations

from typing import Any

from agentkit.run.run import Run


def in_notebook(shell: Any) -> bool:
    """Return whether a shell has outputs that can be changed later; one in a terminal does not."""
    return hasattr(shell, "kernel")


def bundle(run: Run, shell: Any) -> dict[str, Any]:
    """Return every representation of a run, by MIME type, even after `hide_at_end_of_cell`."""
    display_formatter = shell.display_formatter
    data = {
        mime: content
        for mime, formatter in display_formatter.formatters.items()
        if formatter.enabled and (content := formatter(run)) is not None
    }
    mimebundle = display_formatter.mimebundle_formatter(run) or {}
    return {**data, **(mimebundle[0] if isinstance(mimebundle, tuple) else mimebundle)}


def show(run: Run, shell: Any) -> None:
    """Show the present state of a run in the output of the running cell."""
    from IPython.display import display

    display(bundle(run, shell), raw=True)


def hide_at_end_of_cell(run: Run, shell: Any) -> None:
    """Do not show a run again as the value of the running cell, which has already shown it."""
    attributes = vars(run)
    if "_ipython_display_" in attributes:
        return
    attributes["_ipython_display_"] = lambda: None

    def undo(*_: Any) -> None:
        attributes.pop("_ipython_display_", None)
        shell.events.unregister("post_run_cell", undo)

    shell.events.register("post_run_cell", undo)
