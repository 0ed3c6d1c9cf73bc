"""The journal, which records runs: in memory, or in a file that survives the process."""

from agentkit.config import home
from agentkit.journal.entries import Entry, Journal, Note, Row, RunInfo
from agentkit.journal.memory import MemoryJournal, memory
from agentkit.journal.open import backup, open_journal, verify

__all__ = [
    "Entry",
    "Journal",
    "MemoryJournal",
    "Note",
    "Row",
    "RunInfo",
    "backup",
    "home",
    "memory",
    "open_journal",
    "verify",
]
