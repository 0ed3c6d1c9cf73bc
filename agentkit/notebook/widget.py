# mypy: disable-error-code="no-untyped-call,misc"
"""The live view of a run: one widget per run, with any number of views that stay in step.

The kernel sends through one clock's thread, in the context of the cell that shows the run; what comes back from the page
is taken in whatever thread it arrives, and never waited for.
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
from agentkit.view.feed import Feed
from agentkit.view.hand import Hand

Data = dict[str, Any]

VIEW = "application/vnd.jupyter.widget-view+json"
_STATIC = resources.files("agentkit") / "static"


class RunWidget(anywidget.AnyWidget):
    """The model of the views of one run; the shapes of its traits and messages are those of widgets/src/protocol.ts."""

    _esm = _STATIC / "widget.js"
    _css = _STATIC / "widget.css"

    run_id = traitlets.Unicode().tag(sync=True)
    status = traitlets.Unicode().tag(sync=True)
    seq = traitlets.Int().tag(sync=True)
    uid = traitlets.Unicode().tag(sync=True)


class View:
    """A run in a notebook: the widget, what it is sent, and what comes back from it."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.shell = live_shell()
        self.widget = RunWidget(run_id=run.id, status=run.status)
        self.widget.uid = self.widget.model_id
        self._trust_the_page(self.widget.comm)
        self._context = contextvars.copy_context()
        self._parent = self.shell.get_parent() if self.shell is not None else None
        self._handles: list[Any] = []
        self._can: set[str] = set()
        self._asked: dict[str, tuple[Callable[[int], None], Data]] = {}
        self._ended = run.answer is not None
        self.feed = Feed(run, self)
        self.hand = Hand(self.feed)
        self.widget.on_msg(lambda _, content, __: self._received(content))

    @staticmethod
    def _trust_the_page(comm: Any) -> None:
        """Let replies go where the page listens: ipykernel 7.4 sends them to whoever published last, and that may be busy."""
        if hasattr(comm, "_reply_subshell_for"):
            comm._reply_subshell_for = lambda data, default: default

    def show(self, run: Run) -> None:
        """Show a run in the output of the cell that this view belongs to."""
        if self.shell is None:
            raise UsageError("a second run cannot be shown from here; run.fork(...) in Python gives it")
        self.shell.user_ns["agent_run"] = run
        self._context.copy().run(self._show_there, run)

    def _show_there(self, run: Run) -> None:
        before = self.shell.get_parent()
        self.shell.set_parent(self._parent)  # ipykernel 6 keeps in one variable which cell prints
        try:
            show(run, self.shell)
        finally:
            self.shell.set_parent(before)

    def display(self) -> None:
        """Show the view in the output of the running cell, beside what is shown where no kernel is."""
        from IPython.display import display as put

        shown = {
            **static(self.run, self.shell),
            VIEW: {"version_major": 2, "version_minor": 0, "model_id": self.widget.model_id},
        }
        self._handles.append(put(shown, raw=True, display_id=True))

    def close(self) -> None:
        """Let the view go: it is drawn no more."""
        self.feed.close()
        if _views.get(self.run) is self:
            del _views[self.run]
        self.widget.close()

    # -- what comes from the page ------------------------------------------------------------------------------------

    def _received(self, message: Any) -> None:
        kind = message.get("t") if isinstance(message, dict) else None
        if kind == "hello":
            can = message.get("can")
            self._can |= {name for name in ("insert", "freeze") if isinstance(can, dict) and can.get(name) is True}
            self.feed.hello()
            for _, asked in list(self._asked.values()):
                self.feed.reply(asked)  # whoever was asked before may be gone
        elif kind == "cmd":
            self.hand.take(message)
        elif kind == "did" and (waiting := self._asked.pop(str(message.get("cid")), None)):
            count = message.get("count")
            waiting[0](count if isinstance(count, int) else 0)

    def _ask(self, then: Callable[[int], None], message: Data) -> None:
        cid = uuid.uuid4().hex[:12]
        self._asked[cid] = then, {"cid": cid, **message}
        self.feed.reply(self._asked[cid][1])

    # -- what the feed wants of its place ----------------------------------------------------------------------------

    def send(self, message: Data) -> None:
        """Carry a message to the views."""
        self._context.copy().run(self.widget.send, message)

    def rest(self, status: str, seq: int) -> None:
        """Let the traits say how the run stands; a run that has just ended becomes a picture."""
        self._context.copy().run(self.widget.set_trait, "status", status)
        self._context.copy().run(self.widget.set_trait, "seq", seq)
        ended, self._ended = self._ended, self.run.answer is not None
        if self._ended and not ended:
            self.freeze(now=False)
        elif ended and not self._ended:  # an undo takes the end back, and with it the picture of it
            for cid in [cid for cid, (_, asked) in self._asked.items() if asked["t"] == "freeze"]:
                self._asked.pop(cid, None)

    def variable(self, run: Run) -> str:
        """Name the variable that holds a run."""
        names = self.shell.user_ns if self.shell is not None else {}
        return next((name for name, value in list(names.items()) if value is run and not name.startswith("_")), "")

    def predicate(self, text: str) -> Callable[[Entry], Any]:
        """Let the person's own shell make a function of their expression."""
        if self.shell is None:
            raise UsageError("there is no shell to read Python here; run.break_at(when=function) does it")
        try:
            function = self.shell.ev(f"lambda entry: (\n{text}\n)")
        except SyntaxError as error:
            raise UsageError(f"this is no Python expression: {error.msg}") from None
        function.__doc__ = text
        return function

    def insert(self, cells: list[Data]) -> Future[int]:
        """Put cells below the view, where the page can."""
        inserted: Future[int] = Future()
        if "insert" not in self._can:
            inserted.set_result(0)
        else:
            self._ask(inserted.set_result, {"t": "insert", "cells": cells})
        return inserted

    def freeze(self, *, now: bool = True) -> None:
        """Put a picture in the place of all views: by the page, which also knows outputs from before a reload, or by display id.

        Without `now` the page waits for a hand that is in a view.
        """
        shown = static(self.run, self.shell)
        if "freeze" in self._can:
            self._ask(lambda count: self._frozen(shown, count), {"t": "freeze", "data": shown, "now": now})
        else:
            self._frozen(shown, 0)

    def _frozen(self, shown: Data, count: int) -> None:
        if not count:
            if not self._handles:
                return  # placed by hand, in a layout: there is no output of ours to put anything into
            for handle in self._handles:
                self._context.copy().run(handle.update, shown, raw=True)
        self.close()


_views: weakref.WeakKeyDictionary[Run, View] = weakref.WeakKeyDictionary()


def view(run: Run) -> View:
    """Give the live view of a run; made when it is asked for first."""
    found = _views.get(run)
    if found is None:
        found = _views[run] = View(run)
    return found


def show(run: Run, shell: Any) -> None:
    """Show a run as a live view in the output of the running cell."""
    view(run).display()


def side_by_side(runs: list[Run]) -> Any:
    """Give the live views of several runs in one row, as wide as there is room."""
    from ipywidgets import HBox, Layout

    widgets = [view(run).widget for run in runs]
    for widget in widgets:
        widget.layout = Layout(flex="1 1 400px", min_width="0")
    return HBox(widgets, layout=Layout(flex_flow="row wrap"))


def freeze(run: Run) -> None:
    """Put a picture in the place of a run's live views. Does nothing where there is none."""
    if run in _views:
        _views[run].freeze()


def static(run: Run, shell: Any) -> Data:
    """Give what a run is shown as where no kernel is, by MIME type."""
    if shell is None:
        return {"text/plain": repr(run)}
    return bundle(run, shell)
