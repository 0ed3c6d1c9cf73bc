"""Which entries of a tree stand at one place of it: what there is to choose from."""

from __future__ import annotations

from agentkit.journal.entries import Entry

_Place = tuple[int, str, int]


class Family:
    """An index over the entries of a tree, which only ever grows: `look` takes up what has come since."""

    def __init__(self, entries: dict[int, Entry]) -> None:
        self._entries = entries
        self.size = 0
        self._places: dict[_Place, list[int]] = {}
        self.roles: set[str] = set()

    def look(self) -> dict[int, list[int]]:
        """Take up new entries; give, by entry, the siblings of those that have more of them now."""
        changed: dict[int, list[int]] = {}
        for entry in list(self._entries.values())[self.size :]:
            self.size += 1
            if entry.kind == "begin":
                continue
            if entry.step is not None:
                self.roles.add(entry.step.role)
            siblings = self._places.setdefault((entry.parent, entry.path, entry.index), [])
            siblings.append(entry.id)
            if len(siblings) > 1:
                changed.update(dict.fromkeys(siblings, siblings))
        return changed

    def siblings(self, entry: Entry) -> list[int]:
        """Give the entries that stand where this one does, oldest first, itself among them."""
        return self._places.get((entry.parent, entry.path, entry.index), [entry.id])
