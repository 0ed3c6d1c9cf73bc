# mypy: disable-error-code="no-untyped-call,misc"
"""The live view of a run: one widget per run, with any number of views that stay in sync."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from agentkit.core import background
from agentkit.errors import UsageError
from agentkit.gates.state import Status
from agentkit.journal.entries import Entry
from agentkit.notebook.page import GREETING, NotebookView, live_view
from agentkit.run.run import Run
from agentkit.view.commands import CHANGING
from agentkit.view.dispatcher import Dispatcher
from agentkit.view.feed import Feed

Data = dict[str, Any]


class View(NotebookView):
    """A run in a notebook."""

    MODULE = "widget.js"
    changing = CHANGING
    refuses = frozenset[str]()

    def __init__(self, run: Run) -> None:
        super().__init__(run, run.id)
        self.run = run
        self._has_ended = run.answer is not None
        self._freezing_at = 0.0
        self.feed = Feed(run, self)
        self.dispatcher = Dispatcher(self.feed)
        self.open()

    def _show_run(self, run: Run) -> None:
        show(run, self.shell)

    def dock(self) -> None:
        """Open a view beside the notebook; if the page has no room for it, in a browser."""
        self.ask("dock", {"t": "dock"}, self._docked)

    def _docked(self, count: int) -> None:
        if not count:
            background.in_thread(self._show_in_browser)

    def _show_in_browser(self) -> None:
        from agentkit.serve.browser import show

        with contextlib.suppress(UsageError):  # without the extra "serve": the run is in the cell
            self._context.copy().run(show, self.run)

    def _tick(self) -> None:
        super()._tick()
        if self._freezing_at and (self._is_greeted or time.monotonic() >= self._freezing_at):
            self._freezing_at = 0.0
            if not self.settles:
                self.freeze()

    def idle(self, status: str, seq: int) -> None:
        """Update the traits; if the run has just ended and the page cannot settle, freeze the view soon."""
        super().idle(status, seq)
        if self.run.status == Status.RUNNING:
            return  # it may have an answer already, but what is left behind must say that it is done
        had_ended, self._has_ended = self._has_ended, self.run.answer is not None
        if self._has_ended != had_ended:
            self._freezing_at = time.monotonic() + GREETING * (not self._is_greeted) if self._has_ended else 0.0

    def variable_name(self, run: Run) -> str:
        """Return the name of the variable that holds a run, or ""."""
        names = self.shell.user_ns if self.shell is not None else {}
        return next((name for name, value in list(names.items()) if value is run and not name.startswith("_")), "")

    def predicate(self, expression: str) -> Callable[[Entry], Any]:
        """Return a function of an entry that evaluates a Python expression in the person's shell."""
        if self.shell is None:
            raise UsageError("there is no shell here to evaluate Python; use run.break_at(when=function) instead")
        try:
            function = self.shell.ev(f"lambda entry: (\n{expression}\n)")
        except SyntaxError as error:
            raise UsageError(f"this is not a Python expression: {error.msg}") from None
        function.__doc__ = expression
        return function

    def insert(self, cells: list[Data]) -> Future[int]:
        """Insert cells below the view if the page can; the future gives the number of inserted cells."""
        inserted: Future[int] = Future()
        if "insert" not in self._abilities:
            inserted.set_result(0)
        else:
            self.ask(uuid.uuid4().hex[:12], {"t": "insert", "cells": cells}, inserted.set_result)
        return inserted

    def freeze(self) -> None:
        """Leave the static form of the run behind, and close the live view."""
        self.moments.finish(self.close)

    def withdraw(self) -> None:
        """Leave nothing behind, and close the live view."""
        self.forget()  # now: the page takes its time, and the run may be shown again in the meantime
        self.moments.remove(self.close)


def view(run: Run) -> View:
    """Return the live view of a run; it is created at the first call."""
    return View.of(run)


def show(run: Run, shell: Any, *, goes_on: bool = False) -> None:
    """Show a run as a live view in the output of the running cell, which makes it go on if `goes_on`."""
    view(run).display(goes_on)


def dock(run: Run, shell: Any) -> None:
    """Show a run in the running cell, and beside the notebook where the page has room for it."""
    show(run, shell)
    view(run).dock()


def placed(run: Run) -> Any:
    """Return the live view of a run as a widget, which is closed only by `freeze`: any layout may contain it."""
    existing = view(run)
    existing.is_placed = True
    return existing.widget


def side_by_side(runs: list[Run]) -> Any:
    """Return the live views of several runs in a row, which wraps if there is not enough room."""
    from ipywidgets import HBox, Layout

    widgets = [placed(run) for run in runs]
    for widget in widgets:
        widget.layout.close()
        widget.layout = Layout(flex="1 1 400px", min_width="0")
    return HBox(widgets, layout=Layout(flex_flow="row wrap"))


def freeze(run: Run) -> None:
    """Leave the static form of a run behind, and close its live view, if it has one."""
    if (existing := live_view(run)) is not None:
        existing.freeze()


def is_shown(run: Run) -> bool:
    """Return whether a run has a live view."""
    return live_view(run) is not None


def withdraw(run: Run) -> None:
    """Show a run no longer, if it has a live view: nothing is left of it in its cell."""
    if (existing := live_view(run)) is not None:
        existing.withdraw()
