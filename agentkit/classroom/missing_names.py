"""Cells that are run from the middle of a notebook: one line says which name is missing, in place of a traceback."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from agentkit.core.live_shell import running_shell
from agentkit.core.text import one_line


def load_ipython_extension(shell: Any) -> None:
    """Say in one line what is missing if a cell uses a name that no cell has made.

    IPython has one place for such a handler. If another one is there already, it stays.
    """
    if not shell.custom_exceptions:
        shell.set_custom_exc((NameError,), _show)


def unload_ipython_extension(shell: Any) -> None:
    """Show tracebacks of missing names again."""
    if shell.custom_exceptions == (NameError,):
        shell.set_custom_exc((), None)


def load_where_cells_run() -> None:
    """Load the extension if this is a notebook or an IPython session."""
    shell = running_shell()
    if shell is not None:
        load_ipython_extension(shell)


def _show(
    shell: Any, kind: type[NameError], error: NameError, traceback: TracebackType | None, tb_offset: int | None = None
) -> None:
    """Show an error: in one line if the cell itself uses a missing name, else with its traceback."""
    if error.name and _is_in_cell(shell, traceback):
        line = f"NameError: `{one_line(error.name)}` is not defined. Run the cells above first, or check the spelling."
        error._render_traceback_ = lambda: [line]  # type: ignore[attr-defined]  # IPython asks the error for its text
    shell.showtraceback((kind, error, traceback))


def _is_in_cell(shell: Any, traceback: TracebackType | None) -> bool:
    """Return whether an error was raised by a cell itself, and not in a function that it calls."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return False
    frame = traceback.tb_frame
    return frame.f_globals is shell.user_global_ns and frame.f_code.co_name == "<module>"
