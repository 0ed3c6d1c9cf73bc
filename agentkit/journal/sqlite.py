"""The journal on disk: one SQLite file that only its owner can read, with a chain of hashes through its rows.

Each row has a hash of itself and of the row before it in its tree, so that a changed, missing or inserted row is
noticed when the tree is read. What was synced last is also kept apart from the file, so that the loss of the last rows
is noticed (`heads.py` says how). Every append is one transaction, nearly always of one statement: when `append`
returns, the row survives the death of the process, and with `sync` also that of the machine. Nothing is deleted except
by `delete` and `prune`.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agentkit.core import secrets
from agentkit.errors import Fenced, JournalDamaged, JournalError, UsageError
from agentkit.inert import inert
from agentkit.journal import retention
from agentkit.journal.chain import START, Chain, last, link, read, seal, span
from agentkit.journal.database import checkpoint, connect, errors, snapshot, transaction
from agentkit.journal.entries import NO_TAGS, Note, Row, RunInfo, Tail, Wish, check_name, left_by
from agentkit.journal.heads import Head, Heads
from agentkit.journal.listing import closing_notes, find, infos, line_of, listed, lost_run, plain, read_more
from agentkit.journal.lock import RunLock, folder_of_locks, is_held
from agentkit.journal.loss import Loss, loss, lost
from agentkit.journal.wishes import Listeners, Looking, checked_wish, nobody_holds
from agentkit.journal.writer import Writer

_APPEND = """
INSERT OR IGNORE INTO rows SELECT ?1, ?2, ?3, ?4, ?5
WHERE (SELECT epoch FROM runs WHERE run = ?2) = ?6 AND (SELECT hash FROM rows WHERE id = ?1 - 1) IS ?7
"""
"""Adds a row if this process still holds the run, and if the row before it is the last one that this process knows."""

_TAKE_TURN = """
INSERT INTO rate_limits VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET next = excluded.next WHERE next IS ?3
"""
"""Takes a turn, unless another process has taken it since the time of the next one was read."""

_DAY = 86_400.0


@dataclass(slots=True)
class _Claim:
    tree: int
    name: str  # of the tree
    epoch: int
    lock: RunLock


@dataclass(slots=True)
class _Stored:
    """What this process knows of the rows of a tree: what they contain, and the number and the hash of the last one."""

    writer: Writer
    number: int
    hash: bytes


class SqliteJournal:
    """Runs in the SQLite file `path`, with a lock file per held run in a folder beside it (`locks` or `<name>.locks`).

    `timeout` is how long to wait for another program that is writing, in seconds. `mask` hides secrets before they are
    stored. Raises `JournalTooNew`, and `JournalError` if the file cannot be opened, is not a journal, or stays locked.
    """

    durable = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        synchronous: Literal["FULL", "NORMAL"] = "FULL",
        timeout: float = 5.0,
        mask: Callable[[str], str] | None = secrets.mask,
    ) -> None:
        if synchronous not in ("FULL", "NORMAL"):
            raise UsageError(f"synchronous must be 'FULL' or 'NORMAL', not {synchronous!r}")
        self.path = Path(path).expanduser().absolute()
        self.closed = False
        self._locks, self._heads = folder_of_locks(self.path), Heads(self.path)
        self._synchronous, self._timeout, self._mask = synchronous, timeout, mask
        self._guard = threading.RLock()
        self._claims: dict[str, _Claim] = {}
        self._stored: dict[int, _Stored] = {}
        self._left: dict[str, str] = {}  # run -> its holder: the process that this one was forked from
        self._listeners, self._looking = Listeners(), Looking(self)
        self._level = ""
        self._db: sqlite3.Connection | None = connect(self.path, timeout)
        _journals.add(self)

    @inert
    def __repr__(self) -> str:
        return f"SqliteJournal({str(self.path)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as the name of a file on this machine: another process opens it, and another machine refuses."""
        how = {"synchronous": self._synchronous, "timeout": self._timeout, "mask": self._mask}
        return _opened_here, (str(self.path), socket.gethostname(), how)

    # -- holding runs ------------------------------------------------------------------------------------------------

    def create(self, info: RunInfo) -> None:
        """Add a run, and hold it for this process. Raises `UsageError` if the name is taken or not allowed."""
        check_name(info.run)
        secrets.refresh()
        text = line_of(info, self._mask)
        name = plain(info.tree)
        with self._using() as db, self._locked(info.run) as lock:
            with transaction(db):
                if db.execute("SELECT 1 FROM runs WHERE run = ?", (info.run,)).fetchone():
                    raise UsageError(f"there is already a run {info.run!r}; claim it, or use another name")
                if db.execute("SELECT 1 FROM trees WHERE name = ?", (name,)).fetchone():
                    if info.run == info.tree:
                        raise UsageError(left_by(info.run))
                else:
                    if lost_run(self._heads, name) is not None:
                        raise UsageError(
                            f"a run {info.run!r} was recorded here and is lost; delete it, or use another name"
                        )
                    db.execute("INSERT INTO trees VALUES (NULL, ?, 0, ?)", (name, START))
                    self._heads.start(name)
                tree = db.execute("SELECT id FROM trees WHERE name = ?", (name,)).fetchone()[0]
                values = (info.run, tree, 1, _me(), plain(info.status), info.updated, text)
                db.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", values)
            checkpoint(db)
            self._claims[info.run] = _Claim(tree, name, 1, lock)
        self._listen(info.run)

    def claim(self, run: str) -> RunInfo:
        """Hold an existing run for this process; if it has lost rows, append a note of kind "lost" that says so.

        Raises `Unknown`, or `JournalInUse` if it is held already.
        """
        secrets.refresh()
        with self._using() as db:
            find(db, self._heads, run)
            with self._locked(run) as lock:
                tree, name = find(db, self._heads, run)
                lost = loss(db, self._heads, run, tree, name)
                with transaction(db):
                    db.execute("UPDATE runs SET epoch = epoch + 1, holder = ? WHERE run = ?", (_me(), run))
                    epoch = db.execute("SELECT epoch FROM runs WHERE run = ?", (run,)).fetchone()[0]
                checkpoint(db)
                self._claims[run] = claim = _Claim(tree, name, epoch, lock)
                try:
                    if lost is None:
                        self._heads.start(name)
                    else:
                        self._note(db, run, claim, lost)
                except BaseException:
                    del self._claims[run]
                    raise
                self._listen(run)
                return infos(db, run)[0]

    def _note(self, db: sqlite3.Connection, run: str, claim: _Claim, lost: Loss) -> None:
        """Make a loss part of the rows, so that it stays known when the head moves on."""
        data = {"after": lost.after, "rows": lost.rows, "synced": lost.at, "text": lost.text}
        with contextlib.suppress(JournalDamaged):  # a tree that is damaged, too, takes no row; `rows` says so
            self.append(Note("lost", data, time.time(), run))
            self._heads.replace(claim.name, Head(*last(db, claim.tree), time.time()))

    def release(self, run: str) -> None:
        """Release a run; do nothing if it is not held."""
        with self._guard:
            claim = self._claims.get(run)
            if claim is None:
                return
            try:
                with contextlib.suppress(JournalError, Fenced), self._using() as db:
                    with transaction(db):
                        self._check(db, run, claim)
                        db.execute("UPDATE runs SET holder = '' WHERE run = ?", (run,))
                        end = seal(db, claim.tree)
                    self._heads.advance(claim.name, Head(*end, time.time()))
                    checkpoint(db)
            finally:
                claim.lock.release()
                del self._claims[run]
                if all(other.tree != claim.tree for other in self._claims.values()):
                    self._stored.pop(claim.tree, None)

    # -- rows --------------------------------------------------------------------------------------------------------

    def append(self, row: Row, *, sync: bool = True) -> int:
        """Add a row to the tree of `row.run`, set its `id`, and return it.

        On return, the row survives the death of this process; with `sync`, it and all rows before it are on the disk.
        Raises `Fenced` if another process took the run over, `JournalError` if the row cannot be written. In that case
        no part of it is written, and the same row can be appended again.
        """
        with self._using("" if sync else "NORMAL") as db:
            claim = self._claimed(row.run)
            stored = self._stored.get(claim.tree) or self._read(db, claim.tree, row.run)
            body, at = stored.writer.encode(row), time.time()
            if not self._insert(db, claim, stored, row.run, at, body):
                with transaction(db):  # others have written to the tree meanwhile, or have taken the run over
                    self._check(db, row.run, claim)
                    stored.number, stored.hash = last(db, claim.tree)
                    self._insert(db, claim, stored, row.run, at, body)
            stored.writer.keep()
            row.id = stored.number
            if sync:
                self._heads.advance(claim.name, Head(row.id, stored.hash, at))
            return row.id

    def _insert(self, db: sqlite3.Connection, claim: _Claim, stored: _Stored, run: str, at: float, body: str) -> bool:
        """Add a row after the last one that is known, and return whether it still was the last one."""
        before, number = stored.hash if stored.number else None, stored.number + 1
        mark = link(stored.hash, number, run, at, body)
        values = (span(claim.tree)[0] + number, run, at, body, mark, claim.epoch, before)
        if not db.execute(_APPEND, values).rowcount:
            return False
        stored.number, stored.hash = number, mark
        return True

    def sync(self, run: str) -> None:
        """Bring the rows that were appended without `sync` to the disk. Raises like `append`."""
        with self._using() as db:
            claim = self._claimed(run)
            with transaction(db):
                self._check(db, run, claim)
                end = seal(db, claim.tree)
            self._heads.advance(claim.name, Head(*end, time.time()))

    def count(self, run: str) -> int:
        """Return the number of rows of the run's tree. Raises `Unknown`."""
        with self._using(self._level) as db:  # nothing is written, so any level will do
            claim = self._claims.get(run)
            return last(db, claim.tree if claim is not None else find(db, self._heads, run)[0])[0]

    def rows(self, run: str, after: int = 0) -> list[Row]:
        """Return the rows of the run's tree after row `after`, oldest first. Raises `Unknown`, `JournalDamaged`."""
        with self._using() as db, snapshot(db):
            return read(db, self.path, find(db, self._heads, run)[0], run)[0][after:]

    def tail(self, run: str, after: int = 0) -> Tail:
        """Return a reader of the rows of the run's tree after row `after`, as they are written. Raises `Unknown`."""
        with self._using() as db:
            tree = find(db, self._heads, run)[0]
        chain = Chain(str(self.path), run)

        def more() -> list[Row]:
            with self._using() as db, snapshot(db):
                return read_more(db, self._heads, run, tree, chain)

        return Tail(after, more)

    def lost(self, run: str) -> str:
        """Return what the run's tree has lost since it was synced, as a sentence, or "". Raises `Unknown`."""
        with self._using() as db:
            return lost(db, self._heads, run)

    # -- the list of runs --------------------------------------------------------------------------------------------

    def runs(self, prefix: str = "", tags: Mapping[str, str] = NO_TAGS) -> list[RunInfo]:
        """Return all runs, newest first, or those whose names begin with `prefix` and that have these `tags`.

        A run whose process died while it was running is "interrupted".
        """
        with self._using() as db:
            return listed(db, self.path, prefix, tags)

    def closing_notes(self, kind: str, prefix: str = "") -> dict[str, Note]:
        """Return the notes of this kind that are the last row of their run, by run."""
        with self._using(self._level) as db:  # nothing is written, so any level will do
            return closing_notes(db, kind, prefix)

    def set_status(self, run: str, status: str) -> None:
        """Set the status that the list of runs shows for a run that this process holds."""
        with self._using() as db:
            claim = self._claimed(run)
            with transaction(db):
                self._check(db, run, claim)
                db.execute("UPDATE runs SET status = ?, updated = ? WHERE run = ?", (plain(status), time.time(), run))
                end = seal(db, claim.tree)
            self._heads.advance(claim.name, Head(*end, time.time()))

    # -- wishes ------------------------------------------------------------------------------------------------------

    def wish(self, wish: Wish) -> None:
        """Ask the process that holds a run for something; it answers by doing it, within about half a second.

        Raises `Unknown`, and `UsageError` if nobody holds the run, so that this process can do it itself.
        """
        wish = checked_wish(wish)
        values = plain(wish.run), wish.what, plain(wish.text), plain(wish.author)
        with self._using() as db:
            find(db, self._heads, wish.run)
            if not is_held(self._locks, wish.run):
                raise nobody_holds(wish.run)
            db.execute("INSERT INTO wishes SELECT NULL, run, epoch, ?2, ?3, ?4 FROM runs WHERE run = ?1", values)

    def on_wish(self, run: str, listener: Callable[[Wish], object]) -> None:
        """Pass on what others ask of a run while this process holds it.

        `listener` is called in a thread of its own, as long as the caller keeps it.
        """
        self._listeners.add(run, listener)
        self._listen(run)

    def _listen(self, run: str) -> None:
        if run in self._listeners:
            self._looking.begin()

    def has_listeners(self) -> bool:
        """Return whether anybody listens to wishes for a run that this process holds."""
        return any(run in self._listeners for run in list(self._claims))

    def pass_wishes_on(self) -> None:
        """Pass on the wishes that were made under the present claims; without any, this is one short read."""
        with self._using(self._level) as db:
            wished = [run for (run,) in db.execute("SELECT DISTINCT run FROM wishes")]
        due = [run for run in wished if run in self._claims and run in self._listeners]
        if not due:
            return
        found: list[tuple[Wish, int]] = []
        with self._using() as db, transaction(db):
            for run in due:
                rows = db.execute("SELECT run, what, text, author, epoch FROM wishes WHERE run = ? ORDER BY n", (run,))
                found += [(Wish(*wish), epoch) for *wish, epoch in rows]
                db.execute("DELETE FROM wishes WHERE run = ?", (run,))
        self._listeners.tell(found, self._epoch)

    def _epoch(self, run: str) -> int | None:
        claim = self._claims.get(run)
        return claim.epoch if claim is not None else None

    # -- rate limits -------------------------------------------------------------------------------------------------

    def take_turn(self, id: str, seconds: float) -> float:
        """Take the next turn of the rate limit `id`, whose turns are so many `seconds` apart for all processes.

        Return 0, or the number of seconds until there is a turn.
        """
        now = time.time()
        with self._using("NORMAL") as db:
            row = db.execute("SELECT next FROM rate_limits WHERE id = ?", (plain(id),)).fetchone()
            if row is not None and 0 < row[0] - now <= seconds:  # more only if the clock of the machine was set back
                return float(row[0] - now)
            values = plain(id), now + seconds, row[0] if row is not None else None
            with transaction(db):
                if row is None:
                    db.execute("DELETE FROM rate_limits WHERE next < ?", (now - _DAY,))
                is_mine = db.execute(_TAKE_TURN, values).rowcount == 1
        return 0.0 if is_mine else seconds

    def delete(self, run: str) -> None:
        """Delete a run that is not held; the rows of its tree are deleted with the last run of the tree.

        Raises `Unknown`, and `JournalInUse` if this process or another one holds the run.
        """
        with self._using() as db:
            try:
                find(db, self._heads, run)
            except JournalDamaged:  # nothing is left of the run but its head
                self._heads.remove(plain(run))
                return
            with self._locked(run) as lock:
                with transaction(db):
                    tree, name = find(db, self._heads, run)  # another process may have deleted it meanwhile
                    db.execute("DELETE FROM runs WHERE run = ?", (run,))
                    db.execute("DELETE FROM wishes WHERE run = ?", (run,))
                    is_last = not db.execute("SELECT 1 FROM runs WHERE tree = ?", (tree,)).fetchone()
                    if is_last:
                        db.execute("DELETE FROM rows WHERE id BETWEEN ? AND ?", span(tree))
                        db.execute("DELETE FROM trees WHERE id = ?", (tree,))
                        self._heads.replace(name, Head())  # a kill in between must not make this look like a loss
                if is_last:
                    self._heads.remove(name)
                lock.release()
            with contextlib.suppress(sqlite3.Error):  # remove deleted rows from the write-ahead log, too
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def prune(self, keep_days: float | None = None, keep_runs: int | None = None) -> list[str]:
        """Delete runs older than `keep_days`, and all but the newest `keep_runs`; return the names of deleted runs.

        Runs that are held are kept. Without arguments nothing is deleted.
        """
        gone = retention.prune(self, keep_days, keep_runs)
        if gone:
            with self._using() as db, contextlib.suppress(sqlite3.OperationalError):  # another program is reading
                db.execute("VACUUM")
        return gone

    def close(self) -> None:
        """Release all runs, and close the file."""
        self._looking.end()
        with self._guard:
            for run in list(self._claims):
                self.release(run)
            if self._db is not None:
                self._db.close()
            self._db, self.closed = None, True

    # -- inside ------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _using(self, level: str = "") -> Iterator[sqlite3.Connection]:
        """Yield the connection, for this thread only, at a level of durability ("" is the journal's own)."""
        with self._guard, errors(self.path):
            if self.closed:
                raise JournalError(f"the journal {self.path} was closed; open it again")
            if self._db is None:
                self._db = connect(self.path, self._timeout)
            level = level or self._synchronous
            if level != self._level:
                self._db.execute(f"PRAGMA synchronous = {level}")
                self._level = level
            yield self._db

    @contextlib.contextmanager
    def _locked(self, run: str) -> Iterator[RunLock]:
        """Lock a run, and unlock it if the block fails."""
        lock = RunLock(self._locks, run)
        try:
            yield lock
        except BaseException:
            lock.release()
            raise

    def _claimed(self, run: str) -> _Claim:
        claim = self._claims.get(run)
        if claim is not None:
            return claim
        if run in self._left:
            raise Fenced(run, self._left[run])
        raise JournalError(f"run {run} is not held by this process; claim it first")

    def _check(self, db: sqlite3.Connection, run: str, claim: _Claim) -> None:
        row = db.execute("SELECT epoch, holder FROM runs WHERE run = ?", (run,)).fetchone()
        if row is None or row[0] != claim.epoch:
            raise Fenced(run, row[1] or None if row else "another process, which deleted it")

    def _read(self, db: sqlite3.Connection, tree: int, run: str) -> _Stored:
        """Read the rows that a tree has already, once. Raises `JournalDamaged`."""
        writer = Writer(self._mask)
        writer.knows(read(db, self.path, tree, run)[1])
        stored = self._stored[tree] = _Stored(writer, *last(db, tree))
        return stored

    def _forked(self) -> None:
        """Leave the connection and the runs to the parent process: a child must neither use nor close them."""
        _left_to_the_parent.append(self._db)
        self._db, self._level, self._guard = None, "", threading.RLock()
        self._listeners, self._looking = Listeners(), Looking(self)
        self._left.update({run: f"process {os.getppid()}" for run in self._claims})
        self._claims.clear()
        self._stored.clear()


def _me() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def _opened_here(path: str, host: str, how: dict[str, Any]) -> SqliteJournal:
    """Return the journal of a file, the same one for the whole process. Raises `UsageError` on another machine."""
    if host != (here := socket.gethostname()):
        raise UsageError(
            f"the journal {path} is a file on {host}, and this is {here}: machines cannot share it, so use a journal "
            'on a server (journal="postgresql://…"), or run everything on one machine'
        )
    with _guard:
        known = next((j for j in list(_journals) if str(j.path) == path and not j.closed), None)
        return known or SqliteJournal(path, **how)


_guard = threading.Lock()
_journals: weakref.WeakSet[SqliteJournal] = weakref.WeakSet()
_left_to_the_parent: list[object] = []


def _after_fork() -> None:
    for journal in list(_journals):
        journal._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
