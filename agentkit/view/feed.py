"""What is sent to the views of a run: its trace, its state and the replies in progress, numbered and in few messages.

The feed compares what it sent last with the present state of the run, so nothing has to report a change to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from typing import Any, Protocol

from agentkit.journal.entries import Entry
from agentkit.run.run import Run
from agentkit.stepper.stepper import Stepper
from agentkit.trace.events import Event
from agentkit.trace.line import Line
from agentkit.trace.pictures import Pictures
from agentkit.view import cards
from agentkit.view.head import head, state_key
from agentkit.view.outbox import Outbox
from agentkit.view.past import Past
from agentkit.view.siblings import Siblings
from agentkit.view.streams import Streams
from agentkit.view.totals import Totals
from agentkit.view.wire import CLOCK, MAX_BYTES, clean
from agentkit.view.words import branch_name

Data = dict[str, Any]

TAIL = 30
"""How many of the last cards are sent unasked: more than are in sight. A view asks for others when it needs them."""

PAGE = 300
"""The most cards sent at a time to a view that asks for them: what it draws."""


class Page(Protocol):
    """The place that shows a run: it carries messages to the view, and does what only that place can do."""

    @property
    def refuses(self) -> Collection[str]:
        """What is refused there, and so not offered by the view: some of `agentkit.view.head.REFUSABLE`."""

    def send(self, message: Data) -> None:
        """Send a message to the view."""

    def idle(self, status: str, seq: int) -> None:
        """Take note that everything up to message `seq` has been sent, and nothing is left to send at the moment."""

    def variable_name(self, run: Run) -> str:
        """Return the name of the variable that holds a run, or ""."""

    def predicate(self, expression: str) -> Callable[[Entry], Any]:
        """Return a function of an entry that evaluates a Python expression."""

    def show(self, run: Run) -> None:
        """Show another run beside this one."""

    def insert(self, cells: list[Data]) -> Future[int]:
        """Insert cells below the view; the future gives the number of inserted cells."""

    def freeze(self) -> None:
        """Replace the view by a static snapshot, which needs no kernel."""


class Feed(Outbox):
    """Keeps the views of one run up to date."""

    page: Page

    def __init__(self, run: Run, page: Page) -> None:
        super().__init__(run.id)
        self.run, self.page = run, page
        self.siblings = Siblings(run.trace.tree.entries)
        self.past = Past(run)
        self._streams = Streams()
        self._line: tuple[Line, int] | None = None
        self._shown: list[Entry] = []
        self._map: list[str] = []
        self._totals = Totals()
        self._stepper: Stepper | None = None
        self._drifted: set[int] = set()
        self._pictures = Pictures()
        self._sent: Data = {}
        self._state_key: Any = None
        run.on_event(self._on_event)
        if run.followed is not None:
            run.followed.watch()
        self.open()

    def _end(self) -> None:
        if self.run.followed is not None:
            self.run.followed.leave()
        self.run.off_event(self._on_event)

    # -- requests ----------------------------------------------------------------------------------------------------

    def cards_before(self, position: int, count: int) -> Data:
        """Return up to `count` cards before a position of the trace."""
        last = max(0, min(position, len(self._shown)))
        first = max(0, last - min(count, PAGE))
        return {"first": first, "cards": self._cards(first, last)}

    def _on_event(self, event: Event) -> None:
        if event.kind == "model_chunk":
            self._streams.add(event.data)
        elif event.kind == "thinking":
            self._streams.begin(event.data["path"], event.data["index"])
        CLOCK.wake()

    # -- sending -----------------------------------------------------------------------------------------------------

    @property
    def status(self) -> str:
        """The status of the run."""
        return self.run.status

    @property
    def is_elsewhere(self) -> bool:
        """Whether another process holds the run."""
        return self.run.followed is not None

    def _failed(self) -> None:
        self._state_key = None

    def _batches(self, events: list[Data]) -> Iterator[list[Data]]:
        return _batches(events)

    def _changes(self) -> list[Data]:
        """Take note of what has changed, and return it as events."""
        siblings = self.siblings.update()
        events = self._line_changes() + self._sibling_changes(siblings)
        variable = self.page.variable_name(self.run)
        # a fork adds to the tree too; and the totals are those of the entries above, which the run may have left by now
        key = state_key(self.run), variable, self.siblings.size, len(self._shown)
        if key != self._state_key:
            self._state_key = key
            data = head(self.run, self.siblings, self._totals.data(), variable, self.page.refuses)
            events += self._if_changed("head", data)
            steps = [pending.step for pending in self.run.pending]
            events += self._if_changed("pictures", self._pictures.data(steps, self.run.answer is not None))
        return events + self._streams.changes(self.run.status == "running")

    def _sibling_changes(self, siblings: dict[int, list[int]]) -> list[Data]:
        """Return the changed siblings of the shown entries; other cards include theirs when they are sent."""
        if not siblings:
            return []
        shown = [(entry, number) for number, entry in enumerate(self._shown) if entry.id in siblings]
        if not shown:
            return []
        of = {str(entry.id): siblings[entry.id] for entry, _ in shown}
        return [{"k": "siblings", "of": of, "beside": {str(entry.id): self._beside(entry, n) for entry, n in shown}}]

    def _beside(self, entry: Entry, number: int) -> list[str]:
        """Return the names of the branches before and after that of a shown entry; "" if there is none."""
        tree, siblings = self.run.trace.tree, self.siblings.of(entry)
        at = siblings.index(entry.id)
        beside = [siblings[at - 1] if at else 0, siblings[at + 1] if at + 1 < len(siblings) else 0]
        return [branch_name(tree, tree.entries[other], entry, number, siblings) if other else "" for other in beside]

    def _if_changed(self, kind: str, data: Data) -> list[Data]:
        if self._sent.get(kind) == data:
            return []
        self._sent[kind] = data
        return [{"k": kind, kind: data}]

    def _line_changes(self) -> list[Data]:
        """Take note of the present trace; if entries were only appended, the earlier ones are not compared again."""
        line, shown_before = self.run.trace.line, len(self._shown)
        version = line, line.insertions
        if version == self._line:
            keep, new = shown_before, line.entries[shown_before:]
        else:
            self._line = version
            entries = list(line.entries)
            keep = _common_length(self._shown, entries)
            new = entries[keep:]
            if keep < shown_before:
                self._pictures = Pictures()
                for entry in entries[:keep]:
                    self._pictures.add(entry)
                self._state_key = None
            del self._shown[keep:], self._map[keep:]
            self._totals.cut(keep)
        self._append(new)
        keep = self._first_drift_change(keep)
        if len(self._shown) == shown_before == keep:
            return []
        return self._line_events(keep)

    def _first_drift_change(self, keep: int) -> int:
        """Return how many of the first `keep` cards are still correct: a replayed engine may ask for something else."""
        trace = self.run.trace
        if trace.stepper is self._stepper:
            return keep
        self._stepper, drifted_before = trace.stepper, self._drifted
        self._drifted = {entry.id for entry in self._shown if trace.has_drifted(entry)}
        changed = drifted_before ^ self._drifted
        return next((number for number, entry in enumerate(self._shown[:keep]) if entry.id in changed), keep)

    def _append(self, entries: list[Entry]) -> None:
        self._shown += entries
        self._map += map(cards.map_letter, entries)
        for entry in entries:
            self._totals.add(entry)
            self._pictures.add(entry)
            self._streams.end(entry.path, entry.index)

    def _line_events(self, keep: int) -> list[Data]:
        """Return an event for each new card, because `_batches` cannot split one; of many, only for the last ones."""
        total = len(self._shown)
        first = max(keep, total - TAIL)
        events = [
            {"k": "line", "keep": n, "first": n, "cards": self._cards(n, n + 1), "total": total, "map": self._map[n]}
            for n in range(first, total)
        ]
        start = {"k": "line", "keep": keep, "first": first, "cards": [], "total": total}
        return [{**start, "map": "".join(self._map[keep:first])}, *events]

    def _cards(self, first: int, last: int) -> list[Data]:
        result = []
        for number in range(first, last):
            entry = self._shown[number]
            data = cards.card(entry, number, self.run.trace.stepper.parts)
            siblings = self.siblings.of(entry)
            if len(siblings) > 1:
                data.update(siblings=siblings, beside=self._beside(entry, number))
            if self.run.trace.has_drifted(entry):
                data["drifted"] = True
            result.append(data)
        return result

    def _reset(self) -> Data:
        total = len(self._shown)
        last_cards: list[Data] = []
        first, size = total, 0
        while first > max(0, total - TAIL) and size < MAX_BYTES:
            first -= 1
            last_cards[:0] = self._cards(first, first + 1)
            size += clean(last_cards[0])[1]
        return {
            "t": "reset",
            "head": self._sent["head"],
            "first": first,
            "total": total,
            "cards": last_cards,
            "pictures": self._sent["pictures"],
            "map": "".join(self._map),
            "streaming": self._streams.now(),
        }


def _common_length(before: list[Entry], now: list[Entry]) -> int:
    """Return how many entries at the beginning are the same."""
    for number, (old, new) in enumerate(zip(before, now, strict=False)):
        if old is not new:
            return number
    return min(len(before), len(now))


def _batches(events: list[Data]) -> Iterator[list[Data]]:
    """Yield events in as few messages as their size allows; consecutive cards are merged into one event."""
    batch: list[Data] = []
    batch_size = 0
    for event in events:
        size = clean(event)[1]
        if batch and batch_size + size > MAX_BYTES:
            yield batch
            batch, batch_size = [], 0
        last = batch[-1] if batch else None
        if last and _continues(event, last):
            last["cards"] += event["cards"]
            last["map"] += event["map"]
        else:
            batch.append(event)
        batch_size += size
    if batch:
        yield batch


def _continues(event: Data, last: Data) -> bool:
    """Return whether the cards of an event follow those of the one before it."""
    return event["k"] == last["k"] == "line" and event["keep"] == last["first"] + len(last["cards"])
