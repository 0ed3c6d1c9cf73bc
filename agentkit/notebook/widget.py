# mypy: disable-error-code="no-untyped-call,misc"
"""The live view of a run: one widget per run, with any number of views that stay in sync.

The kernel sends from the clock's thread, in the context of the cell that shows the run. What the page sends is handled
in whatever thread it arrives, and never waited for.
"""

from __future__ import annotations

import contextvars
import uuid
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from importlib import resources
from typing import Any

import anywidget
import traitlets

from agentkit.errors import UsageError
from agentkit.journal.entries import Entry
from agentkit.notebook.shell import bundle, live_shell
from agentkit.run.run import Run
from agentkit.view.dispatcher import Dispatcher
from agentkit.view.feed import Feed

Data = dict[str, Any]

VIEW = "application/vnd.jupyter.widget-view+json"
_STATIC = resources.files("agentkit") / "static"


class RunWidget(anywidget.AnyWidget):
    """The widget model of a run; the shapes of its traits and messages are those of widgets/src/protocol.ts."""

    _esm = _STATIC / "widget.js"
    _css = _STATIC / "widget.css"

    run_id = traitlets.Unicode().tag(sync=True)
    status = traitlets.Unicode().tag(sync=True)
    seq = traitlets.Int().tag(sync=True)
    uid = traitlets.Unicode().tag(sync=True)


class View:
    """A run in a notebook: its widget, the feed that updates it, and the dispatcher of its commands."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.shell = live_shell()
        self.widget = RunWidget(run_id=run.id, status=run.status)
        self.widget.uid = self.widget.model_id
        self._reply_on_main_shell(self.widget.comm)
        self._context = contextvars.copy_context()
        self._parent = self.shell.get_parent() if self.shell is not None else None
        self._handles: list[Any] = []
        self._abilities: set[str] = set()
        self._requests: dict[str, tuple[Callable[[int], None], Data]] = {}
        self._has_ended = run.answer is not None
        self.feed = Feed(run, self)
        self.dispatcher = Dispatcher(self.feed)
        self.widget.on_msg(lambda _, content, __: self._receive(content))

    @staticmethod
    def _reply_on_main_shell(comm: Any) -> None:
        """Send replies to where the page listens: ipykernel 7.4 sends them to the last subshell, which may be busy."""
        if hasattr(comm, "_reply_subshell_for"):
            comm._reply_subshell_for = lambda data, default: default

    def show(self, run: Run) -> None:
        """Show a run in the output of the cell that this view belongs to."""
        if self.shell is None:
            raise UsageError("a second run cannot be shown here; use run.fork(...) in Python")
        self.shell.user_ns["agent_run"] = run
        self._context.copy().run(self._show_in_own_cell, run)

    def _show_in_own_cell(self, run: Run) -> None:
        before = self.shell.get_parent()
        self.shell.set_parent(self._parent)  # ipykernel 6 keeps the cell that receives outputs in one variable
        try:
            show(run, self.shell)
        finally:
            self.shell.set_parent(before)

    def display(self) -> None:
        """Show the view in the output of the running cell, with a snapshot for readers without a kernel."""
        from IPython.display import display

        data = {
            **snapshot(self.run, self.shell),
            VIEW: {"version_major": 2, "version_minor": 0, "model_id": self.widget.model_id},
        }
        self._handles.append(display(data, raw=True, display_id=True))

    def close(self) -> None:
        """Stop updating the view, and close its widget."""
        self.feed.close()
        if _views.get(self.run) is self:
            del _views[self.run]
        self.widget.close()

    # -- messages from the page --------------------------------------------------------------------------------------

    def _receive(self, message: Any) -> None:
        kind = message.get("t") if isinstance(message, dict) else None
        if kind == "hello":
            can = message.get("can")
            self._abilities |= {
                name for name in ("insert", "freeze") if isinstance(can, dict) and can.get(name) is True
            }
            self.feed.hello()
            for _, request in list(self._requests.values()):
                self.feed.reply(request)  # the page that got the request before may be gone
        elif kind == "cmd":
            self.dispatcher.take(message)
        elif kind == "did" and (pending := self._requests.pop(str(message.get("cid")), None)):
            on_done, count = pending[0], message.get("count")
            on_done(count if isinstance(count, int) else 0)

    def _request(self, on_done: Callable[[int], None], message: Data) -> None:
        cid = uuid.uuid4().hex[:12]
        self._requests[cid] = on_done, {"cid": cid, **message}
        self.feed.reply(self._requests[cid][1])

    # -- what the feed needs of its page -----------------------------------------------------------------------------

    def send(self, message: Data) -> None:
        """Send a message to the views."""
        self._context.copy().run(self.widget.send, message)

    def idle(self, status: str, seq: int) -> None:
        """Update the traits; if the run has just ended, replace its views by a snapshot."""
        self._context.copy().run(self.widget.set_trait, "status", status)
        self._context.copy().run(self.widget.set_trait, "seq", seq)
        had_ended, self._has_ended = self._has_ended, self.run.answer is not None
        if self._has_ended and not had_ended:
            self.freeze(now=False)
        elif had_ended and not self._has_ended:  # after an undo of the end, no snapshot is wanted any more
            for cid in [cid for cid, (_, request) in self._requests.items() if request["t"] == "freeze"]:
                self._requests.pop(cid, None)

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
            self._request(inserted.set_result, {"t": "insert", "cells": cells})
        return inserted

    def freeze(self, *, now: bool = True) -> None:
        """Replace all views by a snapshot: through the page if it can, which also finds outputs from before a reload.

        Without `now`, the page waits until nobody is using the view.
        """
        data = snapshot(self.run, self.shell)
        if "freeze" in self._abilities:
            self._request(lambda count: self._finish_freeze(data, count), {"t": "freeze", "data": data, "now": now})
        else:
            self._finish_freeze(data, 0)

    def _finish_freeze(self, data: Data, count: int) -> None:
        if not count:
            if not self._handles:
                return  # a widget that was placed in a layout has no output to replace
            for handle in self._handles:
                self._context.copy().run(handle.update, data, raw=True)
        self.close()


_views: weakref.WeakKeyDictionary[Run, View] = weakref.WeakKeyDictionary()


def view(run: Run) -> View:
    """Return the live view of a run; it is created at the first call."""
    existing = _views.get(run)
    if existing is None:
        existing = _views[run] = View(run)
    return existing


def show(run: Run, shell: Any) -> None:
    """Show a run as a live view in the output of the running cell."""
    view(run).display()


def side_by_side(runs: list[Run]) -> Any:
    """Return the live views of several runs in a row, which wraps if there is not enough room."""
    from ipywidgets import HBox, Layout

    widgets = [view(run).widget for run in runs]
    for widget in widgets:
        widget.layout = Layout(flex="1 1 400px", min_width="0")
    return HBox(widgets, layout=Layout(flex_flow="row wrap"))


def freeze(run: Run) -> None:
    """Replace the live views of a run by a static snapshot, if it has any."""
    if run in _views:
        _views[run].freeze()


def snapshot(run: Run, shell: Any) -> Data:
    """Return the static form of a run, by MIME type."""
    if shell is None:
        return {"text/plain": repr(run)}
    return bundle(run, shell)
