"""The ledger of a tree: the calls that have begun and whose effects stay, whichever line of the tree they are on.

Nothing is stored for it: it is derived from the rows that say that a call begins, and from the entries with results. An
undo takes nothing out of it, a fork shares it, and a run that is opened again has the same one.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from agentkit.core.messages import Call, Message, canonical
from agentkit.core.secrets import mask, mask_json
from agentkit.core.text import call_text, one_line
from agentkit.journal.entries import Entry, Note, Row

Outcome = Literal["done", "failed", "may have run", "did not run"]
Place = tuple[str, int, str, int]

_TEXT = 100


class Line(Protocol):
    """What is needed from a line: the positions of its entries, and a place to remember how far it was compared."""

    compared: tuple[int, list[PastCall]]

    @property
    def slots(self) -> set[int]:
        """The ids of the first entries at the positions of the entries."""


@dataclass(slots=True, eq=False)
class PastCall:
    """A call that has begun: the row that says so, and the entries with its result.

    `entries` are the entry that ended the call, if any, and those that repeat its result on other lines. `outcome` is
    what is known about the call: "done", "failed", "may have run" (its result is unknown) or "did not run".
    """

    begun: Note
    entries: list[Entry] = field(default_factory=list)
    outcome: Outcome = "may have run"

    @property
    def name(self) -> str:
        """The name of the tool."""
        name: str = self.begun.data["name"]
        return name

    @property
    def run(self) -> str:
        """The run that made the call."""
        return self.begun.run

    @property
    def key(self) -> tuple[str, int]:
        """The run and the row with which it began, which identify the call."""
        return self.begun.run, self.begun.id

    @property
    def place(self) -> Place:
        """The run, and the position of the call in the tree."""
        return _place(self.begun)

    @property
    def arguments(self) -> dict[str, Any] | None:
        """The arguments; None if they are not known, because an older version recorded the call."""
        if "arguments" in self.begun.data:
            arguments: dict[str, Any] = self.begun.data["arguments"]
            return arguments
        return self.entries[0].step.call.arguments if self.entries else None  # type: ignore[union-attr]

    def add(self, entry: Entry) -> None:
        """Add an entry with the result; an entry that was added before changes nothing."""
        if not self.entries:
            self.entries, self.outcome = [entry], "may have run" if entry.repeats else _outcome(entry)
        elif all(entry is not other for other in self.entries):
            if not entry.repeats and all(other.repeats for other in self.entries):
                self.outcome = _outcome(entry)
            self.entries.append(entry)

    def is_same(self, call: Call) -> bool:
        """Return whether a call has the same tool and arguments, as far as they are known."""
        if self.name != call.name:
            return False
        return self.arguments is None or _key(self.arguments) == _key(call.arguments)

    def result_for(self, call: Call) -> Message | None:
        """Return the recorded result as the observation of another call; None if there is none that fits."""
        if self.outcome not in ("done", "failed") or not self.is_same(call):
            return None
        return replace(self.entries[0].result, call_id=call.id)

    @property
    def short_text(self) -> str:
        """The call, and what is known about it unless it succeeded."""
        call, outcome = mask(call_text(Call(self.name, self.arguments or {}))), self.outcome
        return call if outcome == "done" else f"{call} ({outcome})"

    def text(self, run: str) -> str:
        """Return a clause that says what is known about the call, as seen from a run of the tree."""
        call = mask(call_text(Call(self.name, self.arguments or {})))
        where = f", in run {self.run}" if self.run != run else ""
        at = _clock(self.begun.at)
        if self.outcome == "may have run":
            return f"{call} began at {at}{where} and may have run: its result is not known"
        result = one_line(self.entries[0].result.text, _TEXT, hide=mask)
        if self.outcome == "failed":
            return f"{call} was called at {at}{where} and failed ({result})"
        return f"{call} was performed at {at}{where} (result: {result})"


class LostCall(PastCall):
    """A call that may have been recorded in rows that the journal has lost; `begun` is the note of the loss."""

    def __init__(self, loss: Note, name: str) -> None:
        super().__init__(replace(loss, data={"name": name, "text": loss.data["text"]}))

    def text(self, run: str) -> str:
        """Return a clause that says what was lost."""
        return f"{self.begun.data['text']}, and {self.name} may have been called there"


class Ledger:
    """The calls of a tree that have begun, in the order of their rows; calls of tools that are pure are left out.

    `counts` is the number of calls of each run, and `losses` are the notes of rows that the journal has lost.
    """

    def __init__(self, slot: Callable[[int], int]) -> None:
        self.calls: list[PastCall] = []
        self.counts: Counter[str] = Counter()
        self.losses: list[Note] = []
        self._slot = slot
        self._by_row: dict[int, PastCall] = {}
        self._open: dict[Place, PastCall] = {}

    def take(self, row: Row) -> None:
        """Take a row into account; a row that was taken before changes nothing."""
        if isinstance(row, Note):
            if row.kind == "lost" and all(row.id != loss.id for loss in self.losses):
                self.losses.append(row)
            elif row.kind == "call" and row.data.get("effect") != "pure" and row.id not in self._by_row:
                past = self._by_row[row.id] = self._open[_place(row)] = PastCall(row)
                self.calls.append(past)
                self.counts[row.run] += 1
        elif row.repeats:
            if (repeated := self._by_row.get(row.repeats)) is not None:
                repeated.add(row)
        elif self._open and not row.original:
            ended = self._open.pop((row.run, self._slot(row.parent), row.path, row.index), None)
            if ended is not None:
                ended.add(row)

    def has(self, past: PastCall) -> bool:
        """Return whether a call was made in this tree, and not in another one."""
        return self._by_row.get(past.begun.id) is past

    def is_open(self, past: PastCall) -> bool:
        """Return whether a call is the last one that began at its place, and has no result yet."""
        return self._open.get(past.place) is past

    def is_on(self, past: PastCall, line: Line) -> bool:
        """Return whether a call, or an entry that repeats its result, is on a line."""
        slots = line.slots
        return any(self._slot(entry.id) in slots for entry in past.entries)

    def apart_from(self, line: Line) -> list[PastCall]:
        """Return the calls that a line does not account for: they are not on it, or it is not known whether they ran.

        Each line remembers how far it was compared, so that a long line costs no more per call than a short one.
        """
        compared, apart = line.compared
        new = self.calls[compared:]
        if new or apart:
            candidates = [*apart, *new]
            apart = [past for past in candidates if past.outcome == "may have run" or not self.is_on(past, line)]
            line.compared = compared + len(new), apart
        return [past for past in apart if past.outcome != "did not run"] if apart else apart


def _place(begun: Note) -> Place:
    data = begun.data
    return begun.run, data["parent"], data["path"], data["index"]


def _outcome(ended: Entry) -> Outcome:
    """Return what is known about a call from the entry that ended it."""
    if ended.author not in ("tool", "host") or ended.result.may_have_run:
        return "may have run"
    if ended.author == "host":
        return "did not run"
    return "done" if ended.result.ok else "failed"


def _key(arguments: dict[str, Any]) -> bytes:
    return canonical(mask_json(arguments))


def _clock(at: float) -> str:
    """Return a time of today as hours and minutes, and any other with its date."""
    then = time.localtime(at)
    return time.strftime("%H:%M" if then[:3] == time.localtime()[:3] else "%Y-%m-%d %H:%M", then)
