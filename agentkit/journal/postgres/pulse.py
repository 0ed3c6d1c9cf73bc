"""The sign of life of a process: a connection that holds a lock for it, renews its leases, and carries notices.

A run is free if the lease in its row is over, or if no session holds the lock whose number is in the row. A pooler of
connections gives a client no session of its own; behind one there are no locks, and the lease counts alone. Notices
are sent together, apart from the rows: a notice in the transaction of a row would make all writers of the server wait
for each other. A notice only says which tree has new rows; a process that misses it looks by itself a little later.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agentkit.core.log import logger
from agentkit.journal.entries import Wish
from agentkit.journal.postgres.connection import Connections, first_line

if TYPE_CHECKING:
    import psycopg

LOCKS = 0x61676B74
"""The first number of all advisory locks: "agkt"."""

CHANNEL = "agentkit"
WISHED = "wish"
_TICK = 0.1
_LOOK = 1.0
"""How often to look for wishes without a notice, in seconds."""

_RENEW = """
UPDATE agentkit.runs SET until = clock_timestamp() + make_interval(secs => %(lease)s), session = %(session)s
WHERE run = ANY(%(runs)s) AND token = ANY(%(tokens)s)
"""
_TAKE = """
DELETE FROM agentkit.wishes AS w USING agentkit.runs AS r
WHERE w.run = r.run AND r.run = ANY(%s) AND r.token = ANY(%s)
RETURNING w.n, w.epoch, w.run, w.what, w.text, w.author
"""
"""Takes wishes only under the present claim: a process that sleeps while another takes its run over takes none."""
_UNSYNCED = "SELECT set_config('synchronous_commit', 'off', true)"
_NOTIFY = f"SELECT pg_notify('{CHANNEL}', tree::text) FROM unnest(%s::bigint[]) AS tree"


class Pulse:
    """The sign of life of this process in the database that `connections` lead to.

    A thread connects when it is first needed, and again when the connection was lost. `held` returns the runs that this
    process holds and the tokens of their claims; the leases are renewed three times in each `lease`. `listening`
    returns those of them of which somebody listens to wishes, and `pass_on` is given what others wish of these, each
    with the epoch of the claim that it was meant for; it must return quickly.
    """

    def __init__(
        self,
        connections: Connections,
        lease: float,
        held: Callable[[], dict[str, str]],
        listening: Callable[[], dict[str, str]],
        pass_on: Callable[[list[tuple[Wish, int]]], None],
    ) -> None:
        self._connections, self._lease, self._held = connections, lease, held
        self._listening, self._pass_on = listening, pass_on
        self._look_at = 0.0
        self._session = 0
        self._connected = threading.Event()
        self._news = threading.Condition()
        self._changes = 0
        self._changed: set[int] = set()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self._lock = threading.Lock()

    def start(self) -> int:
        """Return the number of the lock of this process, once it has a connection; 0 behind a pooler.

        Raises `JournalError` if the server cannot be reached.
        """
        self._begin()
        if not self._connected.wait(self._connections.timeout):
            raise self._connections.unreachable(first_line(self._error) if self._error else "it does not answer")
        return self._session

    def _begin(self) -> None:
        with self._lock:
            if self._thread is None:
                arguments = (weakref.ref(self), self._stop)
                self._thread = threading.Thread(target=_beat, args=arguments, name="agentkit-pulse", daemon=True)
                self._thread.start()

    def announce(self, tree: int) -> None:
        """Let those who follow a tree know soon that it has new rows."""
        self._changed.add(tree)

    def wait(self, timeout: float) -> None:
        """Wait for a number of seconds, or until any tree has new rows."""
        self._begin()
        with self._news:
            before = self._changes
            self._news.wait_for(lambda: self._changes != before, timeout)

    def stop(self) -> None:
        """End the thread, and with it the connection and its lock."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(2.0)

    def _live(self, stop: threading.Event) -> None:
        """Beat over one connection until it is lost, or until `stop`."""
        with contextlib.closing(self._connections.connect()) as connection:
            self._session = _take_lock(connection)
            if self._session:
                connection.execute(f"LISTEN {CHANNEL}")
            due = 0.0
            while not stop.is_set():
                if time.monotonic() >= due:
                    self._renew(connection)
                    due = time.monotonic() + self._lease / 3
                    self._error = None
                    self._connected.set()
                self._send(connection)
                self._take(connection)
                self._listen(connection, stop)
            self._send(connection)

    def _renew(self, connection: psycopg.Connection) -> None:
        if held := self._held():
            values = {"session": self._session, "lease": self._lease, "runs": list(held), "tokens": [*held.values()]}
            with connection.transaction():
                connection.execute(_UNSYNCED)
                connection.execute(_RENEW, values)

    def _take(self, connection: psycopg.Connection) -> None:
        """Take the wishes for the runs of this process, and pass them on without waiting for what they lead to."""
        if time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + _LOOK
        if listening := self._listening():
            found = sorted(connection.execute(_TAKE, (list(listening), [*listening.values()])).fetchall())
            if found:
                self._pass_on([(Wish(*wish), epoch) for _, epoch, *wish in found])

    def _send(self, connection: psycopg.Connection) -> None:
        changed = [self._changed.pop() for _ in range(len(self._changed))]
        if changed:
            with connection.transaction():
                connection.execute(_UNSYNCED)
                connection.execute(_NOTIFY, (changed,))

    def _listen(self, connection: psycopg.Connection, stop: threading.Event) -> None:
        """Wait for a tick; pass on that there was a notice."""
        if not self._session:
            stop.wait(_TICK)
            return
        for notice in connection.notifies(timeout=_TICK):
            if notice.payload == WISHED:
                self._look_at = 0.0
            with self._news:
                self._changes += 1
                self._news.notify_all()


def _take_lock(connection: psycopg.Connection) -> int:
    """Return the number of a lock that this connection now holds; 0 if a pooler is between it and the server."""
    row: Any = connection.execute("SELECT pg_backend_pid()").fetchone()
    if row[0] != connection.info.backend_pid:
        return 0
    while True:
        number = random.randrange(1, 2**31)
        row = connection.execute("SELECT pg_try_advisory_lock(%s, %s)", (LOCKS, number)).fetchone()
        if row[0]:
            return number


def _beat(owner: weakref.ref[Pulse], stop: threading.Event) -> None:
    """Beat until `stop`, or until nobody has the pulse any more."""
    import psycopg

    while not stop.is_set():
        pulse = owner()
        if pulse is None:
            return
        try:
            pulse._live(stop)
        except psycopg.Error as error:
            pulse._error = error
            pulse._connected.clear()
            logger.debug(
                "the connection for the leases of %s was lost: %s", pulse._connections.place, first_line(error)
            )
        del pulse
        stop.wait(0.25)
