# mypy: disable-error-code="no-untyped-call"
"""The outputs that show a run. Each one is a *moment*: the run as it was when its cell showed it, in a static form.

The live view is at the newest moment only. A page that can change the notebook mounts it beside the static form, so
that the file never contains anything else; other pages are sent the live view as an output, until it is replaced.

A moment changes in two cases, and only when the run has come to rest:

* It was shown while the run was under way, or by a cell that makes it go on: then it is completed.
* It is the newest one, and a person has used its view.

What the code of another cell does to the run belongs to the output of that cell.
"""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from agentkit.gates.state import Status
from agentkit.notebook.shell import bundle
from agentkit.run.run import Run

Data = dict[str, Any]

VIEW = "application/vnd.jupyter.widget-view+json"

QUIET = 0.3
"""Seconds without a change after which a run counts as being at rest: a person who steps quickly gets one snapshot."""


class Page(Protocol):
    """The page that shows the moments."""

    uid: str
    """The id of the widget model."""

    @property
    def settles(self) -> bool:
        """Whether the page replaces live outputs by static ones, and changes static ones on request."""

    def ask(self, cid: str, message: Data, on_done: Callable[[int], None]) -> None:
        """Send a request, instead of an earlier one with the same id; `on_done` is given what the page did, 0 for
        nothing.
        """

    def newest_moment(self, number: int) -> None:
        """Tell the page which moment is the newest."""


@dataclass
class _Moment:
    number: int
    handle: Any
    data: Data
    is_open: bool
    """Whether the run was under way, or about to be, when the data was made."""


class Moments:
    """The moments of one run. All methods may be called in any thread, except `show`, which belongs to a cell."""

    def __init__(self, run: Run, shell: Any, page: Page) -> None:
        self._run, self._shell, self._page = run, shell, page
        self._context = contextvars.copy_context()
        self._newest: _Moment | None = None
        self._open: list[_Moment] = []  # earlier ones
        self._is_used = False
        self._due = 0.0
        self._lock = threading.RLock()

    @property
    def count(self) -> int:
        """How often the run has been shown."""
        return 0 if self._newest is None else self._newest.number

    def show(self, goes_on: bool = False) -> None:
        """Show the run in the output of the running cell; with `goes_on`, the rest of the cell makes it go on."""
        from IPython.display import display

        with self._lock:
            self.settle()
            self._context = contextvars.copy_context()
            data, is_open = self._snapshot()
            moment = _Moment(self.count + 1, None, data, is_open or goes_on)
            earlier, self._newest = self._newest, moment
            if earlier is not None:
                if not self._page.settles:
                    self._update(earlier)
                if earlier.is_open:
                    self._open.append(earlier)
            content, metadata = self._output(moment)
            moment.handle = display(content, metadata=metadata, raw=True, display_id=True)
        self._page.newest_moment(moment.number)

    def used(self) -> None:
        """Take note that a person has changed the run in its view, or made it go on."""
        self._is_used = True
        self.idle()

    def idle(self) -> None:
        """Take note that the run has changed, and does not change at the moment."""
        self._due = time.monotonic() + QUIET

    def tick(self) -> None:
        """Settle if the run has been quiet for long enough; called all the time."""
        if self._due and time.monotonic() >= self._due:
            self.settle()

    def settle(self) -> None:
        """If the run is at rest, bring the moments that may change up to date."""
        with self._lock:
            self._due = 0.0
            changing = [*self._open]
            if self._newest is not None and (self._newest.is_open or self._is_used):
                changing.append(self._newest)
            if not changing or self._run.status == Status.RUNNING:
                return
            data, is_open = self._snapshot()
            if is_open:
                return
            self._open.clear()
            self._is_used = False
            for moment in changing:
                moment.data, moment.is_open = data, False
                self._publish(moment, lambda: None)

    def finish(self, on_done: Callable[[], None]) -> None:
        """Leave the newest moment behind in its static form, for good, and then call `on_done`."""
        with self._lock:
            self.settle()
            if (moment := self._newest) is None:
                return
            self._newest = None
            self._publish(moment, on_done)

    def remove(self, on_done: Callable[[], None]) -> None:
        """Leave nothing of the newest moment behind, and then call `on_done`."""
        with self._lock:
            moment, self._newest = self._newest, None
            if moment is None:
                on_done()
                return
            moment.data = {"text/plain": ""}
            self._publish(moment, on_done)

    def refresh(self) -> None:
        """Bring the newest moment up to date although the thing goes on: no page draws it, or it may be saved."""
        with self._lock:
            if (moment := self._newest) is not None:
                moment.data, moment.is_open = self._snapshot()
                self._publish(moment, lambda: None)

    # -- internals ---------------------------------------------------------------------------------------------------

    def _snapshot(self) -> tuple[Data, bool]:
        """Return the static form of the run, and whether the run was under way."""
        was_running = self._run.status == Status.RUNNING
        data = snapshot(self._run, self._shell)
        return data, was_running or self._run.status == Status.RUNNING

    def _publish(self, moment: _Moment, on_done: Callable[[], None]) -> None:
        """Replace the output of a moment: through the page if it can, which also finds outputs from before a reload."""

        def done(count: int) -> None:
            if not count:
                self._update(moment)
            on_done()

        if self._page.settles:
            data, _ = self._output(moment)
            self._page.ask(f"moment-{moment.number}", {"t": "moment", "moment": moment.number, "data": data}, done)
        else:
            done(0)

    def _update(self, moment: _Moment) -> None:
        content, metadata = self._output(moment)
        self._context.copy().run(moment.handle.update, content, metadata=metadata, raw=True)

    def _output(self, moment: _Moment) -> tuple[Data, Data]:
        """Return the output of a moment and its metadata; the marks tell the page where the live view may be."""
        uid, number = self._page.uid, moment.number
        content = dict(moment.data)
        if "text/html" in content:
            mark = f"ak-moment ak-moment-{uid}-{number}"
            content["text/html"] = f'<div class="{mark}">{content["text/html"]}</div>'
        if moment is self._newest and not self._page.settles:
            content[VIEW] = {"version_major": 2, "version_minor": 0, "model_id": uid}
        return content, {"agentkit": {"view": uid, "moment": number}}


def snapshot(run: Run, shell: Any) -> Data:
    """Return the static form of a run, by MIME type."""
    return {"text/plain": repr(run)} if shell is None else bundle(run, shell)
