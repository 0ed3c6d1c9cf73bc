"""A line through a tree of entries: the entries that lead to the current position of a run, in the order of the trace.

Recorded entries are never changed: an edit adds an entry, and the run moves to another line. One rule, `keeps`, decides
which entries stay on the line when one of them is replaced: everything recorded before it, and everything in lanes that
run in parallel to its own.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any

from agentkit.core.messages import digest
from agentkit.core.steps import Step, Think
from agentkit.journal.entries import Entry, Note, Row
from agentkit.trace.ledger import Ledger, PastCall

_SEGMENT = re.compile(r"\.\d+|\[(\d+)\.(\d+)(?:<([\d,]+))?\]")

Order = tuple[int, ...]
"""The position of an entry in the trace, for comparison.

It consists of the ids of the entries before it in the enclosing lanes and, for each lane, the id of the first entry in
its `All` and the number of the lane.
"""


def lane_of(path: str) -> str:
    """Return the lane of a frame path; "" is the run's own."""
    return path[: path.rfind("]") + 1]


def enclosing(lane: str) -> str:
    """Return the lane in which a lane was opened."""
    return lane_of(lane[: lane.rfind("[")])


@functools.lru_cache(maxsize=1024)
def _segments(path: str) -> tuple[tuple[str, int, int, frozenset[int]], ...]:
    """Return the segments of a path: the text, and for a lane its `All`'s index, its number, and the lanes it needs."""
    return tuple(
        (m[0], int(m[1] or -1), int(m[2] or 0), frozenset(map(int, (m[3] or "").split(",") if m[3] else ())))
        for m in _SEGMENT.finditer(path)
    )


def lanes_between(lane: str, within: str) -> Iterator[tuple[str, int]]:
    """Yield the lanes that lead from one lane to another lane inside it, each as the path of its `All` and a number."""
    path = within
    for text, index, number, _ in _segments(lane[len(within) :]):
        if text[0] == "[":
            yield f"{path}[{index}", number
        path += text


class Tree:
    """All entries that several runs share because one was forked from the other, and the lines through them.

    `messages` contains the injected messages by their ids, and `ends` the answers that engines have returned, by the
    `content` of the line. `asked` contains the runs in which a model was only asked again, by the digest of the
    request, and `trials` those that are one of many forks. `rows` contains everything that was recorded, if there is no
    journal.
    """

    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}
        self.rows: list[Row] = []
        self.messages: dict[str, Note] = {}
        self.lines: dict[str, Line] = {}
        self.ledger = Ledger(self.slot)
        self.asked: dict[str, set[str]] = {}
        self.trials: set[str] = set()
        self.seen: set[int] = set()
        self.left: list[Line] = []
        self.ends: dict[str, dict[str, Any]] = {}
        self._order: dict[int, Order] = {}
        self._opened: dict[tuple[int, str], list[tuple[int, int]]] = {}

    def add(self, entry: Entry) -> None:
        """Add an entry that has been recorded."""
        self.entries[entry.id] = entry
        if entry.original or "]" in entry.path:
            self._order[entry.id] = self._place(entry)

    def turn_and_slot(self, kind: str, parent: int, path: str) -> tuple[int, int]:
        """Return the number of thoughts up to a step, and for a call the number of those since the last thought."""
        before = self.entries.get(parent)
        if before is None:
            return 0, 0
        turn = before.turn + 1 if kind == "think" else before.turn
        if path.endswith("]"):
            return turn, _segments(path)[-1][2]
        if before.kind == "act" and (before.path == path or lane_of(before.path) == lane_of(path)):
            return turn, before.slot + 1
        return turn, 0

    def _place(self, entry: Entry) -> Order:
        if entry.original:
            return self.order(entry.original)
        lane, above = lane_of(entry.path), lane_of(self.entries[entry.parent].path)
        before = self.order(entry.parent)
        if lane == above:
            return (*before[:-1], entry.id)
        lanes = [(self._all(entry, path), number) for path, number in lanes_between(lane, above)]
        return (*before, *itertools.chain(*lanes), entry.id)

    def _all(self, entry: Entry, path: str) -> int:
        """Return the id of the first entry in an `All` that the first entry of a lane belongs to.

        If lanes of the `All` were kept when the line was left, they are still on the line, and it is the same `All`.
        """
        line, known = (
            self.lines.get(entry.run) or Line(self),
            self._opened.setdefault((self.slot(entry.parent), path), []),
        )
        number = next((number for first, number in reversed(known) if first in line.slots), entry.id)
        known.append((entry.id, number))
        return number

    def order(self, number: int) -> Order:
        """Return the position of an entry in the trace; an edited entry has the position of the original."""
        return self._order.get(number) or (number,)

    def slot(self, number: int) -> int:
        """Return the id of the first entry at this position: the original, if the entry is an edited one."""
        while (entry := self.entries.get(number)) is not None and entry.original:
            number = entry.original
        return number

    def keeps(self, entry: Entry, at: Entry) -> bool:
        """Return whether an entry stays when `at`, and everything that followed from it, is taken off the line."""
        for mine, other in zip(_segments(entry.path), _segments(at.path), strict=False):
            if mine[0] != other[0]:
                if mine[1] >= 0 and mine[1] == other[1]:
                    return other[2] not in mine[3]  # parallel to it, unless that lane was started with its result
                break
        return self.order(entry.id) < self.order(at.id)

    def stays(self, entries: Iterable[Entry], at: Entry) -> list[Entry]:
        """Return the entries that stay on a line when `at`, and everything that followed from it, is taken off."""
        return [entry for entry in entries if self.keeps(entry, at)]

    def leave(self, line: Line) -> None:
        """Remember a line that a run leaves, so that one can go back to it, unless another line continues it."""
        self.left = [other for other in self.left if not other.is_within(line)]
        if not any(line.is_within(other) for other in self.left):
            line.forget_index()
            self.left.append(line)

    def line_with(self, entry: Entry, present: Line) -> list[Entry]:
        """Return a line that contains an entry: the present line if possible, otherwise the newest."""
        lines = [present, *reversed(self.left), *self.lines.values()]
        return next((line.entries for line in lines if entry.id in line.ids), [entry])

    def branches(self, present: Line) -> list[Line]:
        """Return all lines of the tree that no other line continues: the present one first, then the newest.

        Lines of trials are left out, because there may be hundreds.
        """
        runs = [present]
        for run, line in list(self.lines.items()):
            if run not in self.trials and len(line) and not any(line.is_within(other) for other in [*runs, *self.left]):
                runs = [present, *(other for other in runs[1:] if not other.is_within(line)), line]
        return [*runs, *(line for line in reversed(self.left) if not any(line.is_within(run) for run in runs))]


