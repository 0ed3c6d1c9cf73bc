"""Find the journal that an option names: none, this process's memory, the user's file, another file, or a database."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from agentkit.config import home
from agentkit.core.outside import path_of
from agentkit.errors import JournalError, UsageError
from agentkit.journal.memory import memory

__all__ = ["backup", "home", "open_journal", "verify"]

if TYPE_CHECKING:
    from agentkit.journal.copying import Progress, Verdict
    from agentkit.journal.entries import Journal

_opened: dict[tuple[object, ...], Any] = {}
"""The journals of this process, by path or URL. They stay open until somebody closes them: to close a file after its
last run and to open it for the next one would take longer than the run's own rows.
"""

_guard = threading.Lock()


def open_journal(
    spec: Journal | str | os.PathLike[str] | None = "sqlite", *, read_only: bool = False
) -> Journal | None:
    """Return the journal for None, "memory", "sqlite" (`runs.db` in `home()`), a path, a URL, or a journal itself.

    A URL is "postgresql://USER@HOST/DATABASE". A file or a database is opened once per process. With `read_only`, it is
    opened for looking: nothing is created, locked or written, so this works on a read-only disk, and while another
    process writes. Raises `UsageError` for anything else, `JournalError` if the file or the database cannot be opened,
    or with `read_only` if it does not exist.
    """
    if spec is None:
        return None
    if spec == "memory":
        return memory
    if not isinstance(spec, str | os.PathLike):
        if not callable(getattr(spec, "append", None)) or not callable(getattr(spec, "rows", None)):
            raise UsageError(
                f'a journal must be None, "memory", "sqlite", a path, a postgresql:// URL or a Journal, not {spec!r}'
            )
        return spec
    if not spec:
        raise UsageError(
            'a journal must be None, "memory", "sqlite", a path, a postgresql:// URL or a Journal, not an empty str'
        )
    if is_url(spec):
        return _open_postgres(spec, read_only=read_only)
    path = _path(spec)
    if read_only:
        from agentkit.journal.read_only import ReadOnlyJournal

        journal = ReadOnlyJournal(path)
        if spec != "sqlite" and not journal.exists():
            raise JournalError(f"there is no journal {path}")
        return journal
    from agentkit.journal.sqlite import SqliteJournal

    with _guard:
        opened = _opened.get((path, os.getpid()))
        if opened is None or opened.closed:
            opened = _opened[path, os.getpid()] = SqliteJournal(path)
        return opened


def is_url(spec: object) -> TypeGuard[str]:
    """Return whether a text is the URL of a PostgreSQL database."""
    return isinstance(spec, str) and spec.startswith(("postgresql://", "postgres://"))


def _open_postgres(url: str, *, read_only: bool) -> Journal:
    from agentkit.journal.postgres.journal import PostgresJournal

    with _guard:
        key = (url, os.getpid(), read_only)
        opened = _opened.get(key)
        if opened is None or opened.closed:
            opened = _opened[key] = PostgresJournal(url, read_only=read_only)
        return opened


def backup(
    target: str | os.PathLike[str], journal: str | os.PathLike[str] = "sqlite", progress: Progress | None = None
) -> int:
    """Copy a journal to a new file, even while runs are being written, and return the number of runs in the copy.

    The copy is as of one moment. A run that is open meanwhile goes on without it, and its copy says that rows may be
    missing. Raises `UsageError` if `target` exists, `JournalError` if there is nothing to copy or no room for it.
    """
    from agentkit.journal import copying

    if is_url(journal):
        raise UsageError("a journal on PostgreSQL is copied with pg_dump: pg_dump --schema=agentkit DATABASE")
    return copying.backup(_path(journal), Path(target), progress)


def verify(run: str = "", journal: str | os.PathLike[str] = "sqlite") -> Iterator[Verdict]:
    """Yield a verdict about the file of a journal and about each of its runs, or only about one run; change nothing.

    Raises `Unknown` if there is no such run, `JournalError` if there is no journal.
    """
    from agentkit.journal import copying

    if is_url(journal):
        return _verify_postgres(journal, run)
    return copying.verify(_path(journal), run)


def migrate(url: str) -> tuple[int, int]:
    """Make the tables of a journal on PostgreSQL, or bring them up to date; return the version before and after.

    The user of the URL has to own the tables, or have the right to create a schema. Raises `UsageError` for anything
    but the URL of a database, `JournalTooNew` if the tables are newer than this agentkit, and `JournalError`.
    """
    if not is_url(url):
        raise UsageError("only a journal on PostgreSQL has tables to migrate: name postgresql://USER@HOST/DATABASE")
    from agentkit.journal.postgres import schema
    from agentkit.journal.postgres.connection import Connections

    with contextlib.closing(Connections(url, 20.0)) as connections:
        return connections.do(lambda connection: schema.migrate(connection, connections.place))


def _verify_postgres(url: str, run: str) -> Iterator[Verdict]:
    from agentkit.journal import copying
    from agentkit.journal.postgres.journal import PostgresJournal

    with contextlib.closing(PostgresJournal(url, read_only=True)) as journal:
        yield from copying.verify_runs(journal, journal.runs(), run)


def _path(spec: str | os.PathLike[str]) -> Path:
    return (home() / "runs.db" if spec == "sqlite" else path_of(spec, "a journal")).resolve()
