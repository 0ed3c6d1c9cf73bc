"""The store of memories: one SQLite file beside the journal, readable by its owner only; several processes may use it at once."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentkit.core.secrets import mask
from agentkit.errors import JournalError, JournalTooNew, UsageError
from agentkit.journal.database import errors, transaction
from agentkit.memory.base import Turn, best

VERSION = 1
APPLICATION = 0x61676B6D  # "agkm"
IN_PROCESS = ":memory:"

SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
CREATE TABLE turns (n INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT UNIQUE NOT NULL, session TEXT NOT NULL, person TEXT NOT NULL,
  question TEXT NOT NULL, answer TEXT, at REAL NOT NULL);
CREATE INDEX by_session ON turns (session, person);
CREATE TABLE summaries (session TEXT, person TEXT, upto INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (session, person));
CREATE TABLE facts (n INTEGER PRIMARY KEY AUTOINCREMENT, person TEXT NOT NULL, text TEXT NOT NULL, at REAL NOT NULL,
  UNIQUE (person, text));
CREATE TABLE lessons (n INTEGER PRIMARY KEY AUTOINCREMENT, person TEXT NOT NULL, task TEXT NOT NULL, lesson TEXT NOT NULL,
  at REAL NOT NULL, UNIQUE (person, lesson))
"""


class Memory:
    """Turns, facts and lessons in the file `path`; ":memory:" keeps them in this process only.

    Whatever belongs to a person is found under that person's name only; "" is nobody in particular. Secrets are masked
    before anything is stored. Raises `JournalError` where the file cannot be used.
    """

    def __init__(self, path: str | os.PathLike[str] = IN_PROCESS, *, timeout: float = 5.0) -> None:
        self.path = Path(path) if str(path) == IN_PROCESS else Path(path).expanduser().absolute()
        self._timeout = timeout
        self._guard = threading.RLock()
        self._db: tuple[int, sqlite3.Connection] | None = None

    def __repr__(self) -> str:
        return f"Memory({str(self.path)!r})"

    # -- turns of a session --------------------------------------------------------------------------------------------

    def begin(self, run: str, question: str, *, session: str = "", user: str = "") -> int:
        """Note that a run begins; give the number of its turn. A run that is known already keeps its number."""
        with self._using() as db, transaction(db):
            values = (run, session, user, mask(question), time.time())
            db.execute("INSERT OR IGNORE INTO turns VALUES (NULL, ?, ?, ?, ?, NULL, ?)", values)
            return int(db.execute("SELECT n FROM turns WHERE run = ?", (run,)).fetchone()[0])

    def end(self, run: str, answer: str) -> None:
        """Note what a run answered; of several answers the last one counts."""
        with self._using() as db, transaction(db):
            db.execute("UPDATE turns SET answer = ? WHERE run = ?", (mask(answer), run))

    def turns(self, session: str, *, user: str = "", after: int = 0, most: int | None = None) -> list[Turn]:
        """Give the answered turns of a session, the oldest first: all behind turn `after`, or the last `most` of them."""
        where = "session = ? AND person = ? AND n > ? AND answer <> ''"
        return self._turns(f"{where} ORDER BY n DESC LIMIT ?", session, user, after, -1 if most is None else most)[::-1]

    def unfinished(self, session: str, *, user: str = "") -> list[str]:
        """Give the runs of a session that began and have no answer yet."""
        with self._using() as db:
            sql = "SELECT run FROM turns WHERE session = ? AND person = ? AND answer IS NULL ORDER BY n"
            return [run for (run,) in db.execute(sql, (session, user))]

    def summary(self, session: str, *, user: str = "") -> tuple[int, str]:
        """Give the summary of a session's older turns, and the last turn that it covers; (0, "") when there is none."""
        with self._using() as db:
            sql = "SELECT upto, text FROM summaries WHERE session = ? AND person = ?"
            return db.execute(sql, (session, user)).fetchone() or (0, "")

    def summarise(self, session: str, upto: int, text: str, *, user: str = "") -> None:
        """Keep a summary of a session up to a turn; one that covers less than what is there already is not kept."""
        with self._using() as db, transaction(db):
            sql = """INSERT INTO summaries VALUES (?, ?, ?, ?) ON CONFLICT (session, person)
              DO UPDATE SET upto = excluded.upto, text = excluded.text WHERE excluded.upto >= upto"""
            db.execute(sql, (session, user, upto, mask(text)))

    def sessions(self, *, user: str = "") -> list[str]:
        """List a person's sessions, the latest first."""
        with self._using() as db:
            sql = "SELECT session FROM turns WHERE person = ? AND session <> '' GROUP BY session ORDER BY max(n) DESC"
            return [session for (session,) in db.execute(sql, (user,))]

    # -- what is known of a person ---------------------------------------------------------------------------------------

    def episodes(self, user: str, most: int | None = None) -> list[Turn]:
        """Give a person's answered turns of all sessions, the oldest first."""
        return self._turns("person = ? AND answer <> '' ORDER BY n DESC LIMIT ?", user, -1 if most is None else most)[
            ::-1
        ]

    def remember(self, text: str, *, user: str = "") -> None:
        """Keep a fact about a person."""
        if not text.strip():
            raise UsageError("a fact to be remembered needs some text")
        with self._using() as db, transaction(db):
            db.execute("INSERT OR IGNORE INTO facts VALUES (NULL, ?, ?, ?)", (user, mask(text), time.time()))

    def facts(self, *, user: str = "") -> list[str]:
        """Give all facts about a person, the oldest first."""
        with self._using() as db:
            return [text for (text,) in db.execute("SELECT text FROM facts WHERE person = ? ORDER BY n", (user,))]

    def recall(self, query: str, *, user: str = "", most: int = 3, without: str | None = None) -> list[str]:
        """Give what is known of a person that shares words with a query: facts and episodes, the most fitting first.

        `without` leaves out a session whose turns are told anyway.
        """
        with self._using() as db:
            sql = "SELECT question, answer, session FROM turns WHERE person = ? AND answer <> '' ORDER BY n DESC LIMIT 1000"
            rows = [row for row in db.execute(sql, (user,)) if without is None or row[2] != without]
        told = [
            (f"{question} {answer}", f"Asked: {question}\nAnswered: {answer}") for question, answer, _ in reversed(rows)
        ]
        return best(query, [*told, *((fact, fact) for fact in self.facts(user=user))], most)

    # -- lessons -----------------------------------------------------------------------------------------------------------

    def lessons(self, user: str = "") -> PersonalLessons:
        """Give the lessons of one person."""
        return PersonalLessons(self, user)

    # -- forgetting --------------------------------------------------------------------------------------------------------

    def forget(self, *, session: str | None = None, user: str | None = None) -> int:
        """Delete what is known: of a session, of a person, or of one session of that person; give how many records.

        The runs themselves stay in the journal; `journal.delete` deletes those.
        """
        if session is None and user is None:
            raise UsageError("say what to forget: session=..., user=..., or both")
        person = (["person = ?"], [user]) if user is not None else ([], [])
        both = (["session = ?", *person[0]], [session, *person[1]]) if session is not None else person
        tables = {"turns": both, "summaries": both}
        if session is None:
            tables |= {"facts": person, "lessons": person}
        count = 0
        with self._using() as db:
            with transaction(db):
                for table, (wheres, values) in tables.items():
                    count += db.execute(f"DELETE FROM {table} WHERE {' AND '.join(wheres)}", values).rowcount
            with contextlib.suppress(sqlite3.Error):  # what is deleted leaves the write-ahead log too
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return count

    # -- the file ----------------------------------------------------------------------------------------------------------

    def _turns(self, where: str, *values: Any) -> list[Turn]:
        with self._using() as db:
            return [
                Turn(*row)
                for row in db.execute(f"SELECT n, run, question, answer, at FROM turns WHERE {where}", values)
            ]

    @contextlib.contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        """Give the connection to this thread alone; a process that was forked off opens its own."""
        with self._guard, errors(self.path):
            if self._db is None or (self._db[0] != os.getpid() and str(self.path) != IN_PROCESS):
                self._db = (os.getpid(), _connect(self.path, self._timeout))
            yield self._db[1]

    def close(self) -> None:
        """Let go of the file."""
        with self._guard:
            if self._db is not None:
                self._db[1].close()
                self._db = None