class Line:
    """The entries that lead to the current position of a run; any thread may read it.

    `tips` contains the last entry of each lane. Adding an entry only moves the `entries` after it; `insertions` counts
    how often there were any, and `newest` is the largest id. For every other change, a new line replaces this one.
    `compared` is how many calls of the ledger were compared with this line, and those that it does not account for.
    A line that was left keeps only its entries, because a run may have left many long lines.
    """

    __slots__ = ("_ids", "_slots", "compared", "entries", "insertions", "newest", "tips", "tree")

    def __init__(self, tree: Tree, entries: Iterable[Entry] = ()) -> None:
        self.tree = tree
        self.entries: list[Entry] = []
        self._ids: set[int] | None = set()
        self._slots: set[int] | None = set()
        self.tips: dict[str, int] = {"": 0}
        self.insertions = self.newest = 0
        self.compared: tuple[int, list[PastCall]] = (0, [])
        for entry in sorted(entries, key=lambda entry: tree.order(entry.id)):
            self.append(entry)

    @property
    def ids(self) -> set[int]:
        """The ids of the entries."""
        return {entry.id for entry in self.entries} if self._ids is None else self._ids

    @property
    def slots(self) -> set[int]:
        """The ids of the first entries at the positions of the entries, see `Tree.slot`."""
        return {self.tree.slot(entry.id) for entry in self.entries} if self._slots is None else self._slots

    @property
    def content(self) -> str:
        """A short name for the set of its entries."""
        return digest(" ".join(map(str, sorted(self.ids))).encode())

    def forget_index(self) -> None:
        """Free the memory of everything that can be found again from the entries."""
        self._ids = self._slots = None

    def append(self, entry: Entry) -> None:
        """Add an entry that was just recorded; with several lanes, it may belong before entries recorded earlier."""
        entries, order = self.entries, self.tree.order
        if self._ids is None or self._slots is None:
            self._ids, self._slots = self.ids, self.slots
        self._ids.add(entry.id)
        self.newest = max(self.newest, entry.id)
        self._slots.add(self.tree.slot(entry.id) if entry.original else entry.id)
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
        """Return the last entry of a lane, or the entry after which it was opened, if nothing has happened in it."""
        while lane and lane not in self.tips:
            lane = enclosing(lane)
        return self.tips[lane]

    def last(self, lane: str) -> int:
        """Return the last entry of a lane or of the lanes inside it, or the entry after which it was opened."""
        inside = (entry.id for entry in reversed(self.entries) if entry.path.startswith(lane))
        return next(inside, None) or self.tip(lane)

    def is_within(self, other: Line) -> bool:
        """Return whether another line contains all entries of this line."""
        return self.newest <= other.newest and self.newest in other.ids and self.ids <= other.ids

    def common(self, entries: list[Entry]) -> int:
        """Return how many entries at the beginning this line shares with another one."""
        pairs = zip(self.entries, entries, strict=False)
        return next((n for n, (mine, other) in enumerate(pairs) if mine is not other), min(len(self), len(entries)))

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)


def past(line: Line, at: int) -> Iterator[Entry]:
    """Yield the entries of a line up to an entry, newest first, without the lanes that run in parallel to it."""
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


def led_to(tree: Tree, other: Entry, entry: Entry) -> bool:
    """Return whether an entry comes before another one, and not in a lane parallel to its own."""
    if other is entry:
        return False
    for its, mine in zip(_segments(other.path), _segments(entry.path), strict=False):
        if its[0] != mine[0]:
            if mine[1] >= 0 and mine[1] == its[1]:
                return its[2] in mine[3]  # that lane was started with its result
            break
    return tree.order(other.id) < tree.order(entry.id)


def has_drifted(now: Step | None, then: Step | None) -> bool:
    """Return whether two model calls at the same position differ in their messages, tools or schema."""
    if not isinstance(now, Think) or not isinstance(then, Think):
        return False
    if now.chat.digest != then.chat.digest or now.shape != then.shape:
        return True
    return [tool.digest for tool in now.tools] != [tool.digest for tool in then.tools]
