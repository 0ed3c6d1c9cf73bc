# mypy: disable-error-code="no-untyped-call,misc"
"""The live view of a run: one widget per run, with any number of views that stay in sync.

The kernel sends from the clock's thread, in the context of the cell that shows the run. What the page sends is handled
in whatever thread it arrives, and never waited for.

The module that draws views is large and the same for all: what each widget carries is a small loader, which asks for
the module only if the page does not have it yet.
"""

from __future__ import annotations

import contextvars
import hashlib
import time
import uuid
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from importlib import resources
from typing import Any

import anywidget
import traitlets

from agentkit.core.live_shell import live_shell
from agentkit.errors import UsageError
from agentkit.gates.state import Status
from agentkit.journal.entries import Entry
from agentkit.notebook.moments import Moments
from agentkit.run.run import Run
from agentkit.view.commands import CHANGING
from agentkit.view.dispatcher import Dispatcher
from agentkit.view.feed import Feed
from agentkit.view.wire import CLOCK

Data = dict[str, Any]

ABILITIES = ("insert", "settle", "dock")
"""What a page may be able to do: insert cells, change outputs in the notebook, open a view beside the notebook."""

GONE = 3.0
"""Seconds that the pages have to answer before a view that none of them shows is closed."""

GREETING = 10.0
"""Seconds to wait for the first message of a page before an ended run counts as shown by a page that cannot settle."""

_STATIC = resources.files("agentkit") / "static"


def module() -> str:
    """Return the module that draws the views."""
    return (_STATIC / "widget.js").read_text()


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()[:16]


class RunWidget(anywidget.AnyWidget):
    """The widget model of a run; the shapes of its traits and messages are those of widgets/src/protocol.ts."""

    _esm = _STATIC / "loader.js"

    run_id = traitlets.Unicode().tag(sync=True)
    status = traitlets.Unicode().tag(sync=True)
    seq = traitlets.Int().tag(sync=True)
    uid = traitlets.Unicode().tag(sync=True)
    moment = traitlets.Int().tag(sync=True)
    module = traitlets.Unicode().tag(sync=True)


class View:
    """A run in a notebook: its widget, the feed that updates it, and the dispatcher of its commands."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.shell = live_shell()
        self.widget = RunWidget(run_id=run.id, status=run.status, module=_digest(module()))
        self.uid = self.widget.uid = self.widget.model_id
        self._reply_on_main_shell(self.widget.comm)
        self._context = contextvars.copy_context()
        self._parent: Any = None
        self._abilities: set[str] = set()
        self._requests: dict[str, tuple[Callable[[int], None], Data]] = {}
        self._changing: set[str] = set()
        self._has_ended = run.answer is not None
        self._closing_at = self._freezing_at = 0.0
        self._is_greeted = False
        self.is_placed = False
        self.moments = Moments(run, self.shell, self)
        self.feed = Feed(run, self)
        self.dispatcher = Dispatcher(self.feed)
        self.widget.on_msg(lambda _, content, __: self._receive(content))
        CLOCK.add(self._tick)
        if self.shell is not None:
            self.shell.events.register("pre_run_cell", self._before_cell)

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

    def display(self, goes_on: bool = False) -> None:
        """Show the run in the output of the running cell, which makes it go on if `goes_on`."""
        self._context = contextvars.copy_context()
        self._parent = self.shell.get_parent() if self.shell is not None else None
        self.moments.show(goes_on)

    def dock(self) -> None:
        """Open a view beside the notebook, if the page has room for it."""
        self.ask("dock", {"t": "dock"}, lambda _: None)

    def close(self) -> None:
        """Stop updating the view, and close its widget."""
        CLOCK.remove(self._tick)
        if self.shell is not None and self._before_cell in self.shell.events.callbacks["pre_run_cell"]:
            self.shell.events.unregister("pre_run_cell", self._before_cell)
        self.feed.close()
        if _views.get(self.run) is self:
            del _views[self.run]
        self.widget.layout.close()
        self.widget.close()

    def _before_cell(self, *_: Any) -> None:
        self.moments.settle()

    def _tick(self) -> None:
        self.moments.tick()
        if self._freezing_at and (self._is_greeted or time.monotonic() >= self._freezing_at):
            self._freezing_at = 0.0
            if not self.settles:
                self.freeze()
        if self._closing_at and time.monotonic() >= self._closing_at:
            self.close()

    # -- messages from the page --------------------------------------------------------------------------------------

    def _receive(self, message: Any) -> None:
        kind = message.get("t") if isinstance(message, dict) else None
        if kind == "hello":
            can, self._is_greeted = message.get("can"), True
            self._abilities |= {name for name in ABILITIES if isinstance(can, dict) and can.get(name) is True}
            self.feed.hello()
            for _, request in list(self._requests.values()):
                self.feed.reply(request)  # the page that got the request before may be gone
            self.dispatcher.answer_again(message.get("unanswered"))
        elif kind == "cmd":
            if str(message.get("cmd")) in CHANGING:
                self._changing.add(str(message.get("cid")))
            self.dispatcher.take(message)
        elif kind == "did" and (pending := self._requests.pop(str(message.get("cid")), None)):
            on_done, count = pending[0], message.get("count")
            on_done(count if isinstance(count, int) else 0)
        elif kind == "module":
            self.feed.reply({"t": "module", "code": module()})
        elif kind == "gone" and not self.is_placed:
            self._closing_at = time.monotonic() + GONE
            self.feed.reply({"t": "shown?"})
        elif kind == "shown":
            self._closing_at = 0.0

    # -- what the feed needs of its page -----------------------------------------------------------------------------

    def send(self, message: Data) -> None:
        """Send a message to the views."""
        self._context.copy().run(self.widget.send, message)
        if message["t"] in ("ack", "nak") and message["cid"] in self._changing:
            self._changing.discard(message["cid"])
            self.moments.used()

    def idle(self, status: str, seq: int) -> None:
        """Update the traits; if the run has just ended and the page cannot settle, freeze the view soon."""
        self._context.copy().run(self.widget.set_trait, "status", status)
        self._context.copy().run(self.widget.set_trait, "seq", seq)
        self.moments.idle()
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

    # -- what the moments need of their page -------------------------------------------------------------------------

    @property
    def settles(self) -> bool:
        """Whether the page changes outputs in the notebook."""
        return "settle" in self._abilities

    def ask(self, cid: str, message: Data, on_done: Callable[[int], None]) -> None:
        """Send a request, instead of an earlier one with the same id; `on_done` is given what the page did."""
        self._requests[cid] = on_done, {"cid": cid, **message}
        self.feed.reply(self._requests[cid][1])

    def newest_moment(self, number: int) -> None:
        """Tell the page which moment is the newest."""
        self.widget.moment = number


_views: weakref.WeakKeyDictionary[Run, View] = weakref.WeakKeyDictionary()


def view(run: Run) -> View:
    """Return the live view of a run; it is created at the first call."""
    existing = _views.get(run)
    if existing is None:
        existing = _views[run] = View(run)
    return existing


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
    if run in _views:
        _views[run].freeze()
