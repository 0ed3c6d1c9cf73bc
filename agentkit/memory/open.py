"""Which memory belongs to a journal: a file beside its file, tables in its database, or one in this process."""

from __future__ import annotations

import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentkit.memory.store import Memory

_opened: dict[Path, Memory] = {}
_in_process: weakref.WeakKeyDictionary[Any, Memory] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def open_memory(owner: Any) -> Memory:
    """Return the memory of a journal, or of any other object: always the same for the same file or object.

    A journal with a method `open_memory` brings its memory itself, so that all who share the journal share the memory.
    If the owner has a `path`, its memory is a file beside that; else it lasts as long as the owner.
    """
    from agentkit.journal.postgres.journal import PostgresJournal
    from agentkit.memory.postgres import PostgresDatabase
    from agentkit.memory.store import Memory

    if isinstance(owner, PostgresJournal):
        with _lock:
            return _in_process.setdefault(owner, Memory(PostgresDatabase(owner.connections)))
    if callable(bring := getattr(owner, "open_memory", None)):
        return bring()
    path = getattr(owner, "path", None)
    with _lock:
        if path is None:
            return _in_process.setdefault(owner, Memory())
        path = Path(path)
        file = path.with_name("memory.db" if path.name == "runs.db" else f"{path.name}.memory")
        return _opened.setdefault(file, Memory(file))
