"""The memory: turns of sessions, summaries, facts about a person, and lessons."""

from __future__ import annotations

import os
import time
from pathlib import Path

from agentkit.core.secrets import mask
from agentkit.errors import UsageError
from agentkit.inert import inert
from agentkit.memory.base import Turn
from agentkit.memory.database import IN_PROCESS, Database, Store, require_texts
from agentkit.memory.lessons import Lessons
from agentkit.memory.search import rank

_MAX_SEARCHED = 1_000
_ALL = 2**62


class Memory:
    """Turns, facts and lessons in the file `path`, or in a database; ":memory:" lasts as long as the object.

    What belongs to a person is found only under the name of that person; "" is nobody in particular. Secrets are masked
    before anything is stored. Raises `JournalError` if the file cannot be used, `UsageError` for a name or a text that
    is not a `str`.
    """

    def __init__(self, path: str | os.PathLike[str] | Store = IN_PROCESS, *, timeout: float = 5.0) -> None:
        self._database = path if isinstance(path, Store) else Database(path, timeout=timeout)

    @property
    def path(self) -> Path | str:
        """The file, or the URL of the database."""
        return self._database.path

    @inert
    def __repr__(self) -> str:
        return f"Memory({str(self.path)!r})"

    # -- turns of a session --------------------------------------------------------------------------------------------

    def begin_turn(self, run: str, question: str, *, session: str = "", user: str = "") -> int:
        """Store that a run begins, and return the number of its turn; a run that is known already keeps its number."""
        require_texts(run=run, question=question, session=session, user=user)
        with self._database.writing() as db:
            values = (run, session, user, mask(question), time.time())
            db.execute(
                """INSERT INTO turns (run, session, person, question, at) VALUES (?, ?, ?, ?, ?)
              ON CONFLICT (run) DO NOTHING""",
                values,
            )
            return int(db.execute("SELECT n FROM turns WHERE run = ?", (run,)).fetchone()[0])

    def has_turn(self, run: str) -> bool:
        """Return whether a run has begun a turn here."""
        require_texts(run=run)
        with self._database.reading() as db:
            return db.execute("SELECT 1 FROM turns WHERE run = ?", (run,)).fetchone() is not None

    def end_turn(self, run: str, answer: str) -> None:
        """Store the answer of a run; a later answer replaces an earlier one."""
        require_texts(run=run, answer=answer)
        with self._database.writing() as db:
            db.execute("UPDATE turns SET answer = ? WHERE run = ?", (mask(answer), run))

    def turns(
        self, session: str | None = None, *, user: str = "", after: int = 0, limit: int | None = None
    ) -> list[Turn]:
        """Return a person's answered turns in a session, or in all sessions, the oldest first.

        `after` leaves out the turns up to this number; `limit` keeps only the last ones.
        """
        conditions = {"person": user} if session is None else {"person": user, "session": session}
        require_texts(**conditions)
        where = " AND ".join(f"{column} = ?" for column in conditions)
        with self._database.reading() as db:
            sql = f"""SELECT n, run, question, answer, at FROM turns
              WHERE {where} AND answer <> '' AND n > ? ORDER BY n DESC LIMIT ?"""
            rows = db.execute(sql, (*conditions.values(), after, _ALL if limit is None else limit)).fetchall()
        return [Turn(*row) for row in reversed(rows)]

    def count_turns(self, session: str, *, user: str = "") -> int:
        """Return the number of a person's answered turns in a session."""
        require_texts(session=session, user=user)
        with self._database.reading() as db:
            sql = "SELECT count(*) FROM turns WHERE person = ? AND session = ? AND answer <> ''"
            return int(db.execute(sql, (user, session)).fetchone()[0])

    def unanswered(self, session: str, *, user: str = "") -> list[str]:
        """Return the runs of a session that have begun and have no answer yet."""
        require_texts(session=session, user=user)
        with self._database.reading() as db:
            sql = "SELECT run FROM turns WHERE session = ? AND person = ? AND answer IS NULL ORDER BY n"
            return [run for (run,) in db.execute(sql, (session, user))]

    def summary(self, session: str, *, user: str = "") -> tuple[int, str]:
        """Return the number of the last turn that the summary of a session covers, and its text; (0,
        "") without one.
        """
        require_texts(session=session, user=user)
        with self._database.reading() as db:
            sql = "SELECT upto, text FROM summaries WHERE session = ? AND person = ?"
            return db.execute(sql, (session, user)).fetchone() or (0, "")

    def set_summary(self, session: str, upto: int, text: str, *, user: str = "") -> None:
        """Store the summary of a session up to a turn, unless the stored one covers more."""
        require_texts(session=session, text=text, user=user)
        with self._database.writing() as db:
            sql = """INSERT INTO summaries VALUES (?, ?, ?, ?) ON CONFLICT (session, person)
              DO UPDATE SET upto = excluded.upto, text = excluded.text WHERE excluded.upto >= summaries.upto"""
            db.execute(sql, (session, user, upto, mask(text)))

    def sessions(self, *, user: str = "") -> list[str]:
        """Return the names of a person's sessions, the latest first."""
        require_texts(user=user)
        with self._database.reading() as db:
            sql = "SELECT session FROM turns WHERE person = ? AND session <> '' GROUP BY session ORDER BY max(n) DESC"
            return [session for (session,) in db.execute(sql, (user,))]

    # -- facts about a person ------------------------------------------------------------------------------------------

    def remember(self, text: str, *, user: str = "") -> None:
        """Store a fact about a person, once."""
        require_texts(text=text, user=user)
        if not text.strip():
            raise UsageError("a fact to remember must not be empty")
        with self._database.writing() as db:
            db.execute(
                "INSERT INTO facts (person, text, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (user, mask(text), time.time()),
            )

    def facts(self, *, user: str = "") -> list[str]:
        """Return all facts about a person, the oldest first."""
        require_texts(user=user)
        with self._database.reading() as db:
            return [text for (text,) in db.execute("SELECT text FROM facts WHERE person = ? ORDER BY n", (user,))]

    def search(self, query: str, *, user: str = "", limit: int = 3, except_session: str | None = None) -> list[str]:
        """Return what is known about a person that shares words with a query: facts and earlier turns, the best first.

        The turns of `except_session` are left out.
        """
        require_texts(query=query, user=user)
        with self._database.reading() as db:
            sql = """SELECT question, answer FROM turns WHERE person = ? AND answer <> ''
              AND (CAST(? AS text) IS NULL OR session <> ?)
              ORDER BY n DESC LIMIT ?"""
            rows = db.execute(sql, (user, except_session, except_session, _MAX_SEARCHED)).fetchall()
        turns = [f"Asked: {question}\nAnswered: {answer}" for question, answer in reversed(rows)]
        known = [*turns, *self.facts(user=user)]
        return rank(query, zip(known, known, strict=True), limit)

    # -- lessons -------------------------------------------------------------------------------------------------------

    def lessons(self, user: str = "") -> Lessons:
        """Return the lessons of a person, for the option `lessons` of an engine."""
        return Lessons(self._database, user=user)

    # -- forgetting ----------------------------------------------------------------------------------------------------

    def forget(self, *, session: str | None = None, user: str | None = None) -> int:
        """Delete what is known: of a session, of a person, or of one session of that person. Return how many records.

        The runs themselves stay in the journal; `journal.delete` deletes them.
        """
        if session is None and user is None:
            raise UsageError("pass what to forget: session=..., user=..., or both")
        given = {"session": session, "person": user}
        conditions = {column: value for column, value in given.items() if value is not None}
        require_texts(**conditions)
        tables = ["turns", "summaries"] if session is not None else ["turns", "summaries", "facts", "lessons"]
        where = " AND ".join(f"{column} = ?" for column in conditions)
        with self._database.writing() as db:
            count = sum(
                db.execute(f"DELETE FROM {table} WHERE {where}", tuple(conditions.values())).rowcount
                for table in tables
            )
        self._database.erase_log()
        return count

    def close(self) -> None:
        """Close the file; it is opened again when it is used again."""
        self._database.close()
