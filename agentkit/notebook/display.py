# mypy: disable-error-code="no-untyped-call"
"""What the magics show: tables, remarks, the trace of a run once it rests, and a run while it goes on.

In a notebook that is the live view of `agentkit.notebook.widget`; in a terminal the steps are printed as they happen.
"""

from __future__ import annotations

import html
import sys
import weakref
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from agentkit.core.text import one_line

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


class Remark:
    """A sentence or two for the person; `value` is what they are about."""

    def __init__(self, text: str, value: Any = None) -> None:
        self.text = text
        self.value = value

    def __repr__(self) -> str:
        return self.text


class Table:
    """Rows of short texts under headings; a cell is one line and holds nothing that a terminal or a page would obey."""

    def __init__(self, headings: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> None:
        self.headings = list(headings)
        self.rows = [[one_line(cell, 100) for cell in row] for row in rows]
        self.note = note

    def __repr__(self) -> str:
        written = [self.headings, *self.rows]
        widths = [max(len(row[column]) for row in written) for column in range(len(self.headings))]
        text = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in written
        ]
        return "\n".join([*text, *([self.note] if self.note else [])])

    def _repr_html_(self) -> str:
        def row(cells: list[str], tag: str) -> str:
            style = ' style="text-align:left;vertical-align:top"'
            return "<tr>" + "".join(f"<{tag}{style}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(row(cells, "td") for cells in self.rows)
        note = f"<p>{html.escape(self.note)}</p>" if self.note else ""
        return f"<table><thead>{row(self.headings, 'th')}</thead><tbody>{body}</tbody></table>{note}"


def in_notebook(shell: Any) -> bool:
    """Whether a shell has outputs that can be changed later; one in a terminal has not."""
    return hasattr(shell, "kernel")


# -- a run, once ---------------------------------------------------------------------------------------------------------


def bundle(run: Run, shell: Any) -> dict[str, Any]:
    """Give all that a run is shown as, by MIME type, also while `hush` is on."""
    formats = shell.display_formatter
    found = {
        kind: shown for kind, form in formats.formatters.items() if form.enabled and (shown := form(run)) is not None
    }
    more = formats.mimebundle_formatter(run) or {}
    return {**found, **(more[0] if isinstance(more, tuple) else more)}


def show(run: Run, shell: Any) -> None:
    """Show a run as it stands, once, in the output of the running cell."""
    from IPython.display import display

    display(bundle(run, shell), raw=True)


def hush(run: Run, shell: Any) -> None:
    """Let the rest of the running cell pass over a run that the cell has shown already, though it is the last value."""
    held = vars(run)
    if "_ipython_display_" in held:
        return
    held["_ipython_display_"] = lambda: None

    def over(*_: Any) -> None:
        held.pop("_ipython_display_", None)
        shell.events.unregister("post_run_cell", over)

    shell.events.register("post_run_cell", over)


# -- a run, while it goes on ---------------------------------------------------------------------------------------------

_followed: weakref.WeakKeyDictionary[Run, Lines] = weakref.WeakKeyDictionary()


def follow(run: Run, shell: Any) -> None:
    """Show a run from here on: in a notebook as a live view in the output of this cell, elsewhere line by line."""
    if in_notebook(shell):
        from agentkit.notebook import widget

        widget.show(run, shell)
        hush(run, shell)
    elif run not in _followed:
        _followed[run] = Lines(run)


class Lines:
    """The steps of a run as lines in the terminal, coloured where the terminal is a person's."""

    def __init__(self, run: Run) -> None:
        self._run = weakref.ref(run)
        run.on_event(self.tell)

    def tell(self, event: Event) -> None:
        """Print what an event means to a reader; many mean nothing that the next line will not say."""
        run = self._run()
        if run is None:
            return
        entry = run.trace.tree.entries.get(event.cursor) if event.cursor else None
        if entry is not None:
            _say(repr(entry), run)
        elif event.kind == "waiting":
            _say(f"! {one_line(event.data['why'])}", run)
        elif event.kind == "error":
            _say(f"! {event.data['type']}: {one_line(event.data['text'])}", run)
        elif event.kind == "paused" and run.status != "done":
            _say(f"! {run.status}: %agent help says how to go on", run)


def _say(text: str, run: Run) -> None:
    busy = [other for other in _followed if other.status == "running"]
    name = f"[{run.id[:6]}] " if len(busy) > 1 else ""
    for line in text.split("\n"):
        if sys.stdout.isatty():
            from rich.console import Console
            from rich.text import Text

            Console().print(Text(name + line, style=_STYLES.get(line.split(" ", 1)[0], "")), soft_wrap=True)
        else:
            sys.stdout.write(f"{name}{line}\n")
