"""What a view is sent: the trace, how the run stands, what a model says just now; numbered, in few messages.

The feed compares what it sent last with how the run stands, so that nothing needs to tell it what has changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, Protocol

from agentkit.journal.entries import Entry
from agentkit.run.run import Run
from agentkit.stepper.stepper import Stepper
from agentkit.trace.events import Event
from agentkit.trace.line import Line
from agentkit.view import cards
from agentkit.view.family import Family
from agentkit.view.head import glance, head
from agentkit.view.pictures import Pictures
from agentkit.view.streams import Streams
from agentkit.view.wire import CLOCK, LARGEST, VERSION, clean

Data = dict[str, Any]

TAIL = 50
"""How many of the last cards a reset holds: what a view opens with. The others come when they are asked for."""

PAGE = 200
"""How many cards are sent at a time, at the most; when more have come than that, all is sent anew."""


class Page(Protocol):
    """Where a run is shown: what carries messages to the view, and what only that place can do."""

    def send(self, message: Data) -> None:
        """Carry a message to the view."""

    def rest(self, status: str, seq: int) -> None:
        """Hear that there is nothing to send just now: all up to message `seq` was."""

    def variable(self, run: Run) -> str:
        """Name the variable that holds a run, or give ""."""

    def predicate(self, text: str) -> Callable[[Entry], Any]:
        """Make a function of an entry from a person's Python expression."""

    def show(self, run: Run) -> None:
        """Show another run beside this one."""

    def insert(self, cells: list[Data]) -> Future[int]:
        """Put cells below the view; gives how many were."""

    def freeze(self) -> None:
        """Put a picture that needs no kernel in the place of the view."""


