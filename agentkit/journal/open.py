"""Find the journal that an option names: none, this process's memory, the user's default file, or another file."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentkit.config import home
from agentkit.core.outside import path_of
from agentkit.errors import UsageError
from agentkit.journal.memory import memory

__all__ = ["home", "open_journal"]

if TYPE_CHECKING:
    from agentkit.journal.entries import Journal

_opened: dict[tuple[Path, int], Any] = {}
_guard = threading.Lock()


def open_journal(spec: Journal | str | os.PathLike[str] | None = "sqlite") -> Journal | None:
    """Return the journal for None, "memory", "sqlite" (`runs.db` in `home()`), a path, or a journal itself.

    A file is opened once per process. Raises `UsageError` for anything else, `JournalError` if the file cannot be
    opened.
    """
    if spec is None:
        return None
    if spec == "memory":
        return memory
    if not isinstance(spec, str | os.PathLike):
        if not callable(getattr(spec, "append", None)) or not callable(getattr(spec, "rows", None)):
            raise UsageError(f'a journal must be None, "memory", "sqlite", a path or a Journal, not {spec!r}')
        return spec
    if not spec:
        raise UsageError('a journal must be None, "memory", "sqlite", a path or a Journal, not an empty str')
    from agentkit.journal.sqlite import SqliteJournal

    path = (home() / "runs.db" if spec == "sqlite" else path_of(spec, "a journal")).resolve()
    with _guard:
        journal = _opened.get((path, os.getpid()))
        if journal is None or journal.closed:
            journal = _opened[path, os.getpid()] = SqliteJournal(path)
        return journal
