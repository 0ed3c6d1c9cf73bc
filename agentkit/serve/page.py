"""The live view of a run in a browser without Jupyter: what `agentkit.notebook.widget` is for a notebook.

One page serves all sockets with the same rights over a run: it encodes each message once. It outlives its sockets for a
while, so that a browser whose connection was interrupted finds the answers to its commands.

What crosses a socket is JSON: `{"custom": message}` and `{"traits": …}` to the browser, the messages of
widgets/src/protocol.ts from it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from agentkit.errors import AgentkitError, UsageError
from agentkit.journal.entries import Entry
from agentkit.run.run import Run
from agentkit.serve.guard import MAY, Right
from agentkit.serve.hub import Hub
from agentkit.view.dispatcher import Dispatcher
from agentkit.view.feed import Feed

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

Data = dict[str, Any]

DRIVING = frozenset({"python", "notebook", "settings"})
"""What every page of a server refuses: it would evaluate Python, or write files, on the machine of the server."""

WATCHING = DRIVING | {"change", "inside"}
"""What is refused to those who may only watch."""

WATCHED = frozenset(
    {"page", "text", "original", "request", "tokens", "profile", "branches", "compare", "forecast", "samples", "trials"}
)
"""The commands of those who may only watch: they change nothing, and look neither at files nor into the engine."""

MAX_MESSAGES = 256
MAX_CHARACTERS = 8_000_000
"""How much may wait to be sent over a socket before it is closed. The browser connects again, and is sent the state."""

MAX_SOCKETS = 500
"""How many sockets a server has at most for the pages of runs, and how many for the list of runs."""

LINGER = 30.0
"""Seconds for which a page outlives its last socket."""

FOLLOW_INTERVAL = 1.0
"""Seconds between two checks of whether another object stands for the run by now: because another process has gone on
with it, or because this one has begun to hold it.
"""

GONE, TRY_LATER = 4404, 1013
"""Codes with which a socket is closed: there is no such run, or it is damaged; the browser is too slow, or there are
too many sockets.
"""


class TooSlow(Exception):
    """More waits to be sent over a socket than is kept for it."""


class Outbox:
    """What waits to be sent over one socket. Filled from any thread, emptied in the event loop of the socket."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._texts: deque[str] = deque()
        self._size = 0
        self._is_full = False
        self._lock = threading.Lock()
        self._filled = asyncio.Event()

    def put(self, text: str) -> None:
        """Add a message. A single one may have any size."""
        with self._lock:
            is_first = not self._texts
            if not is_first and (len(self._texts) >= MAX_MESSAGES or self._size + len(text) > MAX_CHARACTERS):
                self._is_full = True
            if self._is_full:
                return
            self._texts.append(text)
            self._size += len(text)
        if is_first:
            with contextlib.suppress(RuntimeError):  # the loop has been closed, and the socket with it
                self._loop.call_soon_threadsafe(self._filled.set)

    async def take(self) -> list[str]:
        """Return what waits, as soon as there is something. Raises `TooSlow` if some of it was dropped."""
        await self._filled.wait()
        self._filled.clear()
        with self._lock:
            if self._is_full:
                raise TooSlow
            texts = list(self._texts)
            self._texts.clear()
            self._size = 0
        return texts


class WebPage:
    """A run in the browsers of those with the same rights. Everything may be called in any thread."""

    def __init__(self, hub: Hub, id: str, may: Right) -> None:
        self._hub, self._id, self._may = hub, id, may
        self.refuses = DRIVING if may == "drive" else WATCHING
        self.outboxes: tuple[Outbox, ...] = ()
        self._unused_since = time.monotonic()
        self._traits = ""
        self._lock = threading.Lock()
        self.run = hub.follow(id)
        self._feed = Feed(self.run, self)
        self._dispatcher = Dispatcher(self._feed)

    def attach(self, outbox: Outbox) -> None:
        """Send everything from now on to one more socket."""
        with self._lock:
            self.outboxes = (*self.outboxes, outbox)
        if self._traits:
            outbox.put(self._traits)

    def detach(self, outbox: Outbox) -> None:
        """Send nothing more to a socket."""
        with self._lock:
            self.outboxes = tuple(other for other in self.outboxes if other is not outbox)
            self._unused_since = time.monotonic()

    @property
    def is_unused(self) -> bool:
        """Whether there has been no socket for a while."""
        return not self.outboxes and time.monotonic() - self._unused_since > LINGER

    def close(self) -> None:
        """Stop following the run."""
        self._feed.close()

    def follow(self) -> None:
        """If the server now has another object for the run, show that one."""
        with contextlib.suppress(AgentkitError, OSError):  # it was deleted, or cannot be read: the last state stays
            run = self._hub.follow(self._id)
            if run is not self.run:
                self._feed.close()
                self.run = run
                self._feed = Feed(run, self)
                self._dispatcher = Dispatcher(self._feed)
                self._feed.hello()

    def receive(self, message: Data) -> None:
        """Carry out what a browser asks for."""
        kind = message.get("t")
        if kind == "hello":
            self._feed.hello()
            self._dispatcher.answer_again(message.get("unanswered"))
        elif kind == "cmd" and self._is_refused(message):
            error = "this token is for watching only"
            self._feed.reply({"t": "nak", "cid": str(message.get("cid"))[:100], "error": error, "type": "UsageError"})
        elif kind == "cmd":
            self._dispatcher.take(message)

    def _is_refused(self, message: Data) -> bool:
        return self._may != "drive" and str(message.get("cmd")) not in WATCHED

    # -- what the feed needs of its page -----------------------------------------------------------------------------

    def send(self, message: Data) -> None:
        """Send a message to all sockets."""
        self._put(json.dumps({"custom": message}, ensure_ascii=False))

    def idle(self, status: str, seq: int) -> None:
        """Tell all sockets the status, and the number of the last message."""
        self._traits = json.dumps({"traits": {"status": str(status), "seq": seq}})
        self._put(self._traits)

    def _put(self, text: str) -> None:
        for outbox in self.outboxes:
            outbox.put(text)

    def variable_name(self, run: Run) -> str:
        """Return "": a browser knows nothing of the variables of this process."""
        return ""

    def predicate(self, expression: str) -> Callable[[Entry], Any]:
        """Refuse to evaluate Python that comes from a page."""
        raise UsageError("this page cannot evaluate Python; use run.break_at(when=function) in Python instead")

    def show(self, run: Run) -> None:
        """Let the server show another run too; the browser that asked for it opens its view."""
        self._hub.add(run)

    def insert(self, cells: list[Data]) -> Future[int]:
        """Refuse to insert cells."""
        raise UsageError("there is no notebook here to insert cells into; export the run as a notebook instead")

    def freeze(self) -> None:
        """Refuse to leave a static form behind."""
        raise UsageError("only the output of a notebook keeps a static form; export the run as HTML instead")


