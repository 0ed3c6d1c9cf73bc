"""Lessons: what a person's earlier attempts have taught, for engines that learn from them."""

from __future__ import annotations

import os
import time
from pathlib import Path

from agentkit.core.secrets import mask
from agentkit.errors import UsageError
from agentkit.inert import inert
from agentkit.memory.database import IN_PROCESS, Database, Store, require_texts
from agentkit.memory.search import rank

_MAX_SEARCHED = 1_000


class Lessons:
    """The lessons of one person, in a file or in this process; see `LessonStore`.

    `path` is a file that belongs to agentkit, such as "lessons.db"; several people and processes may share it. Without
    a path the lessons last as long as this object. "" is the user of lessons that belong to nobody in particular.
    Secrets are masked before anything is stored.
    """

    def __init__(self, path: str | os.PathLike[str] | Store | None = None, *, user: str = "", newest: int = 20) -> None:
        require_texts(user=user)
        if not isinstance(newest, int) or isinstance(newest, bool) or newest < 0:
            raise UsageError(f"newest must be an integer of at least 0, not {newest!r}")
        self._database = path if isinstance(path, Store) else Database(IN_PROCESS if path is None else path)
        self.user = user
        self.newest = newest

    @property
    def path(self) -> Path | str | None:
        """The file or the URL of the database, or None for lessons in this process."""
        return None if str(self._database.path) == IN_PROCESS else self._database.path

    def of(self, user: str) -> Lessons:
        """Return the lessons of another person in the same place."""
        return Lessons(self._database, user=user, newest=self.newest)

    def remember(self, lesson: str, *, task: str = "") -> None:
        """Store a lesson, once; `task` is what it was learnt from."""
        require_texts(lesson=lesson, task=task)
        if not lesson.strip():
            raise UsageError("lesson must not be empty")
        with self._database.writing() as db:
            sql = "INSERT INTO lessons (person, task, lesson, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
            db.execute(sql, (self.user, mask(task), mask(lesson), time.time()))

    def recall(self, task: str = "") -> list[str]:
        """Return the newest lessons, the oldest of them first; with a task, those that share words with it, the best
        first.
        """
        with self._database.reading() as db:
            sql = "SELECT task, lesson FROM lessons WHERE person = ? ORDER BY n DESC LIMIT ?"
            rows = db.execute(sql, (self.user, _MAX_SEARCHED if task else self.newest)).fetchall()[::-1]
        if not task:
            return [lesson for _, lesson in rows]
        return rank(task, [(f"{about} {lesson}", lesson) for about, lesson in rows], self.newest)

    def forget(self) -> None:
        """Delete all lessons of this person."""
        with self._database.writing() as db:
            db.execute("DELETE FROM lessons WHERE person = ?", (self.user,))
        self._database.erase_log()

    @inert
    def __repr__(self) -> str:
        return f"<Lessons of {self.user or 'nobody in particular'}: {len(self.recall())}>"
