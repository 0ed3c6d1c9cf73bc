"""A line through a tree of entries: those on the way to where a run is, in the order of the trace.

What was recorded is never changed: an edit adds an entry beside the old one, and the run goes over to another line. What
stays on the line when one of its entries is replaced follows one rule, `keeps`: everything recorded before it, and
everything in lanes that run beside its own.
"""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Iterable, Iterator

from agentkit.core.steps import Step, Think
from agentkit.journal.entries import Entry, Row

_SEGMENT = re.compile(r"\.\d+|\[(\d+)\.(\d+)(?:<([\d,]+))?\]")

Order = tuple[int, ...]
"""Where an entry stands in the trace: ids of entries and numbers of lanes, to be compared."""


def lane_of(path: str) -> str:
    """Return the lane that a frame path lies in; "" is the run's own."""
    return path[: path.rfind("]") + 1]


def enclosing(lane: str) -> str:
    """Return the lane in which a lane was opened."""
    return lane_of(lane[: lane.rfind("[")])


@functools.lru_cache(maxsize=4096)
def _segments(path: str) -> tuple[tuple[str, int, int, frozenset[int]], ...]:
    """Split a path into its text, and for a lane the index of its `All`, its number, and the lanes that it needs."""
    return tuple(
        (m[0], int(m[1] or -1), int(m[2] or 0), frozenset(map(int, (m[3] or "").split(",") if m[3] else ())))
        for m in _SEGMENT.finditer(path)
    )


def lane_numbers(lane: str, within: str) -> Iterator[int]:
    """Yield the numbers of the lanes that lead from one lane to another one inside it."""
    return (number for text, _, number, _ in _segments(lane[len(within) :]) if text[0] == "[")


class Tree:
    """All entries that several runs share because one was forked from the other, and the lines that led through them.

    `rows` holds everything that was recorded, if there is no journal to hold it.
    """

    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}
        self.rows: list[Row] = []
        self.lines: dict[str, Line] = {}
        self.left: list[Line] = []
        self._order: dict[int, Order] = {}

    def add(self, entry: Entry) -> None:
        """Add an entry that has been recorded."""
        self.entries[entry.id] = entry
        if entry.original or "]" in entry.path:
            self._order[entry.id] = self._place(entry)

    def _place(self, entry: Entry) -> Order:
        if entry.original:
            return self.order(entry.original)
        lane, above = lane_of(entry.path), lane_of(self.entries[entry.parent].path)
        before = self.order(entry.parent)
        if lane == above:
            return (*before[:-1], entry.id)
        first, *others = lane_numbers(lane, above)
        return (*before, first, *(number for other in others for number in (0, other)), entry.id)

    def order(self, number: int) -> Order:
        """Return where an entry stands; one that replaces another stands where that one stood."""
        return self._order.get(number) or (number,)

    def slot(self, number: int) -> int:
        """Return the first of the entries that have stood where this one does."""
        while (entry := self.entries.get(number)) is not None and entry.original:
            number = entry.original
        return number

    def keeps(self, entry: Entry, at: Entry) -> bool:
        """Return whether an entry stays when what follows `at` is taken off its line, `at` included."""
        for mine, other in zip(_segments(entry.path), _segments(at.path), strict=False):
            if mine[0] != other[0]:
                if mine[1] >= 0 and mine[1] == other[1]:
                    return other[2] not in mine[3]  # beside it, unless that lane began with its result
                break
        return self.order(entry.id) < self.order(at.id)

    def stays(self, entries: Iterable[Entry], at: Entry) -> list[Entry]:
        """Return what stays on a line when `at`, and all that followed from it, is taken off."""
        return [entry for entry in entries if self.keeps(entry, at)]

    def leave(self, line: Line) -> None:
        """Remember a line that a run leaves, unless another one goes on from it, so that somebody can go back to it."""
        self.left = [other for other in self.left if not other.is_within(line)]
        if not any(line.is_within(other) for other in self.left):
            self.left.append(line)

    def line_with(self, entry: Entry, present: Line) -> list[Entry]:
        """Return a line that an entry is on: the present one if possible, otherwise the newest."""
        lines = [present, *reversed(self.left), *self.lines.values()]
        return next((line.entries for line in lines if entry.id in line.ids), [entry])

    def branches(self, present: Line) -> list[Line]:
        """Return all lines of the tree that no other one continues: the present one first, then the newest."""
        runs = [present]
        for line in self.lines.values():
            if len(line) and not any(line.is_within(other) for other in [*runs, *self.left]):
                runs = [present, *(other for other in runs[1:] if not other.is_within(line)), line]
        return [*runs, *(line for line in reversed(self.left) if not any(line.is_within(run) for run in runs))]