class Pages:
    """The pages of a server, by run and rights."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._pages: dict[tuple[str, Right], WebPage] = {}
        self._lock = threading.Lock()
        self._sockets = 0
        self._caretaker: asyncio.Task[None] | None = None

    async def connect(self, socket: WebSocket) -> None:
        """Show the run that the path names over a websocket, until one of the two ends it."""
        from starlette.websockets import WebSocketDisconnect, WebSocketState

        await socket.accept()
        if self._sockets >= MAX_SOCKETS:
            await socket.close(TRY_LATER)
            return
        self._sockets += 1
        may: Right = "drive" if socket.scope.get(MAY) == "drive" else "watch"
        outbox = Outbox()
        page: WebPage | None = None
        try:
            page = await asyncio.to_thread(self._attach, socket.path_params["id"], may, outbox)
            self._take_care()
            await _first_of(_send(socket, outbox), _receive(socket, page))
        except AgentkitError:  # it is unknown, or its recording is damaged
            await socket.close(GONE)
        except TooSlow:
            await socket.close(TRY_LATER)
        except (WebSocketDisconnect, RuntimeError):
            pass  # the browser has left, perhaps while it was being sent something
        finally:
            self._sockets -= 1
            if page is not None:
                page.detach(outbox)
            if socket.application_state is WebSocketState.CONNECTED is socket.client_state:
                with contextlib.suppress(RuntimeError, OSError):
                    await socket.close(TRY_LATER)

    def _attach(self, id: str, may: Right, outbox: Outbox) -> WebPage:
        with self._lock:
            page = self._pages.get((id, may))
            if page is None:
                page = self._pages[id, may] = WebPage(self._hub, id, may)
            page.attach(outbox)
        return page

    def _take_care(self) -> None:
        if self._caretaker is None or self._caretaker.done():
            self._caretaker = asyncio.create_task(self._care())

    async def _care(self) -> None:
        """Bring the pages up to date, and close those that nobody has looked at for a while, until there are none.

        At the end of the server, its loop cancels this, and all are closed.
        """
        try:
            while self._pages:
                await asyncio.sleep(FOLLOW_INTERVAL)
                await asyncio.to_thread(self._look_around)
        finally:
            self.close()

    def _look_around(self) -> None:
        with self._lock:
            unused = [key for key, page in self._pages.items() if page.is_unused]
            closing = [self._pages.pop(key) for key in unused]
            pages = list(self._pages.values())
        for page in closing:
            page.close()
        for page in pages:
            page.follow()

    def close(self) -> None:
        """Stop following the runs."""
        with self._lock:
            pages, self._pages = list(self._pages.values()), {}
        for page in pages:
            page.close()


async def _send(socket: WebSocket, outbox: Outbox) -> None:
    while True:
        for text in await outbox.take():
            await socket.send_text(text)


async def _receive(socket: WebSocket, page: WebPage) -> None:
    while True:
        try:
            message = json.loads(await socket.receive_text())
        except (KeyError, TypeError, ValueError, RecursionError):  # binary, or no JSON
            continue
        if isinstance(message, dict):
            await asyncio.to_thread(page.receive, message)


async def _first_of(*coroutines: Any) -> None:
    """Wait until one of the coroutines ends, which is by an exception, cancel the others, and raise it."""
    tasks = [asyncio.ensure_future(each) for each in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
