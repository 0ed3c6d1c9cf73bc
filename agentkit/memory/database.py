"""The SQLite file of a memory: readable by its owner only, and used by several threads and processes at once."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from agentkit.errors import JournalError, JournalTooNew, UsageError
from agentkit.journal.database import create_tables, errors, is_empty, transaction

VERSION = 1
APPLICATION = 0x61676B6D  # "agkm", in the header of the file
IN_PROCESS = ":memory:"

SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
CREATE TABLE turns (n INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT UNIQUE NOT NULL, session TEXT NOT NULL,
  person TEXT NOT NULL, question TEXT NOT NULL, answer TEXT, at REAL NOT NULL);
CREATE INDEX by_session ON turns (session, person);
CREATE TABLE summaries (session TEXT, person TEXT, upto INTEGER NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY (session, person));
CREATE TABLE facts (n INTEGER PRIMARY KEY AUTOINCREMENT, person TEXT NOT NULL, text TEXT NOT NULL, at REAL NOT NULL,
  UNIQUE (person, text));
CREATE TABLE lessons (n INTEGER PRIMARY KEY AUTOINCREMENT, person TEXT NOT NULL, task TEXT NOT NULL,
  lesson TEXT NOT NULL, at REAL NOT NULL, UNIQUE (person, lesson))
"""


@runtime_checkable
class Store(Protocol):
    """A database with the tables of a memory."""

    @property
    def path(self) -> Path | str:
        """The file, or the URL."""

    def reading(self) -> AbstractContextManager[Any]:
        """Use a connection in this thread alone."""

    def writing(self) -> AbstractContextManager[Any]:
        """Use a connection in a transaction: all of it is written, or nothing."""

    def erase_log(self) -> None:
        """Remove what was deleted also from the log of the database, if that is possible."""

    def close(self) -> None:
        """Close the database; it is opened again when it is used again."""


class Database:
    """The database in the file `path`, opened when it is first used; ":memory:" lasts as long as the object.

    `timeout` is how many seconds to wait for another process that writes. Its use raises `JournalError` if the file
    cannot be used, and `JournalTooNew` if it was written by a newer agentkit.
    """

    def __init__(self, path: str | os.PathLike[str] = IN_PROCESS, *, timeout: float = 5.0) -> None:
        if not isinstance(path, str | os.PathLike):
            raise UsageError(f"path must be the path of a file, not {path!r:.200}")
        self.path = Path(path) if str(path) == IN_PROCESS else Path(path).expanduser().absolute()
        self._timeout = timeout
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._finalizer: Any = None
        _databases.add(self)

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Use the connection in this thread alone."""
        with self._lock, _explained(self.path):
            if self._connection is None:
                self._connection = _connect(self.path, self._timeout)
                self._finalizer = weakref.finalize(self, self._connection.close)
            yield self._connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Use the connection in a transaction: all of it is written, or nothing."""
        with self.reading() as connection, transaction(connection):
            yield connection

    def erase_log(self) -> None:
        """Empty the write-ahead log, which may still contain what was deleted."""
        with self.reading() as connection, contextlib.suppress(sqlite3.Error):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close the file; it is opened again when it is used again."""
        with self._lock:
            if self._connection is not None:
                self._finalizer.detach()
                self._connection.close()
                self._connection = None

    def _forked(self) -> None:
        """Leave the connection to the parent process: a child must not use it, nor close it."""
        self._lock = threading.RLock()
        if self._connection is not None and str(self.path) != IN_PROCESS:
            self._finalizer.detach()
            _left_to_the_parent.append(self._connection)
            self._connection = None


_databases: weakref.WeakSet[Database] = weakref.WeakSet()
_left_to_the_parent: list[sqlite3.Connection] = []


def _after_fork() -> None:
    for database in list(_databases):
        database._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def require_texts(**values: Any) -> None:
    """Raise `UsageError` for a value that is not a text."""
    for name, value in values.items():
        if not isinstance(value, str):
            raise UsageError(f"{name} must be a text, not {value!r:.200}")


class _Connection(sqlite3.Connection):
    """A connection that accepts any text: SQLite refuses lone surrogates, so they are written as escapes."""

    def execute(self, sql: str, values: Any = (), /) -> sqlite3.Cursor:
        valid = [v.encode(errors="backslashreplace").decode() if isinstance(v, str) else v for v in values]
        return super().execute(sql, valid)


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn the errors of SQLite into errors that say what to do."""
    with errors(path):
        try:
            yield
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorname", "") != "SQLITE_NOTADB":
                raise
            raise JournalError(
                f"{path} is not a memory of agentkit ({error}); use another path, or move it away"
            ) from error


def _connect(path: Path, timeout: float) -> sqlite3.Connection:
    """Open the file; create it if it does not exist."""
    try:
        if str(path) != IN_PROCESS:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise JournalError(
            f"cannot write the memory {path}: {error.strerror}; use another path, or set AGENTKIT_HOME to another "
            "folder"
        ) from error
    db = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False, factory=_Connection)
    try:
        _prepare_in_turn(db, path, timeout)
    except BaseException:
        db.close()
        raise
    return db


def _prepare_in_turn(db: sqlite3.Connection, path: Path, timeout: float) -> None:
    """Prepare the file; wait while others do so, since SQLite itself does not wait for a change to WAL mode."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            return _prepare(db, path)
        except sqlite3.OperationalError as error:
            if not str(error).endswith("is locked") or time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    """Check that the file is a memory before anything in it is changed; make the tables of an empty one."""
    empty = is_empty(db)  # ask first: another process may be creating the tables now, in one transaction
    version, application = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("user_version", "application_id"))
    if not empty and application != APPLICATION:
        raise JournalError(f"{path} is a database of another program, not a memory of agentkit; use another path")
    if version > VERSION:
        raise JournalTooNew(f"{path} has format {version}, and this agentkit reads up to {VERSION}: upgrade agentkit")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA secure_delete = ON")
    if empty:
        create_tables(db, SCHEMA)
