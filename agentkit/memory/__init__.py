"""What outlasts a run: the turns of a session, what is known of a person, and lessons.

`agent.memory` is the store that belongs to an agent's journal; `agentkit.memory.store.Memory(path)` is one by itself.
"""

from __future__ import annotations

from agentkit.memory.base import Lessons, Turn
from agentkit.memory.open import open_memory

__all__ = ["Lessons", "Turn", "open_memory"]