@dataclass(slots=True)
class PersonalLessons:
    """The lessons of one person: what was learnt from earlier attempts. An engine that takes `lessons` takes this."""

    memory: Memory
    user: str = ""
    newest: int = 20

    def remember(self, lesson: str, *, task: str = "") -> None:
        """Keep a lesson, once; `task` is what it was learnt from."""
        with self.memory._using() as db, transaction(db):
            db.execute(
                "INSERT OR IGNORE INTO lessons VALUES (NULL, ?, ?, ?, ?)",
                (self.user, mask(task), mask(lesson), time.time()),
            )

    def recall(self, task: str = "") -> list[str]:
        """Give the newest lessons, the oldest of them first; for a task those that share words with it, the most fitting first."""
        with self.memory._using() as db:
            sql = "SELECT task, lesson FROM lessons WHERE person = ? ORDER BY n DESC LIMIT ?"
            rows = db.execute(sql, (self.user, 1_000 if task else self.newest)).fetchall()[::-1]
        if not task:
            return [lesson for _, lesson in rows]
        return best(task, [(f"{about} {lesson}", lesson) for about, lesson in rows], self.newest)


class _Connection(sqlite3.Connection):
    """Takes any text: lone surrogates, which SQLite refuses, are written out."""

    def execute(self, sql: str, values: Any = (), /) -> sqlite3.Cursor:
        plain = [v.encode(errors="backslashreplace").decode() if isinstance(v, str) else v for v in values]
        return super().execute(sql, plain)


def _connect(path: Path, timeout: float) -> sqlite3.Connection:
    """Open the file, or make it."""
    try:
        if str(path) != IN_PROCESS:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise JournalError(
            f"cannot write the memory {path}: {error.strerror}; set AGENTKIT_HOME to another folder"
        ) from error
    db = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False, factory=_Connection)
    try:
        _prepare(db, path, time.monotonic() + timeout)
    except BaseException:
        db.close()
        raise
    return db


def _prepare(db: sqlite3.Connection, path: Path, until: float) -> None:
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:  # SQLite itself does not wait with a change to WAL mode
            if not str(error).endswith("is locked") or time.monotonic() > until:
                raise
        time.sleep(0.01)
    db.execute("PRAGMA secure_delete = ON")
    with transaction(db):
        if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            for statement in SCHEMA.split(";"):
                db.execute(statement)
    version, application = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("user_version", "application_id"))
    if application != APPLICATION:
        raise JournalError(
            f"{path} is a database of another program, not a memory; set AGENTKIT_HOME to another folder"
        )
    if version > VERSION:
        raise JournalTooNew(f"{path} has format {version}, and this agentkit reads up to {VERSION}: upgrade agentkit")
