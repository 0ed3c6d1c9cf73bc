"""Copy a journal while it is in use, and check one: each run against its hashes and against what was synced."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agentkit.errors import JournalDamaged, JournalError, Unknown, UsageError
from agentkit.journal.chain import last
from agentkit.journal.database import errors, snapshot
from agentkit.journal.entries import NOT_BEGUN, Journal, Note, RunInfo
from agentkit.journal.heads import Head, Heads
from agentkit.journal.listing import infos
from agentkit.journal.lock import folder_of_locks, is_held
from agentkit.journal.loss import loss
from agentkit.journal.read_only import ReadOnlyJournal, look

Progress = Callable[[int, int], None]
"""A function that is called from time to time with how much is done, and how much there is."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check has found about a run: "intact", "damaged", "rows lost", "lost" or "not begun", and why.

    The run is "" if the verdict is about the whole file.
    """

    run: str
    state: str
    text: str = ""

    @property
    def is_sound(self) -> bool:
        """Whether nothing is damaged or missing."""
        return self.state in ("intact", NOT_BEGUN)


def verify(path: Path, run: str = "") -> Iterator[Verdict]:
    """Yield a verdict about the file and one about each of its runs, or only about one run, without writing anything.

    Raises `JournalError` if there is no journal that can be opened, `Unknown` if there is no such run.
    """
    journal = ReadOnlyJournal(path)
    if not journal.exists() and not Heads(journal.path).trees():
        raise JournalError(f"there is no journal {path}")
    if not run:
        yield _of_the_file(journal.path)
    try:
        found = journal.runs()
    except JournalDamaged as error:
        yield Verdict("", "damaged", f"the list of its runs cannot be read: {error}")
        return
    yield from verify_runs(journal, found, run)


def verify_runs(journal: Journal, found: list[RunInfo], run: str = "") -> Iterator[Verdict]:
    """Yield a verdict about each of the runs that a journal lists, or only about one. Raises `Unknown`."""
    if run and all(info.run != run for info in found):
        raise Unknown("run", run, [info.run for info in found])
    for info in found:
        if info.run == run or not run:
            yield _of_a_run(journal, info.run, info.status)


def _of_the_file(path: Path) -> Verdict:
    try:
        found = look(path, lambda db: [text for (text,) in db.execute("PRAGMA integrity_check(3)")])
    except JournalDamaged as error:
        return Verdict("", "damaged", str(error))
    problems = [text for text in found or () if text != "ok"]
    return Verdict("", "damaged" if problems else "intact", "; ".join(problems))


def _of_a_run(journal: Journal, run: str, status: str) -> Verdict:
    try:
        rows, text = journal.rows(run), journal.lost(run)
    except JournalDamaged as error:
        return Verdict(run, "lost" if status == "lost" else "damaged", str(error))
    noted = [row.data.get("text", "") for row in rows if isinstance(row, Note) and row.kind == "lost"]
    if text or noted:
        return Verdict(run, "rows lost", "; ".join([*noted, text] if text else noted))
    if status == NOT_BEGUN:
        return Verdict(run, NOT_BEGUN, "nothing is recorded of it")
    return Verdict(run, "intact", f"{len(rows)} rows")


def backup(path: Path, target: Path, progress: Progress | None = None) -> int:
    """Copy a journal and its heads to a new file, even while runs are being written, and return the number of runs.

    The copy is one file as of one moment, and the folder of its heads. A run that a process holds meanwhile goes on
    without the copy; it has no head there, so that it does not look complete. Raises `UsageError` if `target` exists,
    `JournalError` if the journal cannot be read or the copy cannot be written.
    """
    path, target = path.expanduser().absolute(), target.expanduser().absolute()
    part = target.with_name(f"{target.name}.part")
    source, copied, final = Heads(path), Heads(part), Heads(target)
    for existing in (target, final.folder):
        if existing.exists():
            raise UsageError(f"{existing} exists already; name a file that does not exist")
    if not path.exists():
        raise JournalError(f"there is no journal {path}")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _remove(part, copied)
        copied.folder.mkdir(mode=0o700)
        for tree in source.trees():  # before the rows, which can then only be ahead of the heads
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(source.file(tree), copied.file(tree))
        held = _held(path)
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        look(path, lambda db: _copy(db, part, progress))
        with errors(part), contextlib.closing(sqlite3.connect(part, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode = DELETE")  # all in one file
            _bring_up_to_date(db, source, copied, held | _held(path))
            count = int(db.execute("SELECT count(*) FROM runs").fetchone()[0])
        os.rename(copied.folder, final.folder)
        os.rename(part, target)
    except OSError as error:
        raise JournalError(f"cannot write {target}: {error.strerror}") from error
    finally:
        _remove(part, copied)
    return count


def _copy(db: sqlite3.Connection, part: Path, progress: Progress | None) -> bool:
    with contextlib.closing(sqlite3.connect(part, isolation_level=None)) as copy, snapshot(db):
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        db.backup(copy, pages=4096, progress=lambda _, left, all_: progress(all_ - left, all_) if progress else None)
    return True


def _bring_up_to_date(db: sqlite3.Connection, source: Heads, copied: Heads, held: set[str]) -> None:
    """Make the heads of a copy those of its own rows; a head keeps what the journal had lost already."""
    names = {name for (name,) in db.execute("SELECT name FROM trees")}
    for tree in set(copied.trees()) - names:
        if not source.peek(tree):  # it was deleted meanwhile
            copied.remove(tree)
    for run, tree, name, holder in db.execute("SELECT run, tree, name, holder FROM runs JOIN trees ON tree = id"):
        if holder and run in held:
            copied.remove(name)
        elif os.path.exists(copied.file(name)) and loss(db, copied, run, tree, name) is None:
            copied.replace(name, Head(*last(db, tree), time.time()))


def _held(path: Path) -> set[str]:
    locks = folder_of_locks(path)
    return {info.run for info in look(path, infos) or () if is_held(locks, info.run)}


def _remove(part: Path, heads: Heads) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        part.unlink()
    shutil.rmtree(heads.folder, ignore_errors=True)
