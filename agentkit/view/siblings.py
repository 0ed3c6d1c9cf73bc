"""The entries at the same position of a tree: the alternatives that a person can switch between."""

from __future__ import annotations

from agentkit.journal.entries import Entry

_Position = tuple[int, str, int]


class Siblings:
    """An index of the entries of a tree, which only ever grows; `update` adds the new ones."""

    def __init__(self, entries: dict[int, Entry]) -> None:
        self._entries = entries
        self.size = 0
        self._by_position: dict[_Position, list[int]] = {}
        self.roles: set[str] = set()
        self._forks: set[_Position] = set()

    def update(self) -> dict[int, list[int]]:
        """Add the new entries; return, by entry, the siblings of each entry that has new ones."""
        changed: dict[int, list[int]] = {}
        for entry in list(self._entries.values())[self.size :]:
            self.size += 1
            if entry.kind == "begin":
                continue
            if entry.step is not None:
                self.roles.add(entry.step.role)
            siblings = self._by_position.setdefault((entry.parent, entry.path, entry.index), [])
            siblings.append(entry.id)
            if len(siblings) > 1 and not entry.original:
                self._forks.add((entry.parent, entry.path, entry.index))
            if len(siblings) > 1:
                changed.update(dict.fromkeys(siblings, siblings))
        return changed

    def forks(self, line: list[Entry]) -> list[int]:
        """Return the positions of a line at which a step was performed more than once: other branches begin there."""
        forks = self._forks
        return [n for n, entry in enumerate(line) if (entry.parent, entry.path, entry.index) in forks] if forks else []

    def of(self, entry: Entry) -> list[int]:
        """Return the entries at the position of this one, oldest first, itself included."""
        return self._by_position.get((entry.parent, entry.path, entry.index), [entry.id])
