# mypy: disable-error-code="no-untyped-call,misc"
"""What all live views in a notebook have in common: a widget, its messages, and the outputs that it stands for.

The kernel sends from the clock's thread, in the context of the cell that shows the view. What the page sends is handled
in whatever thread it arrives, and never waited for.

The module that draws views is large and the same for all: what each widget carries is a small loader, which asks for
the module only if the page does not have it yet.
"""

from __future__ import annotations

import contextvars
import hashlib
import time
import weakref
from collections.abc import Callable, Collection
from importlib import resources
from typing import Any, Self

import anywidget
import traitlets

from agentkit.core.live_shell import live_shell
from agentkit.errors import UsageError
from agentkit.notebook.moments import Moments
from agentkit.run.run import Run
from agentkit.view.dispatcher import Dispatcher
from agentkit.view.outbox import Outbox
from agentkit.view.wire import CLOCK

Data = dict[str, Any]

ABILITIES = ("insert", "settle", "dock")
"""What a page may be able to do: insert cells, change outputs in the notebook, open a view beside the notebook."""

GONE = 3.0
"""Seconds that the pages have to answer before a view that none of them shows is closed."""

GREETING = 10.0
"""Seconds to wait for the first message of a page before it counts as one that shows no widgets."""

_STATIC = resources.files("agentkit") / "static"


def module(name: str) -> str:
    """Return the module that draws the views of a kind."""
    return (_STATIC / name).read_text()


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()[:16]


class ViewWidget(anywidget.AnyWidget):
    """The widget model of a view; the shapes of its traits and messages are those of widgets/src/protocol.ts."""

    _esm = _STATIC / "loader.js"

    run_id = traitlets.Unicode().tag(sync=True)
    status = traitlets.Unicode().tag(sync=True)
    seq = traitlets.Int().tag(sync=True)
    uid = traitlets.Unicode().tag(sync=True)
    moment = traitlets.Int().tag(sync=True)
    module = traitlets.Unicode().tag(sync=True)


class NotebookView:
    """Something in a notebook: its widget, the outbox that updates it, and the dispatcher of its commands."""

    MODULE = ""
    """The file of the module that draws the view."""

    feed: Outbox
    dispatcher: Dispatcher
    changing: Collection[str] = ()
    """The commands after which a person has used the view."""

    def __init__(self, shown: Any, name: str) -> None:
        self.shown = shown
        self.shell = live_shell()
        self.widget = ViewWidget(run_id=name, status=shown.status, module=_digest(module(self.MODULE)))
        self.uid = self.widget.uid = self.widget.model_id
        self._reply_on_main_shell(self.widget.comm)
        self._context = contextvars.copy_context()
        self._parent: Any = None
        self._abilities: set[str] = set()
        self._requests: dict[str, tuple[Callable[[int], None], Data]] = {}
        self._changing: set[str] = set()
        self._closing_at = 0.0
        self._is_greeted = False
        self.is_placed = False
        self.moments = Moments(shown, self.shell, self)

    @classmethod
    def of(cls, shown: Any) -> Self:
        """Return the live view of a thing; it is created at the first call."""
        existing: Self | None = _views.get(shown)
        if existing is None:
            existing = _views[shown] = cls(shown)  # type: ignore[call-arg]  # those of things know their names
        return existing

    def open(self) -> None:
        """Begin to listen; the feed and the dispatcher are there."""
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
            self._show_run(run)
        finally:
            self.shell.set_parent(before)

    def _show_run(self, run: Run) -> None:
        """Show a run in the output of the running cell."""
        raise NotImplementedError

    def display(self, goes_on: bool = False) -> None:
        """Show it in the output of the running cell, which makes it go on if `goes_on`."""
        self._context = contextvars.copy_context()
        self._parent = self.shell.get_parent() if self.shell is not None else None
        self.moments.show(goes_on)

    def close(self) -> None:
        """Stop updating the view, and close its widget."""
        self.forget()
        CLOCK.remove(self._tick)
        if self.shell is not None and self._before_cell in self.shell.events.callbacks["pre_run_cell"]:
            self.shell.events.unregister("pre_run_cell", self._before_cell)
        self.feed.close()
        self.widget.layout.close()
        self.widget.close()

    def forget(self) -> None:
        """If the thing is shown again, let it have another view."""
        if _views.get(self.shown) is self:
            del _views[self.shown]

    def _before_cell(self, *_: Any) -> None:
        self.moments.settle()

    def _tick(self) -> None:
        self.moments.tick()
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
            if str(message.get("cmd")) in self.changing:
                self._changing.add(str(message.get("cid")))
            self.dispatcher.take(message)
        elif kind == "did" and (pending := self._requests.pop(str(message.get("cid")), None)):
            on_done, count = pending[0], message.get("count")
            on_done(count if isinstance(count, int) else 0)
        elif kind == "module":
            self.feed.reply({"t": "module", "code": module(self.MODULE)})
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
        """Update the traits."""
        self._context.copy().run(self.widget.set_trait, "status", status)
        self._context.copy().run(self.widget.set_trait, "seq", seq)
        self.moments.idle()

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


_views: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def live_view(shown: Any) -> Any:
    """Return the live view of a thing, or None if it has none."""
    return _views.get(shown)
