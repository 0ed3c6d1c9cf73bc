"""A run's line through its tree of entries, and the stepper that stands at the end of it.

Rule 1: nothing is overwritten: an edit is a sibling, an undo is a record.
Rule 2: the stepper is always where the line ends; after a change to the line the engine is run again and replayed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from agentkit.around.base import Around
from agentkit.core import interrupts
from agentkit.core.messages import Message, Reply
from agentkit.core.steps import Engine, Step, Think, replace
from agentkit.core.text import error_line
from agentkit.errors import JournalError
from agentkit.journal.entries import Entry, Journal, Note, Row
from agentkit.stepper.stepper import Pending, Stepper
from agentkit.trace import loading
from agentkit.trace.behind import Behind
from agentkit.trace.injection import Injections, added, interrupt
from agentkit.trace.moves import Moves
from agentkit.trace.tree import HIDDEN, Along, Tips, before, chain, drifted, extend, lane_of, tips_at


class History:
    """Hold what a run has done, and what it will do next.

    `entries` are all entries of the tree, also of other branches and forks; `line` are those on the way to the head.
    A fork shares the entries and their `numbers` with its `relative`. `behind` is what the journal has refused so far;
    `torn` says that the engine was interrupted in its own code, and is to be rebuilt before it is used again.
    Not safe for two threads at once: whoever holds the run's baton uses it.
    """

    def __init__(
        self,
        run: str,
        make: Callable[[], Engine],
        arounds: tuple[Around, ...] = (),
        journal: Journal | None = None,
        relative: History | None = None,
    ) -> None:
        self.run = run
        self.journal = journal
        self.entries: dict[int, Entry] = relative.entries if relative else {}
        self.numbers: Iterator[int] = relative.numbers if relative else itertools.count(1)
        self.tips: Tips = {"": 0}
        self.injections = Injections(self.entries)
        self.begun: dict[tuple[int, str, int], Note] = {}
        self.moves = Moves()
        self.proposed: dict[int, Step] = {}
        self.behind = Behind()
        self.torn = False
        self._make, self._arounds = make, arounds
        self._line: tuple[Tips, list[Entry]] | None = None
        self.latest = 0
        self.on_row: Callable[[Row], None] | None = None
        self._append: Callable[..., int] = journal.append if journal is not None else self._number
        self.stepper = interrupts.foreign(self.begin_anew, (), {})

    # -- reading -----------------------------------------------------------------------------------------------------

    @property
    def pending(self) -> list[Pending]:
        """The steps that could be performed now, the lowest lane first."""
        return self.stepper.pending

    @property
    def line(self) -> list[Entry]:
        """The entries from the root to the head, lanes in their order; do not change the list. Any thread may read it."""
        tips, known = dict(self.tips), self._line
        if known is None or known[0] != tips:
            known = self._line = (tips, chain(self.entries, tips, "", 0))
        return known[1]

    @property
    def visible(self) -> list[Entry]:
        """The line without the entries that only hold the tree together."""
        return [entry for entry in self.line if entry.kind not in HIDDEN]

    def uncertain(self, pending: Pending) -> Note | None:
        """Give the record of a call that began here and never ended: it may have run."""
        return self.begun.get((self.tips.get(pending.lane.path, 0), pending.path, pending.index))

    def unheard(self) -> list[Note]:
        """The injected messages on this line that no model has seen yet."""
        return self.injections.unheard(self.line)

    def drifted(self, entry: Entry) -> bool:
        """Say whether the engine, replayed, sent another request than the recorded one (a new prompt, another docstring)."""
        return drifted(self.proposed.get(entry.id), entry.step)

    # -- going on ----------------------------------------------------------------------------------------------------

    def performed(self, pending: Pending) -> Step:
        """Give the step as it is to be performed: with the injected messages that its chat does not hold yet."""
        step = pending.step
        if not self.injections.notes or not isinstance(step, Think) or not step.hears:
            return step
        missing = self.injections.missing(self.line, pending.lane.path, step.chat)
        return replace(step, chat=step.chat + interrupt(missing)) if missing else step

    def begin(self, pending: Pending, at: float, *, sync: bool) -> Note:
        """Record that a tool is about to run; with `sync` that is on the disk before this returns."""
        step: Any = pending.step
        call, at_tip = step.calls[0], self.tips[pending.lane.path]
        data = {"parent": at_tip, "path": pending.path, "index": pending.index, "name": call.name, "id": call.id}
        if step.tags or step.role != "action":
            data.update(role=step.role, tags=dict(step.tags))
        note = self.begun[at_tip, pending.path, pending.index] = self.note("call", data, at=at, sync=sync)
        return note

    def commit(self, pending: Pending, step: Step, result: Any, entry: Entry) -> Entry:
        """Record a result and send it to the engine."""
        self.record(pending, step, result, entry)
        self.advance(pending, entry.result)
        return entry

    def record(self, pending: Pending, step: Step, result: Any, entry: Entry) -> None:
        """Record a result, whose `entry` holds what else is known (author, times, cost).

        Raises `JournalError`; then nothing has happened, and the same can be tried again.
        """
        lane = pending.lane.path
        if step is not pending.step:
            entry.performed = entry.performed or step
            if isinstance(step, Think) and isinstance(result, Reply):
                new = step.chat.notes - pending.step.chat.notes  # type: ignore[union-attr]
                result = replace(result, heard=tuple(m for m in added(step, pending.step) if new.intersection(m.notes)))
        entry.parent, entry.kind, entry.path, entry.index = (
            self.tips[lane],
            pending.step.kind,
            pending.path,
            pending.index,
        )
        entry.step, entry.result = pending.step, result
        self._add(entry, lane)
        if self.injections.notes:
            self.injections.hear(result)
        if self.begun:
            self.begun.pop((entry.parent, entry.path, entry.index), None)
        if self.moves.undone:
            self.moves.undone.clear()

    def advance(self, pending: Pending, result: Any) -> None:
        """Send a recorded result to the engine, and open or join the lanes that follow from it."""
        stepper, self.torn = self.stepper, True
        interrupts.foreign(stepper.feed, (pending, result), {})
        self.torn = False
        only = stepper.root.pending
        if only is None or only.opens or only.joins:
            self.behind.attempt(self.settle)

    def settle(self) -> None:
        """Open the lanes of parallel steps and join those that are done: records only, nothing is performed."""
        while due := [pending for pending in self.stepper.pending if pending.opens or pending.joins]:
            for pending in due:
                self._settle(pending)

    def _settle(self, pending: Pending) -> None:
        lane = pending.lane.path
        entry = Entry(self.tips[lane], "batch", pending.path, pending.index, pending.step, run=self.run)
        if pending.joins:
            entry.kind, entry.result = "join", {branch.path: self.tips[branch.path] for branch in pending.lane.branches}
        self._add(entry, lane)
        stepper = self.stepper
        self._let(*((stepper.feed, pending, stepper.join(pending)) if pending.joins else (stepper.open, pending)))

    def _let(self, work: Callable[..., Any], *args: Any) -> None:
        """Let the engine's own code run: there an interrupt ends it at once, and leaves the stepper `torn`."""
        self.torn = True
        interrupts.foreign(work, args, {})
        self.torn = False

    def begin_anew(self) -> Stepper:
        """Give a stepper with the engine at its first step."""
        return Stepper(self._make(), self._arounds, interrupts.pressed)

    def note(self, kind: str, data: dict[str, Any], *, at: float = 0.0, sync: bool = True) -> Note:
        """Record something beside the steps. Raises `JournalError`; then nothing has happened."""
        note = Note(kind, data, at, self.run)
        self._write(note, sync=sync)
        if self.on_row is not None:
            self.on_row(note)
        return note

    def root(self, spec: dict[str, Any], at: float = 0.0) -> None:
        """Record the beginning: what is needed to begin again."""
        self._add(Entry(0, "begin", result=spec, author="human", started=at, ended=at, run=self.run), "")
        self.behind.attempt(self.settle)

    def answer_first(self) -> Message | None:
        """Give a Conclude the injected messages that no model has seen: they are to be answered first."""
        return self.injections.answer_first(self.line) if self.injections.notes else None

    def inject(self, key: str, text: str, to: str = "", at: float = 0.0) -> None:
        """Anchor a message at the head; the next Think that listens will hear it. `key` names it, for `recall`."""
        anchor = self.tips.get(to, self.tips[""])
        self.injections.notes[key] = self.note("inject", {"id": key, "text": text, "to": to, "anchor": anchor}, at=at)

    def recall(self, key: str, at: float = 0.0) -> None:
        """Take an injected message back. Raises `UsageError` when a model has seen it already."""
        self.injections.check_unheard(key)
        self.note("recall", {"id": key}, at=at)
        del self.injections.notes[key]

    # -- changing the line -------------------------------------------------------------------------------------------

    def edit(
        self, entry: Entry, result: Any, along: Along = lambda fresh, tips: None, *, author: str, reason: str, at: float
    ) -> Entry:
        """Put another result in the place of a recorded one: a sibling of it, to which the head moves. `along` brings more."""
        tips = self.tips_at(entry)
        fresh = replace(
            entry,
            result=result,
            author=author,
            reason=reason,
            original=entry.id,
            kept=0,
            started=at,
            ended=at,
            usage=None,
        )
        fresh.run, fresh.id = self.run, 0
        self.put(fresh)
        tips[lane_of(fresh.path)] = fresh.id
        along(fresh, tips)
        self.move(tips, "edit", at=at)
        return fresh

    def tips_at(self, entry: Entry) -> Tips:
        """Give the tips at which `entry` is the last one of its lane."""
        return tips_at(self.entries, self.line, self.tips, entry)

    def move(self, tips: Tips, why: str, *, at: float = 0.0) -> None:
        """Move the head, record that, and bring the engine there by replay."""
        self.note("head", {"tips": tips, "why": why}, at=at)
        self.moves.add(self.tips, tips, why)
        self.tips = dict(tips)
        self.rebuild()

    def fork_from(self, source: History, tips: Tips, at: float = 0.0, **changes: Any) -> None:
        """Stand at an entry of another run of the same tree; what was injected on the way there and not heard comes along."""
        self.tips = dict(tips)
        live = {note.data["id"]: note for note in source.injections.live(self.line)}
        self.injections.notes.update(live)
        self.note("head", {"tips": tips, "why": "fork", "inherits": list(live), "changes": changes}, at=at)
        self.rebuild()

    def undo(self, at: float = 0.0) -> None:
        """Go back to before the last change of the line: an edit, a move, or else the last step."""
        self.move(self.moves.undo(self.tips) or before(self.entries, self.line, self.tips), "undo", at=at)

    def redo(self, at: float = 0.0) -> None:
        """Take the last undo back."""
        self.move(self.moves.redo(), "redo", at=at)

    rebuild = loading.rebuild

    # -- rows --------------------------------------------------------------------------------------------------------

    def load(self, rows: Iterable[Row]) -> None:
        """Take over the rows of a journal, in order; `rebuild` then brings the engine to the head."""
        loading.load(self, rows)

    def reload(self, rows: Iterable[Row]) -> None:
        """Take over all rows again, where another process went on with this run."""
        self.tips, self.moves, self.begun, self.injections = {"": 0}, Moves(), {}, Injections(self.entries)
        self.load(rows)
        self.rebuild()

    def put(self, entry: Entry) -> None:
        """Record an entry to which the head is to be moved."""
        self._write(entry)
        self.entries[entry.id] = entry
        if self.on_row is not None:
            self.on_row(entry)

    def _add(self, entry: Entry, lane: str) -> None:
        self._write(entry)
        self.entries[entry.id] = entry
        known = self._line
        if entry.kind in HIDDEN:
            self.extend(entry)
            self._line = None
        else:
            self.tips[lane] = entry.id
            if known is not None and not lane and known[0] == {"": entry.parent}:
                known[1].append(entry)
                known[0][""] = entry.id
        if self.on_row is not None:
            self.on_row(entry)

    def extend(self, entry: Entry) -> None:
        """Move the tips along with an entry that belongs to the move before it, for an undo."""
        moved = self.moves.last(self.tips)
        extend(self.tips, entry)
        if moved:
            self.moves.settle(self.tips)

    def _write(self, row: Row, *, sync: bool = True) -> None:
        try:
            self.latest = self._append(row, sync=sync)
        except JournalError:
            raise
        except Exception as error:
            raise JournalError(f"the journal did not take a row: {error_line(error)}") from error

    def _number(self, row: Row, *, sync: bool = True) -> int:
        """Stand in for a journal where there is none."""
        row.id = next(self.numbers)
        return row.id
