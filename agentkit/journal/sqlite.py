"""The journal on disk: one SQLite file, readable by its owner only, whose rows vouch for each other.

Each row carries a hash of itself and of the row before it in its tree, so that a changed, missing or inserted row is
seen when the tree is read. Every append is one transaction: what `append` returned from outlives the death of the
process, and with `sync` also that of the machine. Nothing is ever deleted unless asked (`delete`, `prune`).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from agentkit.core import secrets
from agentkit.errors import Fenced, JournalError, JournalInUse, Unknown, UsageError
from agentkit.journal.chain import START, last, link, read, seal, span
from agentkit.journal.database import connect, errors, transaction
from agentkit.journal.entries import Row, RunInfo
from agentkit.journal.listing import infos
from agentkit.journal.lock import RunLock, is_held
from agentkit.journal.retention import outdated
from agentkit.journal.writer import Writer


@dataclass(slots=True)
class _Claim:
    tree: int
    epoch: int
    lock: RunLock


class SqliteJournal:
    """Runs in the SQLite file `path`, with a lock file per held run in a folder beside it (`locks`, `<name>.locks`).

    `timeout` is how many seconds to wait for another program that writes. `mask` hides secrets in whatever is stored.
    Raises `JournalTooNew`, and `JournalError` where the file cannot be opened, is no journal, or is locked for long.
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
            raise UsageError(f"synchronous is 'FULL' or 'NORMAL', not {synchronous!r}")
        self.path = Path(path).expanduser().absolute()
        self.closed = False
        self._locks = self.path.parent / ("locks" if self.path.name == "runs.db" else f"{self.path.name}.locks")
        self._synchronous, self._timeout, self._mask = synchronous, timeout, mask
        self._guard = threading.RLock()
        self._claims: dict[str, _Claim] = {}
        self._writers: dict[int, Writer] = {}
        self._lost: dict[str, str] = {}  # run -> who holds it: the process that this one was forked from
        self._level = ""
        self._db: sqlite3.Connection | None = connect(self.path, timeout)
        _journals.add(self)

    def __repr__(self) -> str:
        return f"SqliteJournal({str(self.path)!r})"

    # -- holding runs ------------------------------------------------------------------------------------------------

    def create(self, info: RunInfo) -> None:
        """Add a run and hold it for this process. Raises `UsageError` where the name is taken or cannot name a file."""
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", info.run):
            raise UsageError(f"a run's name has up to 100 letters, digits and -._ in it, unlike {info.run!r}")
        secrets.refresh()
        line = {
            name: value
            for name, value in asdict(info).items()
            if name not in ("run", "tree", "status", "rows", "updated")
        }
        text = json.dumps(secrets.mask_json(line, self._mask) if self._mask else line)
        with self._using() as db, self._locked(info.run) as lock:
            with transaction(db):
                if db.execute("SELECT 1 FROM runs WHERE run = ?", (info.run,)).fetchone():
                    raise UsageError(f"there is a run {info.run!r} already; claim it, or take another name")
                db.execute("INSERT OR IGNORE INTO trees VALUES (NULL, ?, 0, ?)", (_plain(info.tree), START))
                tree = db.execute("SELECT id FROM trees WHERE name = ?", (_plain(info.tree),)).fetchone()[0]
                values = (info.run, tree, 1, _me(), _plain(info.status), info.updated, text)
                db.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", values)
            self._claims[info.run] = _Claim(tree, 1, lock)

    def claim(self, run: str) -> RunInfo:
        """Hold an existing run for this process. Raises `Unknown`, or `JournalInUse` where it is held already."""
        secrets.refresh()
        with self._using() as db:
            self._tree(db, run)
            with self._locked(run) as lock:
                with transaction(db):
                    tree = self._tree(db, run)
                    db.execute("UPDATE runs SET epoch = epoch + 1, holder = ? WHERE run = ?", (_me(), run))
                    epoch = db.execute("SELECT epoch FROM runs WHERE run = ?", (run,)).fetchone()[0]
                info = infos(db, run)[0]
                self._claims[run] = _Claim(tree, epoch, lock)
                return info

    def release(self, run: str) -> None:
        """Let go of a run; one that is not held is left alone."""
        with self._guard:
            claim = self._claims.get(run)
            if claim is None:
                return
            try:
                with contextlib.suppress(JournalError, Fenced), self._using() as db, transaction(db):
                    self._check(db, run, claim)
                    seal(db, claim.tree)
            finally:
                claim.lock.release()
                del self._claims[run]
                if all(other.tree != claim.tree for other in self._claims.values()):
                    self._writers.pop(claim.tree, None)

    # -- rows --------------------------------------------------------------------------------------------------------

    def append(self, row: Row, *, sync: bool = True) -> int:
        """Add a row to the tree of `row.run`, set its `id` and give it.

        On return it outlives this process; with `sync` it, and all before it, are on the disk. Raises `Fenced` where
        another process took the run over, `JournalError` where it cannot be written: then nothing of it is, and the
        same row can be appended again.
        """
        with self._using("" if sync else "NORMAL") as db:
            claim = self._claimed(row.run)
            writer = self._writer(db, claim.tree, row.run)
            body = writer.encode(row)
            with transaction(db):
                self._check(db, row.run, claim)
                number, before = last(db, claim.tree)
                at = time.time()
                mark = link(before, number + 1, row.run, at, body)
                values = (span(claim.tree)[0] + number + 1, row.run, at, body, mark)
                db.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", values)
            writer.keep()
            row.id = number + 1
            return row.id

    def rows(self, run: str, after: int = 0) -> list[Row]:
        """Give the rows of the run's tree behind row `after`, oldest first. Raises `Unknown`, `JournalDamaged`."""
        with self._using() as db:
            return read(db, self.path, self._tree(db, run), run)[0][after:]

    # -- the list of runs --------------------------------------------------------------------------------------------

    def runs(self) -> list[RunInfo]:
        """List all runs, the newest first; one whose process died while it was running is "interrupted"."""
        with self._using() as db:
            found = infos(db)
        for info in found:
            if info.status == "running" and not is_held(self._locks, info.run):
                info.status = "interrupted"
        return found

    def set_status(self, run: str, status: str) -> None:
        """Say how a run stands that this process holds, for the list."""
        with self._using() as db:
            claim = self._claimed(run)
            with transaction(db):
                self._check(db, run, claim)
                db.execute("UPDATE runs SET status = ?, updated = ? WHERE run = ?", (_plain(status), time.time(), run))
                seal(db, claim.tree)

    def delete(self, run: str) -> None:
        """Forget a run that nobody holds; the rows of its tree go when the last run of the tree does.

        Raises `Unknown`, and `JournalInUse` where the run is held, by this process or another one.
        """
        with self._using() as db:
            self._tree(db, run)
            with self._locked(run) as lock:
                with transaction(db):
                    tree = self._tree(db, run)
                    db.execute("DELETE FROM runs WHERE run = ?", (run,))
                    if not db.execute("SELECT 1 FROM runs WHERE tree = ?", (tree,)).fetchone():
                        db.execute("DELETE FROM rows WHERE id BETWEEN ? AND ?", span(tree))
                        db.execute("DELETE FROM trees WHERE id = ?", (tree,))
                lock.release()
            with contextlib.suppress(sqlite3.Error):  # what is deleted leaves the write-ahead log too
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def prune(self, keep_days: float | None = None, keep_runs: int | None = None) -> list[str]:
        """Delete the runs not touched for `keep_days`, and all but the newest `keep_runs`; give their names.

        Runs that are held stay. Without arguments nothing is deleted.
        """
        gone = []
        for run in outdated(self.runs(), keep_days, keep_runs):
            with contextlib.suppress(JournalInUse, Unknown):
                self.delete(run)
                gone.append(run)
        if gone:
            with self._using() as db, contextlib.suppress(sqlite3.OperationalError):  # another program reads: next time
                db.execute("VACUUM")
        return gone

    def close(self) -> None:
        """Let go of all runs and of the file."""
        with self._guard:
            for run in list(self._claims):
                self.release(run)
            if self._db is not None:
                self._db.close()
            self._db, self.closed = None, True

    # -- inside ------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _using(self, level: str = "") -> Iterator[sqlite3.Connection]:
        """Give the connection to this thread alone, at a level of durability ("" is the journal's own)."""
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
        """Lock a run, and let it go again if the block fails."""
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
        if run in self._lost:
            raise Fenced(run, self._lost[run])
        raise JournalError(f"run {run} is not held by this process; claim it first")

    def _check(self, db: sqlite3.Connection, run: str, claim: _Claim) -> None:
        found = db.execute("SELECT epoch, holder FROM runs WHERE run = ?", (run,)).fetchone()
        if found is None or found[0] != claim.epoch:
            raise Fenced(run, found[1] if found else "somebody who deleted it")

    def _tree(self, db: sqlite3.Connection, run: str) -> int:
        found = db.execute("SELECT tree FROM runs WHERE run = ?", (_plain(run),)).fetchone()
        if found is None:
            raise Unknown(
                "run", run, [name for (name,) in db.execute("SELECT run FROM runs ORDER BY updated DESC LIMIT 20")]
            )
        return int(found[0])

    def _writer(self, db: sqlite3.Connection, tree: int, run: str) -> Writer:
        """Give the encoder of a tree; what the tree holds already is read once. Raises `JournalDamaged`."""
        writer = self._writers.get(tree)
        if writer is None:
            writer = Writer(self._mask)
            writer.knows(read(db, self.path, tree, run)[1])
            self._writers[tree] = writer
        return writer

    def _forked(self) -> None:
        """Leave the connection and the runs to the parent process: a child must not use them, nor close them."""
        _left_to_the_parent.append(self._db)
        self._db, self._level, self._guard = None, "", threading.RLock()
        self._lost.update({run: f"process {os.getppid()}" for run in self._claims})
        self._claims.clear()
        self._writers.clear()


def _me() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def _plain(text: str) -> str:
    """Make a text that SQLite takes: lone surrogates are written out."""
    return text.encode(errors="backslashreplace").decode()


_journals: weakref.WeakSet[SqliteJournal] = weakref.WeakSet()
_left_to_the_parent: list[object] = []


def _after_fork() -> None:
    for journal in list(_journals):
        journal._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
