"""Connections to PostgreSQL: few for a process, none for a child that was forked, and errors that say what to do.

Nothing is left in a session, since a pooler such as PgBouncer may give each transaction another one.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode

from agentkit.core import secrets
from agentkit.errors import JournalError, UsageError

if TYPE_CHECKING:
    import psycopg
    from psycopg_pool import ConnectionPool

T = TypeVar("T")

MOST = 8
"""How many connections a process has at most to one journal, beside the one of its heartbeat."""

_PAUSES = (0.0, 0.02, 0.1, 0.25, 0.5)
"""How long to wait before each new attempt, in seconds; the last one is repeated."""


class ConnectionLost(Exception):
    """The connection was lost, or there was none, so it is unknown what was done; it is worth trying again."""


class Connections:
    """The connections of this process to the database that `url` names.

    `timeout` is how many seconds to try again if the server cannot be reached. Raises `UsageError` if the URL is not
    valid, or if the packages are not installed.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self.parameters = _parameters(url)
        self.place = _place(self.parameters)
        self.timeout = timeout
        self.closed = False
        self._lock = threading.Lock()
        self._pool: ConnectionPool[Any] | None = None
        self._opened: weakref.WeakSet[Any] = weakref.WeakSet()
        _all.add(self)

    @property
    def url(self) -> str:
        """The URL with all its parameters, but without the password."""
        kept = {name: str(value) for name, value in self.parameters.items() if name not in ("password", "sslpassword")}
        return f"postgresql:///?{urlencode(kept, quote_via=quote)}"

    def connect(self) -> psycopg.Connection:
        """Return a new connection that the caller closes. Raises `psycopg.Error`."""
        import psycopg

        connection = psycopg.connect(**self.parameters, autocommit=True, prepare_threshold=None)
        self._opened.add(connection)
        return connection

    @contextlib.contextmanager
    def one(self) -> Iterator[psycopg.Connection]:
        """Yield a connection of the pool, for one thread.

        Raises `ConnectionLost` if there is none or it is lost meanwhile, and `JournalError` if the server refuses.
        """
        import psycopg
        from psycopg_pool import PoolTimeout

        pool = self._open_pool()
        try:
            with pool.connection() as connection:
                try:
                    yield connection
                except psycopg.Error as error:
                    if connection.closed or (error.sqlstate or "") in _PASSING:
                        raise ConnectionLost(first_line(error)) from error
                    raise
        except PoolTimeout:
            with contextlib.closing(self._attempt()):  # to say why
                raise ConnectionLost(f"all {MOST} connections of this process are in use") from None
        except psycopg.Error as error:
            raise explain(error, self.place) from error

    def _attempt(self) -> psycopg.Connection:
        import psycopg

        try:
            return self.connect()
        except psycopg.OperationalError as error:
            said = first_line(error)
            for words, state in _REFUSALS.items():
                if words in said:
                    raise JournalError(_explanation(self.place, state, said)) from error
            raise ConnectionLost(said) from error

    def do(self, action: Callable[[psycopg.Connection], T], refused: Callable[[str], JournalError] | None = None) -> T:
        """Return what an action returns; while connections are lost, it is tried again, so it may be done twice.

        If this does not succeed in time, what `refused` makes of the reason is raised, or `JournalError`.
        """
        end, attempt = time.monotonic() + self.timeout, 0
        while True:
            try:
                with self.one() as connection:
                    return action(connection)
            except ConnectionLost as lost:
                pause = _PAUSES[min(attempt, len(_PAUSES) - 1)]
                if time.monotonic() + pause >= end:
                    raise (refused or self.unreachable)(str(lost)) from lost
                time.sleep(pause)
                attempt += 1
                self._drop_lost()

    def unreachable(self, why: str) -> JournalError:
        """Return the error for a server that cannot be reached."""
        if any(words in why for words in _FULL):
            return JournalError(_explanation(self.place, "53300", why))
        return JournalError(
            f"cannot reach the journal {self.place} ({why}). Check the network and the server, and try again."
        )

    def _drop_lost(self) -> None:
        """Close the connections of the pool that were lost, all of which were if the server was restarted."""
        if self._pool is not None:
            self._pool.check()

    def _open_pool(self) -> ConnectionPool[Any]:
        with self._lock:
            if self.closed:
                raise JournalError(f"the journal {self.place} was closed; open it again")
            if self._pool is None:
                from psycopg_pool import ConnectionPool

                with contextlib.closing(self._attempt()):  # an address or a password that is wrong is an error at once
                    pass
                self._pool = ConnectionPool(
                    kwargs={**self.parameters, "autocommit": True, "prepare_threshold": None},
                    min_size=0,
                    max_size=MOST,
                    max_idle=60,
                    timeout=self.timeout,
                    reconnect_timeout=self.timeout,
                    num_workers=1,
                    configure=self._opened.add,
                    name="agentkit",
                    open=True,
                )
            return self._pool

    def close(self) -> None:
        """Close all connections of the pool."""
        with self._lock:
            self.closed = True
            if self._pool is not None:
                self._pool.close()
                self._pool = None

    def forked(self) -> None:
        """Leave the connections to the parent process: whatever this child does, nothing is sent over them."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        for connection in list(self._opened):
            with contextlib.suppress(Exception):
                os.dup2(nowhere, connection.fileno())
        os.close(nowhere)
        _left_to_the_parent.append((self._pool, list(self._opened)))
        self._pool, self._lock, self._opened = None, threading.Lock(), weakref.WeakSet()


_all: weakref.WeakSet[Connections] = weakref.WeakSet()
_left_to_the_parent: list[object] = []


def _after_fork() -> None:
    for connections in list(_all):
        connections.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _parameters(url: str) -> dict[str, Any]:
    """Return the parameters of libpq that a URL names."""
    try:
        import psycopg
        import psycopg_pool  # noqa: F401 - both are needed later
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as error:
        raise UsageError(
            f"a journal on PostgreSQL needs the packages psycopg and psycopg_pool ({error}): "
            "pip install 'jupyter-agentkit[postgres]'"
        ) from None
    try:
        given: dict[str, Any] = conninfo_to_dict(url)
    except psycopg.Error:  # its message may quote the password
        raise UsageError(
            "this is not the URL of a PostgreSQL database; write postgresql://USER@HOST:5432/DATABASE, and "
            "percent-encode special characters in each part"
        ) from None
    secrets.learn(str(given.get("password") or os.environ.get("PGPASSWORD", "")), "the password of PostgreSQL")
    return {
        "connect_timeout": 10,
        "application_name": "agentkit",
        "client_encoding": "utf8",
        "keepalives_idle": 30,
        **given,
    }


def _place(parameters: dict[str, Any]) -> str:
    """Return the URL of a database without its password and its options."""
    user, name = parameters.get("user", ""), parameters.get("dbname", "")
    host, port = parameters.get("host", ""), parameters.get("port", "")
    return f"postgresql://{user and f'{user}@'}{host}{port and f':{port}'}{name and f'/{name}'}"


def first_line(error: BaseException) -> str:
    """Return the first line of an error, without secrets."""
    return secrets.mask((str(error).strip() or type(error).__name__).partition("\n")[0])


def explain(error: psycopg.Error, place: str) -> JournalError:
    """Return an error that says what the server refused, and what to do."""
    return JournalError(_explanation(place, error.sqlstate or type(error).__name__, first_line(error)))


def _explanation(place: str, state: str, said: str) -> str:
    for start, advice in _MEANING.items():
        if state.startswith(start):
            return f"cannot use the journal {place}: {advice} ({said}). Then try again."
    return f"the journal {place} failed: {said} ({state})"


_REFUSALS = {
    **dict.fromkeys(("password authentication failed", "no password supplied", "SASL authentication failed"), "28"),
    **dict.fromkeys(("pg_hba.conf", 'FATAL:  role "', "not permitted to log in", "no such user"), "28"),
    **dict.fromkeys(('FATAL:  database "', "no such database"), "3D"),
}
"""What servers say to a client that need not try again. libpq passes on no code with it, only the text."""

_FULL = ("too many connections", "too many clients", "connection slots are reserved")


_PASSING = ("40001", "40P01", "57P01", "57P02", "57P03")
"""The server undid a transaction that may succeed next time, or it is being stopped or started."""

_MEANING = {
    "25006": "the server is read-only, as a replica or a server in recovery is; name the primary server",
    "28": "the server refused the user or the password; check both, and pg_hba.conf",
    "3D": "there is no such database; create it, for example with createdb",
    "3F": "it has no tables yet; the owner of the database runs `agentkit migrate`",
    "42501": "this role may not do that; see the roles in docs/team-journal.md",
    "42P01": "a table is missing; the owner of the database runs `agentkit migrate`",
    "53100": "the disk of the server is full; free some space",
    "53200": "the server is out of memory",
    "53300": "the server has no connection left; raise max_connections, close other programs, or use PgBouncer",
    "53": "the server is short of resources",
    "57014": "the server cancelled the statement; check its statement_timeout and lock_timeout",
    "55P03": "the server cancelled the statement; check its statement_timeout and lock_timeout",
}