class Line:
    """The entries on the way to where a run is; any thread may read it.

    `tips` holds the last entry of each lane. An entry that is added moves nothing but the `entries` behind it;
    `insertions` counts how often there were any, and `newest` is the largest id. For every other change, a new line takes
    the place of this one.
    """

    __slots__ = ("entries", "ids", "insertions", "newest", "slots", "tips", "tree")

    def __init__(self, tree: Tree, entries: Iterable[Entry] = ()) -> None:
        self.tree = tree
        self.entries: list[Entry] = []
        self.ids: set[int] = set()
        self.slots: set[int] = set()
        self.tips: dict[str, int] = {"": 0}
        self.insertions = self.newest = 0
        for entry in sorted(entries, key=lambda entry: tree.order(entry.id)):
            self.append(entry)

    def append(self, entry: Entry) -> None:
        """Add an entry that was just recorded; with several lanes, those after it may have been recorded before."""
        entries, order = self.entries, self.tree.order
        self.ids.add(entry.id)
        self.newest = max(self.newest, entry.id)
        self.slots.add(self.tree.slot(entry.id) if entry.original else entry.id)
        path = entry.path
        if "]" not in path and not entry.original:
            self.tips[""] = entry.id
            entries.append(entry)
            return
        self.tips[lane_of(path)] = entry.id
        at = bisect.bisect(entries, order(entry.id), key=lambda entry: order(entry.id))
        self.insertions += at < len(entries)
        entries.insert(at, entry)

    def tip(self, lane: str) -> int:
        """Return the last entry of a lane, or where nothing has happened in it yet, the one it was opened after."""
        while lane and lane not in self.tips:
            lane = enclosing(lane)
        return self.tips[lane]

    def last(self, lane: str) -> int:
        """Return the last entry of a lane or of the lanes inside it; if there is none, the one it was opened after."""
        inside = (entry.id for entry in reversed(self.entries) if entry.path.startswith(lane))
        return next(inside, None) or self.tip(lane)

    def is_within(self, other: Line) -> bool:
        """Return whether all entries of this line are on another one, too."""
        return self.newest in other.ids and self.ids <= other.ids

    def common(self, entries: list[Entry]) -> int:
        """Count the entries at the beginning that this line shares with another one."""
        pairs = zip(self.entries, entries, strict=False)
        return next((n for n, (mine, other) in enumerate(pairs) if mine is not other), min(len(self), len(entries)))

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)


def past(line: Line, at: int) -> Iterator[Entry]:
    """Yield the entries of a line before an entry, newest first, without the lanes that run beside it; `at` included."""
    entry = line.tree.entries.get(at)
    if entry is None:
        return
    for other in reversed(line.entries):
        if other is entry or (line.tree.keeps(other, entry) and not is_beside(other.path, entry.path)):
            yield other


def is_beside(path: str, other: str) -> bool:
    """Return whether two paths are in different lanes of the same `All`."""
    for mine, its in zip(_segments(path), _segments(other), strict=False):
        if mine[0] != its[0]:
            return mine[1] >= 0 and mine[1] == its[1]
    return False


def has_drifted(now: Step | None, then: Step | None) -> bool:
    """Return whether two model calls at the same place ask for different things: messages, tools or data."""
    if not isinstance(now, Think) or not isinstance(then, Think):
        return False
    if now.chat.digest != then.chat.digest or now.shape != then.shape:
        return True
    return [tool.digest for tool in now.tools] != [tool.digest for tool in then.tools]
