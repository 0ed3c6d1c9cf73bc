"""What is sent to the views of a thing: numbered messages, answers after what has happened so far, and resets."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, Protocol

from agentkit.view.wire import CLOCK, VERSION, clean

Data = dict[str, Any]


class Carrier(Protocol):
    """The place that shows the thing: it carries messages to the view."""

    def send(self, message: Data) -> None:
        """Send a message to the view."""

    def idle(self, status: str, seq: int) -> None:
        """Take note that everything up to message `seq` has been sent, and nothing is left to send at the moment."""


class Outbox:
    """Keeps the views of one thing up to date. The clock calls `update`; everything else may be called in any thread.

    What is sent follows from `_changes` and `_reset`, which the classes of the things define.
    """

    page: Carrier

    def __init__(self, name: str) -> None:
        self.name, self.seq = name, 0
        self._idle_seq = 0
        self._needs_reset = False
        self._replies: list[Data] = []
        self._replies_lock = threading.Lock()
        self._update_lock = threading.RLock()  # an update may close the outbox: a run that has ended becomes a snapshot
        self._closed = False

    def open(self) -> None:
        """Begin to send."""
        CLOCK.add(self.update)

    def close(self) -> None:
        """Stop sending, after waiting for an update in progress."""
        CLOCK.remove(self.update)
        with self._update_lock:
            was_closed, self._closed = self._closed, True
        if not was_closed:
            self._end()

    # -- what a thing defines ------------------------------------------------------------------------------------------

    @property
    def status(self) -> str:
        """The status of the thing."""
        raise NotImplementedError

    def _changes(self) -> list[Data]:
        """Take note of what has changed, and return it as events."""
        raise NotImplementedError

    def _reset(self) -> Data:
        """Return the message with the whole state."""
        raise NotImplementedError

    @property
    def is_elsewhere(self) -> bool:
        """Whether another process does what is asked, so that asking may take a while."""
        return False

    def _end(self) -> None:
        """Let go of the thing; called once."""

    def _failed(self) -> None:
        """Forget what was found out for changes that could not be sent."""

    def _batches(self, events: list[Data]) -> Iterator[list[Data]]:
        """Yield the events of each message."""
        if events:
            yield events

    # -- requests ------------------------------------------------------------------------------------------------------

    def hello(self) -> None:
        """Send the whole state: a view has opened, or has missed a message."""
        self._needs_reset = True
        CLOCK.wake(at_once=True)

    def reply(self, message: Data) -> None:
        """Answer a command, after sending what has happened so far; a result that is a function is
        called at that time.
        """
        with self._replies_lock:
            self._replies.append(message)
        CLOCK.wake(at_once=True)

    # -- sending -------------------------------------------------------------------------------------------------------

    def update(self) -> None:
        """Send what has changed since the last update."""
        with self._update_lock:
            if not self._closed:
                self._update()

    def _update(self) -> None:
        with self._replies_lock:
            replies, self._replies = self._replies, []
        before = self.seq
        try:
            self._send_changes()
        finally:
            for message in replies:
                self._send(_evaluated(message))
        if before == self.seq != self._idle_seq:
            self._idle_seq = self.seq
            self.page.idle(self.status, self.seq)

    def _send_changes(self) -> None:
        """Send what has changed; if that fails, send the whole state as soon as possible."""
        try:
            changes = self._changes()
        except BaseException:
            self._needs_reset = True
            self._failed()
            raise
        if self._needs_reset:
            self._needs_reset = False
            self._send(self._reset())
            return
        for events in self._batches(changes):
            self._send({"t": "events", "ev": events})

    def _send(self, message: Data) -> None:
        self.seq += 1
        self.page.send(clean({"v": VERSION, "run": self.name, "seq": self.seq, **message})[0])


def _evaluated(message: Data) -> Data:
    """Return a reply with its result; a result that is a function is called now."""
    result = message.get("result")
    return {**message, "result": result()} if callable(result) else message