class Feed:
    """Bring the views of one run up to date; `look` is called by the clock, everything else from any thread."""

    def __init__(self, run: Run, page: Page) -> None:
        self.run, self.page = run, page
        self.family = Family(run.trace.tree.entries)
        self.seq = 0
        self._streams = Streams()
        self._place: tuple[Line, int] | None = None
        self._shown: list[Entry] = []
        self._map: list[str] = []
        self._stepper: Stepper | None = None
        self._drifted: set[int] = set()
        self._pictures = Pictures()
        self._sent: Data = {}
        self._glance: Any = None
        self._quiet = 0
        self._anew = False
        self._replies: list[Data] = []
        self._lock = threading.Lock()
        self._looking = threading.RLock()  # to look may be to close: a run that has ended becomes a picture
        self._closed = False
        run.on_event(self._told)
        CLOCK.add(self.look)

    def close(self) -> None:
        """Send nothing more; what is being sent just now is waited for."""
        CLOCK.remove(self.look)
        with self._looking:
            self._closed = True
        self.run.control.scheduler.listeners.remove(self._told)

    # -- what is asked of it -----------------------------------------------------------------------------------------

    def hello(self) -> None:
        """Send all anew: a view has begun, or has missed something."""
        self._anew = True
        CLOCK.soon()

    def reply(self, message: Data) -> None:
        """Send an answer to a command, after what has happened until now; a result that is a function is called then."""
        with self._lock:
            self._replies.append({"v": VERSION, **message})
        CLOCK.soon()

    def page_of(self, before: int, count: int) -> Data:
        """Give up to `count` cards that stand before a place of the trace."""
        last = max(0, min(before, len(self._shown)))
        first = max(0, last - min(count, PAGE))
        return {"first": first, "cards": self._cards(first, last)}

    def _told(self, event: Event) -> None:
        if event.kind == "model_chunk":
            self._streams.add(event.data)
        elif event.kind == "thinking":
            self._streams.begin(event.data["path"], event.data["index"])
        CLOCK.soon()

    # -- what it sends -----------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Send what has changed since the last time."""
        with self._looking:
            if not self._closed:
                self._look()

    def _look(self) -> None:
        with self._lock:
            replies, self._replies = self._replies, []
        before = self.seq
        try:
            self._bring()
        finally:
            for message in replies:
                self.page.send(clean(_due(message))[0])
        if before == self.seq != self._quiet:
            self._quiet = self.seq
            self.page.rest(self.run.status, self.seq)

    def _bring(self) -> None:
        """Send what has changed; where that cannot be said, all is sent anew as soon as it can."""
        try:
            changes = self._changes()
        except BaseException:
            self._anew, self._glance = True, None
            raise
        if self._anew:
            self._anew = False
            self._send(self._reset())
            return
        for events in _bundled(changes):
            self._send({"t": "events", "ev": events})

    def _send(self, message: Data) -> None:
        self.seq += 1
        self.page.send(clean({"v": VERSION, "run": self.run.id, "seq": self.seq, **message})[0])

    def _changes(self) -> list[Data]:
        """Take up what has happened, and give it as events."""
        siblings = self.family.look()
        found = self._line_changes() + self._sibling_changes(siblings)
        seen = glance(self.run), self.page.variable(self.run), self.family.size  # a fork adds to the tree too
        if seen != self._glance:
            self._glance = seen
            found += self._if_new("head", head(self.run, self.family, seen[1]))
            ahead = [pending.step for pending in self.run.pending]
            found += self._if_new("pictures", self._pictures.data(ahead, self.run.answer is not None))
        return found + self._streams.changes(self.run.status == "running")

    def _sibling_changes(self, siblings: dict[int, list[int]]) -> list[Data]:
        """Give the siblings of the entries that are shown: the others are told theirs when they are."""
        shown = siblings.keys() and siblings.keys() & {entry.id for entry in self._shown}
        return [{"k": "siblings", "of": {str(entry): siblings[entry] for entry in shown}}] if shown else []

    def _if_new(self, kind: str, data: Data) -> list[Data]:
        if self._sent.get(kind) == data:
            return []
        self._sent[kind] = data
        return [{"k": kind, kind: data}]

    def _line_changes(self) -> list[Data]:
        """Take up the trace as it is now; what was only added to is not walked again."""
        line, before = self.run.trace.line, len(self._shown)
        place = line, line.insertions
        if place == self._place:
            keep, new = before, line.entries[before:]
        else:
            self._place = place
            entries = list(line.entries)
            keep = _common(self._shown, entries)
            new = entries[keep:]
            if keep < before:
                self._pictures = Pictures()
                for entry in entries[:keep]:
                    self._pictures.add(entry)
                self._glance = None
            del self._shown[keep:], self._map[keep:]
        self._take(new)
        keep = self._same(keep)
        if len(self._shown) == before == keep:
            return []
        if len(self._shown) - keep > PAGE:
            self._anew = True
            return []
        return self._line_events(keep)

    def _same(self, keep: int) -> int:
        """Give how many of the first `keep` cards are as they were: an engine that was run again may ask for something else."""
        trace = self.run.trace
        if trace.stepper is self._stepper:
            return keep
        self._stepper, before = trace.stepper, self._drifted
        self._drifted = {entry.id for entry in self._shown if trace.has_drifted(entry)}
        changed = before ^ self._drifted
        return next((number for number, entry in enumerate(self._shown[:keep]) if entry.id in changed), keep)

    def _take(self, entries: list[Entry]) -> None:
        self._shown += entries
        self._map += map(cards.letter, entries)
        for entry in entries:
            self._pictures.add(entry)
            self._streams.end(entry.path, entry.index)

    def _line_events(self, keep: int) -> list[Data]:
        total, last = len(self._shown), len(self._shown)
        first = (
            [{"k": "line", "keep": keep, "cards": [], "total": total, "map": "".join(self._map[keep:])}]
            if keep == last
            else []
        )
        return first + [
            {"k": "line", "keep": at, "cards": self._cards(at, at + 1), "total": total, "map": "".join(self._map[at:])}
            for at in range(keep, last)
        ]

    def _cards(self, first: int, last: int) -> list[Data]:
        found = []
        for number in range(first, last):
            entry = self._shown[number]
            data = cards.card(entry, number)
            among = self.family.siblings(entry)
            if len(among) > 1:
                data["siblings"] = among
            if self.run.trace.has_drifted(entry):
                data["drifted"] = True
            found.append(data)
        return found

    def _reset(self) -> Data:
        total = len(self._shown)
        found: list[Data] = []
        first, size = total, 0
        while first > max(0, total - TAIL) and size < LARGEST:
            first -= 1
            found[:0] = self._cards(first, first + 1)
            size += clean(found[0])[1]
        return {
            "t": "reset",
            "head": self._sent["head"],
            "first": first,
            "total": total,
            "cards": found,
            "pictures": self._sent["pictures"],
            "map": "".join(self._map),
            "streaming": self._streams.now(),
        }


def _due(message: Data) -> Data:
    """Give an answer as it is now."""
    result = message.get("result")
    return {**message, "result": result()} if callable(result) else message


def _common(before: list[Entry], now: list[Entry]) -> int:
    """Count how many entries at the beginning are the same."""
    for number, (old, new) in enumerate(zip(before, now, strict=False)):
        if old is not new:
            return number
    return min(len(before), len(now))


def _bundled(events: list[Data]) -> Iterator[list[Data]]:
    """Put events into as few messages as their size allows; cards that follow each other become one event."""
    bundle: list[Data] = []
    size = 0
    for event in events:
        weight = clean(event)[1]
        if bundle and size + weight > LARGEST:
            yield bundle
            bundle, size = [], 0
        last = bundle[-1] if bundle else None
        if (
            last
            and event["k"] == last["k"] == "line"
            and last["cards"]
            and event["keep"] == last["keep"] + len(last["cards"])
        ):
            last["cards"] += event["cards"]
        else:
            bundle.append(event)
        size += weight
    if bundle:
        yield bundle
