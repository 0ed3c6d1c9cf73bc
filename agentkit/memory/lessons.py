"""Lessons that outlive a run: what an engine learned by reflecting, recalled when the next run begins.

A store is anything with `recall()` and `remember(lesson)`; whose lessons it holds is the store's own affair, so that
there is one per user. What was recalled is recorded at the beginning of a run, and a replay needs no store.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, runtime_checkable

from agentkit.core.secrets import mask


@runtime_checkable
class Store(Protocol):
    """Keeps lessons: what a run is given when it begins, and what it leaves behind when it ends."""

    def recall(self) -> Iterable[str]:
        """Give what is known, the oldest first."""

    def remember(self, lesson: str) -> None:
        """Keep a lesson; one that is known already is kept once."""


class Lessons:
    """A store in memory, or in a file that holds one line of JSON per lesson; it recalls the `newest` ones of `user`."""

    def __init__(self, path: str | os.PathLike[str] | None = None, *, user: str = "", newest: int = 20) -> None:
        self.path = Path(path) if path is not None else None
        self.user = user
        self.newest = newest
        self._held: list[dict[str, str]] = []

    def of(self, user: str) -> Lessons:
        """Give the same store for another user."""
        other = Lessons(self.path, user=user, newest=self.newest)
        other._held = self._held
        return other

    def recall(self) -> list[str]:
        """Give what is known, the oldest first."""
        return [row["lesson"] for row in self._rows() if row.get("user") == self.user][-self.newest :]

    def remember(self, lesson: str) -> None:
        """Keep a lesson, once."""
        row = {"user": self.user, "lesson": mask(lesson)}
        if row in self._rows():
            return
        if self.path is None:
            self._held.append(row)
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"\n{json.dumps(row)}")  # in front: what a writer that was killed left of a line stays by itself

    def forget(self) -> None:
        """Drop all lessons of this user."""
        rows = [row for row in self._rows() if row.get("user") != self.user]
        self._held[:] = rows if self.path is None else []
        if self.path is not None and self.path.exists():
            self.path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    def _rows(self) -> list[dict[str, str]]:
        if self.path is None:
            return list(self._held)
        if not self.path.exists():
            return []
        rows = [_row(line) for line in self.path.read_text(encoding="utf-8", errors="replace").split("\n")]
        return [row for row in rows if row]

    def __repr__(self) -> str:
        return f"<Lessons of {self.user or 'nobody in particular'}: {len(self.recall())}>"


def _row(line: str) -> dict[str, str] | None:
    """Read a line of the file; None for one that is torn, or holds something else."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) and isinstance(row.get("lesson"), str) else None
