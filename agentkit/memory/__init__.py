"""What outlasts a run: the turns of sessions, facts about a person, and lessons.

`agent.memory` is the memory beside an agent's journal; `agentkit.memory.store.Memory(path)` is one on its own, and
`agentkit.memory.lessons.Lessons(path)` keeps only lessons.
"""

from __future__ import annotations

from agentkit.core.lessons import LessonStore
from agentkit.memory.base import Turn
from agentkit.memory.open import open_memory

__all__ = ["LessonStore", "Turn", "open_memory"]
