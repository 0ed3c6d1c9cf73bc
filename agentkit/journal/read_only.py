"""A journal that is only looked at: no lock is taken and no byte is written, so a read-only disk is enough.

SQLite reads a file that has a write-ahead log (-wal) by way of an index of the log (-shm), which it creates and updates
unless it is told not to. Here it is told not to. A file without a log is read as it is, and read again if another
process has changed it meanwhile. A log without an index cannot be read where it is, so a copy of both files is read.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn, TypeVar

from agentkit.errors import JournalError, ReadOnly, Unknown
from agentkit.inert import inert
from agentkit.journal.chain import Chain, last, read
from agentkit.journal.database import check_format, errors, is_empty, snapshot
from agentkit.journal.entries import NO_TAGS, Note, Row, RunInfo, Tail
from agentkit.journal.heads import Heads
from agentkit.journal.listing import check_lost, closing_notes, find, listed, read_more
from agentkit.journal.loss import lost

T = TypeVar("T")
Stamps = list[tuple[int, ...]]
"""The size, time and number of a file, its -wal and its -shm; an empty tuple for one that is missing."""


class ReadOnlyJournal:
    """The runs in the SQLite file `path`, for looking: each call opens the file, reads it, and closes it.

    A file that does not exist has no runs. Every method that would write raises `ReadOnly`.
    """

    durable = True

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 5.0) -> None:
        self.path = Path(path).expanduser().absolute()
        self._heads, self._timeout = Heads(self.path), timeout

    @inert
    def __repr__(self) -> str:
        return f"ReadOnlyJournal({str(self.path)!r})"

    def exists(self) -> bool:
        """Return whether there is a file. Raises `JournalError` if its folder cannot be read."""
        return bool(_stamps(self.path)[0])

    def count(self, run: str) -> int:
        """Return the number of rows of the run's tree. Raises `Unknown`."""
        return self._look(lambda db: last(db, find(db, self._heads, run)[0])[0], run)

    def rows(self, run: str, after: int = 0) -> list[Row]:
        """Return the rows of the run's tree after row `after`, oldest first. Raises `Unknown`, `JournalDamaged`."""

        def rows_of(db: sqlite3.Connection) -> list[Row]:
            with snapshot(db):
                return read(db, self.path, find(db, self._heads, run)[0], run)[0]

        return self._look(rows_of, run)[after:]

    def tail(self, run: str, after: int = 0) -> Tail:
        """Return a reader of the rows of the run's tree after row `after`, as they are written. Raises `Unknown`."""
        tree = self._look(lambda db: find(db, self._heads, run)[0], run)
        chain = Chain(str(self.path), run)

        rows: list[Row] = []  # what was read, also by an attempt that had to be made again

        def read_on(db: sqlite3.Connection) -> list[Row]:
            with snapshot(db):
                rows.extend(read_more(db, self._heads, run, tree, chain))
            return rows

        def more() -> list[Row]:
            new = self._look(read_on, run)[:]
            rows.clear()
            return new

        return Tail(after, more)

    def lost(self, run: str) -> str:
        """Return what the run's tree has lost since it was synced, as a sentence, or "". Raises `Unknown`."""
        return self._look(lambda db: lost(db, self._heads, run), run)

    def runs(self, prefix: str = "", tags: Mapping[str, str] = NO_TAGS) -> list[RunInfo]:
        """Return all runs, newest first, or those whose names begin with `prefix` and that have these `tags`.

        `listed` in `listing.py` says what their status may be.
        """
        found = look(self.path, lambda db: listed(db, self.path, prefix, tags), self._timeout)
        return listed(None, self.path, prefix, tags) if found is None else found

    def closing_notes(self, kind: str, prefix: str = "") -> dict[str, Note]:
        """Return the notes of this kind that are the last row of their run, by run."""
        return look(self.path, lambda db: closing_notes(db, kind, prefix), self._timeout) or {}

    def release(self, run: str) -> None:
        """Do nothing: no run is held."""

    def close(self) -> None:
        """Do nothing: the file is not open between two calls."""

    def create(self, info: RunInfo) -> None:
        """Raise `ReadOnly`."""
        self._refuse()

    def claim(self, run: str) -> RunInfo:
        """Raise `ReadOnly`."""
        self._refuse()

    def append(self, row: Row, *, sync: bool = True) -> int:
        """Raise `ReadOnly`."""
        self._refuse()

    def sync(self, run: str) -> None:
        """Raise `ReadOnly`."""
        self._refuse()

    def set_status(self, run: str, status: str) -> None:
        """Raise `ReadOnly`."""
        self._refuse()

    def delete(self, run: str) -> None:
        """Raise `ReadOnly`."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ReadOnly(f"the journal {self.path} was opened for reading only; open it without read_only=True to write")

    def _look(self, read: Callable[[sqlite3.Connection], T], run: str) -> T:
        found = look(self.path, read, self._timeout)
        if found is None:
            check_lost(self._heads, run)
            raise Unknown("run", run, ())
        return found


def look(path: Path, read: Callable[[sqlite3.Connection], T], timeout: float = 5.0) -> T | None:
    """Return what `read` finds in a file; None if the file does not exist, or is empty. Raises `JournalError`."""
    end = time.monotonic() + timeout
    while True:
        before = _stamps(path)
        if not before[0]:
            return None
        try:
            with errors(path, "read"), _opened(path, before) as db:
                empty = is_empty(db)
                check_format(db, path, empty=empty)
                found = None if empty else read(db)
            if _has_frames(before) or (_stamps(path) == before and not _is_fresh(before)):
                return found
        except JournalError:
            if _stamps(path) == before or time.monotonic() > end:
                raise
        time.sleep(0.01)


@contextlib.contextmanager
def _opened(path: Path, stamps: Stamps) -> Iterator[sqlite3.Connection]:
    """Yield a connection to a file that cannot write."""
    how = "immutable=1"
    with contextlib.ExitStack() as stack:
        if _has_frames(stamps) and stamps[2]:
            how = "readonly_shm=1"
        elif _has_frames(stamps):
            path, how = _copied(path, stack.enter_context(tempfile.TemporaryDirectory())), ""
        db = sqlite3.connect(f"{path.as_uri()}?mode=ro&{how}", uri=True, isolation_level=None, check_same_thread=False)
        yield stack.enter_context(contextlib.closing(db))


def _has_frames(stamps: Stamps) -> bool:
    """Return whether a write-ahead log is more than its header; SQLite 3.40 cannot read a header alone without an index
    that it may write.
    """
    return bool(stamps[1]) and stamps[1][0] > 32


def _is_fresh(stamps: Stamps) -> bool:
    """Return whether a file was changed so recently that its time may not show another change."""
    return 0 <= time.time_ns() - stamps[0][1] < 20_000_000


def _copied(path: Path, folder: str) -> Path:
    """Return the path of a copy of a file and its write-ahead log."""
    try:
        for end in ("", "-wal"):
            shutil.copyfile(f"{path}{end}", Path(folder, f"copy{end}"))
    except OSError as error:
        raise JournalError(f"cannot read {path} with its write-ahead log {path}-wal: {error.strerror}") from error
    return Path(folder, "copy")


def _stamps(path: Path) -> Stamps:
    stamps: Stamps = []
    for end in ("", "-wal", "-shm"):
        try:
            stat = os.stat(f"{path}{end}")
        except FileNotFoundError:
            stamps.append(())
        except OSError as error:
            raise JournalError(f"cannot read the journal {path}: {error.strerror}") from error
        else:
            stamps.append((stat.st_size, stat.st_mtime_ns, stat.st_ino))
    return stamps
