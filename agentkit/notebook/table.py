# mypy: disable-error-code="no-untyped-call,misc"
"""The live table of an experiment: one widget per experiment, whose cells open runs below it."""

from __future__ import annotations

import time
from typing import Any

from agentkit.core import background
from agentkit.experiments.experiment import Experiment
from agentkit.gates.state import Status
from agentkit.notebook import widget
from agentkit.notebook.page import GREETING, NotebookView
from agentkit.run.run import Run
from agentkit.view.dispatcher import Dispatcher
from agentkit.view.table import SHARE, TableFeed
from agentkit.view.table_commands import OF_TABLE

PATIENCE = 2.0
"""Seconds to wait for the first message of a page before the static table is kept up to date for it."""

CHECKPOINT = 30.0
"""Seconds between two static tables that are left in the notebook while a page shows the live one."""


class TableView(NotebookView):
    """An experiment in a notebook."""

    MODULE = "table.js"
    changing = ("begin",)

    def __init__(self, found: Experiment) -> None:
        super().__init__(found, found.name)
        self.found = found
        self._was_running = False
        self._refresh_at = self._freezing_at = 0.0
        self.feed: TableFeed = TableFeed(found, self)
        self.dispatcher = Dispatcher(self.feed, OF_TABLE)
        self.open()

    def display(self, goes_on: bool = False) -> None:
        """Show the experiment in the output of the running cell."""
        super().display(goes_on)
        self._was_running = self.found.status == Status.RUNNING
        self._refresh_at = time.monotonic() + PATIENCE
        if not self._was_running:
            self._freezing_at = time.monotonic() + GREETING

    def _tick(self) -> None:
        super()._tick()
        now = time.monotonic()
        if self._was_running and self.found.status != Status.RUNNING:
            self._was_running = False
            self._freezing_at = now + GREETING
            self.moments.used()
            background.in_thread(self.moments.settle)  # the differences may take a while
        elif self._was_running and now >= self._refresh_at:
            self._refresh(now)
        if self._freezing_at and now >= self._freezing_at:
            self._freezing_at = 0.0
            if not self._is_greeted:  # nothing here draws widgets
                self.moments.finish(self.close)

    def _refresh(self, now: float) -> None:
        """Bring the static table up to date: often where it is all that there is, now and then elsewhere."""
        if not self._is_greeted:
            self.moments.refresh()
            self._refresh_at = now + max(0.5, (time.monotonic() - now) / SHARE)
        else:
            self._refresh_at = now + CHECKPOINT
            if self.settles:
                self.moments.refresh()

    # -- what the feed needs of its page -------------------------------------------------------------------------------

    def idle(self, status: str, seq: int) -> None:
        """Update the traits."""
        super().idle(status, seq)
        self._was_running = self._was_running or status == Status.RUNNING

    def _show_run(self, run: Run) -> None:
        widget.show(run, self.shell)

    def hide(self, run: Run) -> None:
        """Show a run no longer."""
        widget.withdraw(run)

    def shows(self, run: Run) -> bool:
        """Return whether a run is shown."""
        return widget.is_shown(run)


def view(found: Experiment) -> TableView:
    """Return the live table of an experiment; it is created at the first call."""
    return TableView.of(found)


def show(found: Experiment, shell: Any) -> None:
    """Show an experiment as a live table in the output of the running cell."""
    view(found).display()
