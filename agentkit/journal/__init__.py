"""The journal, which records runs: in memory, in a file, or in the database of a team."""

from agentkit.config import home
from agentkit.journal.entries import Entry, Journal, Note, Row, RunInfo, Wish
from agentkit.journal.memory import MemoryJournal, memory
from agentkit.journal.open import backup, migrate, open_journal, verify

__all__ = [
    "Entry",
    "Journal",
    "MemoryJournal",
    "Note",
    "Row",
    "RunInfo",
    "Wish",
    "backup",
    "home",
    "memory",
    "migrate",
    "open_journal",
    "verify",
]
