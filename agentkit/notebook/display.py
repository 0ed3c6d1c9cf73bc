# mypy: disable-error-code="no-untyped-call"
"""What the magics show: notices, listings, and a run while it continues.

In a notebook that is the live view of `agentkit.notebook.widget`; in a terminal, steps are printed as they happen.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from agentkit.core.text import one_line
from agentkit.export.tables import Table, to_html, to_text
from agentkit.inert import inert_lines
from agentkit.notebook.shell import hide_at_end_of_cell, in_notebook

if TYPE_CHECKING:
    from agentkit.run.run import Run
    from agentkit.trace.events import Event

_STYLES = {
    "Thought": "bold",
    "Action": "cyan",
    "Observation": "dim",
    "Answer": "green",
    "Interrupt": "magenta",
    "!": "yellow",
}


class Notice:
    """A sentence or two for the person; `value` is what they are about."""

    def __init__(self, text: str, value: Any = None) -> None:
        self.text = text
        self.value = value

    @inert_lines
    def __repr__(self) -> str:
        return self.text


class Listing:
    """A table of short texts, each in one line, with a note below it."""

    def __init__(self, header: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> None:
        self.table = Table(list(header), [[one_line(cell, 100) for cell in row] for row in rows], note)

    @inert_lines
    def __repr__(self) -> str:
        return to_text(self.table, cell_width=200)

    def _repr_html_(self) -> str:
        from agentkit.export.html import fragment

        return fragment(to_html(self.table, max_rows=None))


# -- a run while it continues ------------------------------------------------------------------------------------------

_followed: weakref.WeakKeyDictionary[Run, StepPrinter] = weakref.WeakKeyDictionary()


def follow(run: Run, shell: Any) -> None:
    """Show a run from now on: in a notebook as a live view in the output of this cell, elsewhere line by line."""
    if in_notebook(shell):
        from agentkit.notebook import widget

        widget.show(run, shell, goes_on=True)
        hide_at_end_of_cell(run, shell)
    elif run not in _followed:
        _followed[run] = StepPrinter(run)


class StepPrinter:
    """Prints the steps of a run as lines, in colour if the output is a terminal."""

    def __init__(self, run: Run) -> None:
        self._run = weakref.ref(run)
        run.on_event(self.on_event)

    def on_event(self, event: Event) -> None:
        """Print an event if it is a recorded entry, an error, or a reason to wait."""
        run = self._run()
        if run is None:
            return
        entry = run.trace.tree.entries.get(event.cursor) if event.cursor else None
        if entry is not None:
            _print_text(repr(entry), run)
        elif event.kind == "waiting":
            _print_text(f"! {one_line(event.data['why'])}", run)
        elif event.kind == "error":
            _print_text(f"! {event.data['type']}: {one_line(event.data['text'])}", run)
        elif event.kind == "paused" and run.status != "done":
            _print_text(f"! the run is {run.status}; %agent help lists the commands to continue", run)


def _print_text(text: str, run: Run) -> None:
    running = [other for other in _followed if other.status == "running"]
    prefix = f"[{run.id[:6]}] " if len(running) > 1 else ""
    for line in text.split("\n"):
        if sys.stdout.isatty():
            from rich.console import Console
            from rich.text import Text

            Console().print(Text(prefix + line, style=_STYLES.get(line.split(" ", 1)[0], "")), soft_wrap=True)
        else:
            sys.stdout.write(f"{prefix}{line}\n")
