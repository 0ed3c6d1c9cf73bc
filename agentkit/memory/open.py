"""Which memory belongs to a journal: a file beside the journal's own, or this process."""

from __future__ import annotations

import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentkit.memory.store import Memory

_opened: dict[Path, Memory] = {}
_in_process: weakref.WeakKeyDictionary[Any, Memory] = weakref.WeakKeyDictionary()
_guard = threading.Lock()


def open_memory(owner: Any) -> Memory:
    """Give the memory of a journal: the same file is opened once. An owner without a file has one in this process."""
    from agentkit.memory.store import Memory

    path = getattr(owner, "path", None)
    with _guard:
        if path is None:
            return _in_process.setdefault(owner, Memory())
        path = Path(path)
        beside = path.with_name("memory.db" if path.name == "runs.db" else f"{path.name}.memory")
        return _opened.setdefault(beside, Memory(beside))
