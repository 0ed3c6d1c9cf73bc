"""The SQLite file of a journal: how it is created and opened for writing, and what its errors mean."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from agentkit.core.log import logger
from agentkit.errors import JournalDamaged, JournalError, JournalTooNew

VERSION = 2
APPLICATION = 0x61676B74  # "agkt", in the head of the file

WISHES = """
CREATE TABLE IF NOT EXISTS wishes (n INTEGER PRIMARY KEY, run TEXT NOT NULL, epoch INTEGER NOT NULL,
  what TEXT NOT NULL, text TEXT NOT NULL, author TEXT NOT NULL)
"""
RATE_LIMITS = "CREATE TABLE IF NOT EXISTS rate_limits (id TEXT PRIMARY KEY, next REAL NOT NULL)"
"""Older files get these tables when they are opened; versions of agentkit that do not know them leave them alone."""

SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
CREATE TABLE trees (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, sealed_row INTEGER NOT NULL,
  sealed_hash BLOB NOT NULL);
CREATE TABLE runs (run TEXT PRIMARY KEY, tree INTEGER NOT NULL, epoch INTEGER NOT NULL, holder TEXT NOT NULL,
  status TEXT NOT NULL, updated REAL NOT NULL, info TEXT NOT NULL);
CREATE TABLE rows (id INTEGER PRIMARY KEY, run TEXT NOT NULL, at REAL NOT NULL, body TEXT NOT NULL, hash BLOB NOT NULL);
{WISHES};
{RATE_LIMITS}"""


def connect(path: Path, timeout: float) -> sqlite3.Connection:
    """Open the file, or create it: readable by its owner only, in WAL mode, with the tables of this version."""
    with errors(path):
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):  # to open and close a file frees the locks that SQLite has on it
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except OSError as error:
            raise JournalError(f"cannot write the journal {path}: {error.strerror}. {_ELSEWHERE}") from error
        if not os.access(path, os.W_OK):
            raise JournalError(f"cannot write the journal {path}: it is read-only. {_ELSEWHERE}")
        if os.name == "posix":
            _make_private(path)
        db = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)
        try:
            _prepare_in_turn(db, path, timeout)
        except BaseException:
            db.close()
            raise
        return db


def _make_private(path: Path) -> None:
    """Take from others the right to read or write a journal; log a warning if that is not possible."""
    for end in ("", "-wal", "-shm"):
        file = Path(f"{path}{end}")
        try:
            if file.stat().st_mode & 0o077:
                file.chmod(0o600)
        except FileNotFoundError:
            continue
        except OSError as error:
            logger.warning(
                "other users may read or write %s, and its permissions cannot be changed: %s", file, error.strerror
            )


def _prepare_in_turn(db: sqlite3.Connection, path: Path, timeout: float) -> None:
    """Prepare the file; wait while other processes do so. (SQLite itself does not wait for a change to WAL mode.)"""
    end = time.monotonic() + timeout
    while True:
        try:
            return _prepare(db, path)
        except sqlite3.OperationalError as error:
            if not str(error).endswith("is locked") or time.monotonic() > end:
                raise
        time.sleep(0.01)


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    empty = is_empty(db)  # ask first: another process may be creating the tables now, in one transaction
    check_format(db, path, empty=empty)
    if empty:
        db.execute("PRAGMA page_size = 1024")  # a commit writes whole pages, and a turn takes about two kB
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA secure_delete = ON")
    if empty:
        create_tables(db, SCHEMA)
        checkpoint(db)
    else:
        db.execute(WISHES)
        db.execute(RATE_LIMITS)


def check_format(db: sqlite3.Connection, path: Path, *, empty: bool) -> None:
    """Raise an error if the file is not a journal of this version."""
    version, application = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("user_version", "application_id"))
    if not empty and application != APPLICATION:
        raise JournalError(f"{path} is a database of another program, not a journal. {_ELSEWHERE}")
    if version > VERSION:
        raise JournalTooNew(
            f"{path} has format {version}, but this agentkit reads formats up to {VERSION}: upgrade agentkit, or set "
            "AGENTKIT_HOME to another folder to start a new journal there"
        )
    if not empty and version < VERSION:
        raise JournalError(
            f"{path} was written by agentkit 0.1 in an older format, which this version cannot read: set AGENTKIT_HOME "
            "to another folder, or move the file away, to start a new journal"
        )


def create_tables(db: sqlite3.Connection, schema: str) -> None:
    """Create the tables of a schema in one transaction, unless another process has created them meanwhile."""
    with transaction(db):
        if is_empty(db):
            for statement in schema.split(";"):
                db.execute(statement)


def is_empty(db: sqlite3.Connection) -> bool:
    """Return whether a database has no tables yet."""
    return not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def checkpoint(db: sqlite3.Connection) -> None:
    """Copy what was written into the file itself, as far as other processes allow it."""
    with contextlib.suppress(sqlite3.Error):
        db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


@contextlib.contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Run the block as one transaction: all of it or nothing, with no other writer in between."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                db.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def snapshot(db: sqlite3.Connection) -> Iterator[None]:
    """Let all that the block reads be of one moment: that of its first statement."""
    db.execute("BEGIN")
    try:
        yield
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


@contextlib.contextmanager
def errors(path: Path, doing: str = "write") -> Iterator[None]:
    """Turn SQLite's errors into errors that tell the caller what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain(error, path, doing) from error
    except UnicodeDecodeError as error:  # SQLite's message quotes a damaged page
        raise JournalDamaged(f"{path} is damaged ({error.reason}). {_START_ANEW}") from error


def explain(error: sqlite3.Error, path: Path, doing: str = "write") -> JournalError:
    """Return an error that says what went wrong with the file, and what to do."""
    code = (getattr(error, "sqlite_errorname", None) or "").removeprefix("SQLITE_")
    if code in ("CORRUPT", "NOTADB") or code.startswith("CORRUPT_"):
        what = "is not a journal" if code == "NOTADB" else "is damaged"
        kind = JournalError if code == "NOTADB" else JournalDamaged
        return kind(f"{path} {what} ({error}). {_START_ANEW}")
    for start, what in _MEANING.items():
        if code.startswith(start):
            return JournalError(f"cannot {doing} the journal {path}: {what} ({error}). Then try again.")
    return JournalError(f"the journal {path} failed: {error} ({code})")


_ELSEWHERE = 'Set AGENTKIT_HOME to another folder, or use journal="memory".'
_START_ANEW = (
    'To start a new journal, move the file away, set AGENTKIT_HOME to another folder, or use journal="memory".'
)
_MEANING = {
    "FULL": "the disk is full, free some space",
    "IOERR": "the disk reports an error, check that it is connected and has space",
    "BUSY": "another program keeps it locked, close that program",
    "LOCKED": "another program keeps it locked, close that program",
    "READONLY": "it is read-only, check the permissions of the file and its folder",
    "CANTOPEN": "it cannot be opened, check the permissions of its folder",
    "PERM": "access is not permitted, check its permissions",
}
