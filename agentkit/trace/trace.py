"""What a run has done: its line through the tree of entries, and the stepper at the end of the line.

Rule 1: nothing is overwritten: an edit is another entry at the same position, and an undo is a record. Rule 2: the
stepper is always at the end of the line; after a change of the line, the engine is started again and replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentkit.around.base import Around
from agentkit.core import interrupts
from agentkit.core.messages import EMPTY, Chat, Message, Reply
from agentkit.core.secrets import mask, mask_json
from agentkit.core.steps import Answer, End, Engine, Step, Think, replace
from agentkit.core.text import error_line, one_line
from agentkit.errors import Diverged, JournalError, UsageError
from agentkit.journal.entries import ASKED_AGAIN, Entry, Journal, Note, Row, step_name
from agentkit.stepper.frames import all_lanes
from agentkit.stepper.stepper import Pending, Stepper, step_at
from agentkit.tools.serialize import to_json
from agentkit.trace.injections import Injections, added, interrupt
from agentkit.trace.line import Line, Tree, has_drifted, is_beside
from agentkit.trace.unsaved import Unsaved

Begin = Callable[[Chat | None], Engine]
"""Starts the engine: on the task of the run, or on the chat with which it is started again."""


@dataclass(slots=True)
class Move:
    """A change of the line: the first `keep` entries stayed, and `added` replaced those that were `dropped`."""

    keep: int
    dropped: list[Entry]
    added: list[Entry]

    @property
    def length(self) -> int:
        """The length of the line right after the move."""
        return self.keep + len(self.added)


class Position:
    """The position of a run in its tree, found by following its rows.

    `begun` contains the calls that have begun and have no result. `traced` is the latest span under which the run was
    driven, as a W3C traceparent, or "". `end` is what was recorded when the engine returned
    its answer at the end of this line: the `answer`, and why it was `interrupted`; None if it did not.
    """

    def __init__(self, run: str, tree: Tree) -> None:
        self.run = run
        self.tree = tree
        self.reset()

    def reset(self) -> None:
        """Go back to the position before the first row."""
        self.line = self.tree.lines[self.run] = Line(self.tree)
        self.injections = Injections()
        self.begun: dict[tuple[int, str, int], Note] = {}
        self.signals: dict[str, Any] = {}
        self.traced = ""
        self.done: list[Move] = []
        self.undone: list[Move] = []
        self.end: dict[str, Any] | None = None

    def take(self, row: Row) -> None:
        """Follow a row of this run."""
        if isinstance(row, Entry):
            if not row.original:  # an edited entry is put on the line by the move after it
                self.line.append(row)
                self.undone.clear()
                self.begun.pop((self.tree.slot(row.parent), row.path, row.index), None)
            return
        data, notes = row.data, self.injections.notes
        if row.kind == "call":
            self.begun[data["parent"], data["path"], data["index"]] = row
        elif row.kind == "completed":
            self.end_with(data)
        elif row.kind == "signal":
            self.signals[data["name"]] = data.get("value")
        elif row.kind == "traced":
            self.traced = data["traceparent"]
        elif row.kind == "inject":
            notes[data["id"]] = self.tree.messages[data["id"]] = row
        elif row.kind == "recall":
            notes.pop(data["id"], None)
        elif row.kind == "head":
            known = self.tree.messages  # the other run may have recalled a message in the meantime
            notes.update({key: known[key] for key in data.get("inherits", ()) if key in known})
            self.go_over(data["keep"], data["then"], data["why"])

    def end_with(self, data: dict[str, Any]) -> None:
        """Remember the answer that the engine returned at the end of this line."""
        self.end = self.tree.ends[self.line.content] = data

    def go_over(self, keep: int, then: list[int], why: str) -> None:
        """Move to another line that has the same first `keep` entries."""
        before, added = self.line, [self.tree.entries[number] for number in then]
        if self.end is not None:  # a parallel step may have been recorded since
            self.tree.ends[before.content] = self.end
        self.line = self.tree.lines[self.run] = Line(self.tree, [*before.entries[:keep], *added])
        self.end = self.tree.ends.get(self.line.content) if self.tree.ends else None
        move = Move(keep, before.entries[keep:], added)
        if move.dropped:
            self.tree.leave(before)
        if why in ("fork", "diverged"):  # nothing can be undone at the start of a fork or after a divergence
            self.done, self.undone = [], []
        elif why == "undo":
            if self.done and self.done[-1].length == len(before):
                self.done.pop()
            self.undone.append(move)
        else:
            self.done.append(move)
            self.undone = self.undone[:-1] if why == "redo" else []

    @property
    def moved_last(self) -> bool:
        """Whether no step has been taken since the last move."""
        return bool(self.done) and self.done[-1].length == len(self.line)


class Trace(Position):
    """What a run has done, and its engine.

    A fork shares the `tree` of the run that it was forked from. `unsaved` contains the rows that the journal has
    refused so far, and `unsynced` is true if rows that were written are not on the disk yet. `torn` is true if the
    engine was interrupted in its own code and must be rebuilt before it is used again. `difference` says how the engine
    differs from the recording, if it does: the line then stays as it was recorded, and the engine waits where they
    begin to differ. `opened_with` is what differs from the recorded options; both are recorded when the run continues,
    see `settle`. Two threads must not use a trace at the same time: use it only while holding the run's lock.
    """

    def __init__(
        self,
        run: str,
        begin: Begin,
        arounds: tuple[Around, ...] = (),
        journal: Journal | None = None,
        tree: Tree | None = None,
    ) -> None:
        super().__init__(run, tree or Tree())
        self.journal = journal
        self.proposed: dict[int, Step] = {}
        self.unsaved = Unsaved()
        self.is_durable = journal is not None and journal.durable
        self.unsynced = False
        self.torn = False
        self.latest = 0
        self.difference = ""
        self.opened_with: dict[str, Any] = {}
        self._followed: Line | None = None
        self.on_row: Callable[[Row], None] | None = None
        self._begin, self._arounds = begin, arounds
        self._append: Callable[..., int] = journal.append if journal is not None else self._number
        self.stepper = interrupts.run_engine(self.new_stepper)

    # -- reading -------------------------------------------------------------------------------------------------------

    @property
    def pending(self) -> list[Pending]:
        """The steps that can be performed now, the lowest lane first."""
        return self.stepper.pending

    @property
    def can_undo(self) -> bool:
        """Whether there is a step or a move to undo."""
        return len(self.line) > 1 or self.moved_last

    @property
    def can_redo(self) -> bool:
        """Whether there is an undo to revert."""
        return bool(self.undone)

    @property
    def answer(self) -> Answer | None:
        """The answer that the engine has returned; if it differs from the recording, the recorded one."""
        if not self.difference:
            return self.stepper.answer
        return None if self.end is None else Answer(self.end["answer"], EMPTY, self.end.get("interrupted", ""))

    def place(self, pending: Pending) -> tuple[int, str, int]:
        """Return the position of a pending step in the tree; it stays the same when earlier entries are edited."""
        line = self._followed or self.line
        return self.tree.slot(line.tip(pending.lane.path)), pending.path, pending.index

    def uncertain(self, pending: Pending) -> Note | None:
        """Return the record of a call that began here but never ended, and so may have run; None if there is none."""
        return self.begun.get(self.place(pending)) if self.begun else None

    def unheard(self) -> list[Note]:
        """Return the injected messages on this line that no model has seen yet."""
        return self.injections.unheard(self.line)

    def has_drifted(self, entry: Entry) -> bool:
        """Return whether the replayed engine made a different request from the recorded one."""
        return has_drifted(self.proposed.get(entry.id), entry.step)

    # -- continuing ----------------------------------------------------------------------------------------------------

    def to_perform(self, pending: Pending) -> Step:
        """Return the step to perform: with the injected messages that its chat does not contain yet."""
        step = pending.step
        if not self.injections.notes or not isinstance(step, Think) or not step.hears:
            return step
        missing = self.injections.missing(self.line, pending.lane.path, step.chat)
        return replace(step, chat=step.chat + interrupt(missing)) if missing else step

    def begin_call(self, pending: Pending, effect: str, at: float) -> Note:
        """Record that a tool is about to run.

        Unless its effect is pure, the record is on the disk on return, and with it the thought that led to the call.
        """
        step: Any = pending.step
        slot, path, index = place = self.place(pending)
        data = {"parent": slot, "path": path, "index": index, "name": step.call.name, "id": step.call.id}
        data["step_name"] = step_name("act", *self.tree.turn_and_slot("act", slot, path))
        data["effect"], data["arguments"] = effect, mask_json(step.call.arguments)
        if step.tags or step.role != "action":
            data.update(role=step.role, tags=to_json(step.tags))
        note = self.begun[place] = self.note("call", data, at=at, sync=effect != "pure" or self.unsynced)
        return note

    def record(self, pending: Pending, performed: Step, result: Any, entry: Entry, *, sync: bool = True) -> None:
        """Record the result of a step; `entry` contains what else is known about it (author, times, cost).

        Without `sync`, the caller calls `sync` later. Raises `JournalError`; then nothing has changed, and it can be
        tried again.
        """
        if self.difference or self.opened_with:
            self.settle(entry.started)
        step, lane = pending.proposed, pending.lane.path
        if performed is not step:
            entry.performed = entry.performed or performed
            if isinstance(performed, Think) and isinstance(result, Reply):
                new = performed.chat.notes - step.chat.notes  # type: ignore[union-attr]
                heard = tuple(message for message in added(performed, step) if new.intersection(message.notes))
                result = replace(result, heard=heard)
        line = self.line
        entry.parent = line.tips[""] if not lane else line.tip(lane)
        entry.kind = step.kind if type(result) is not End else "end"
        entry.path, entry.index, entry.step, entry.result = pending.path, pending.index, step, result
        place = self.place(pending) if self.begun else None
        self._put(entry, sync=sync)
        line.append(entry)
        if self.injections.notes:
            self.injections.hear(result)
        if place is not None:
            self.begun.pop(place, None)
        if self.undone:
            self.undone.clear()
        if self.on_row is not None:
            self.on_row(entry)

    def sync(self) -> None:
        """Bring the rows that were recorded without `sync` to the disk. Raises `JournalError`."""
        if self.unsynced and self.journal is not None:
            self.journal.sync(self.run)
        self.unsynced = False

    def advance(self, pending: Pending, result: Any) -> None:
        """Send a recorded result to the engine."""
        self.torn = True
        interrupts.run_engine(self.stepper.feed, pending, result)
        self.torn = False

    def commit(self, pending: Pending, performed: Step, result: Any, entry: Entry) -> Entry:
        """Record a result and send it to the engine."""
        self.record(pending, performed, result, entry)
        self.advance(pending, entry.result)
        return entry

    def note(self, kind: str, data: dict[str, Any], *, at: float = 0.0, sync: bool = True) -> Note:
        """Record something that is not a step. Raises `JournalError`; then nothing has changed."""
        note = Note(kind, data, at, self.run)
        self._write(note, sync=sync)
        if kind == "completed":
            self.end_with(data)
        elif kind == "signal":
            self.signals[data["name"]] = data["value"]
        elif kind == "traced":
            self.traced = data["traceparent"]
        if self.on_row is not None:
            self.on_row(note)
        return note

    def start(self, spec: dict[str, Any], at: float = 0.0) -> None:
        """Record the start of the run, with all that is needed to start it again."""
        entry = Entry(0, "begin", result=spec, author="human", started=at, ended=at, run=self.run)
        self._put(entry)
        self.line.append(entry)
        if self.on_row is not None:
            self.on_row(entry)

    def answer_first(self) -> Message | None:
        """Return the injected messages that must be answered before the run can end, as one message."""
        return self.injections.answer_first(self.line) if self.injections.notes else None

    def inject(self, key: str, text: str, to: str = "", at: float = 0.0, by: str = "") -> None:
        """Anchor a message at the end of a lane; the next Think with `hears` gets it. `key` names it, for `recall`.

        `by` is the hook that adds it; "" for a person.
        """
        self.settle(at)
        is_split = any(lane.path == to and lane.batch for lane in all_lanes(self.stepper.root))
        anchor = self.line.tip(to) if is_split else self.line.last(to)
        data = {"id": key, "text": text, "to": to, "anchor": anchor, **({"by": by} if by else {})}
        self.injections.notes[key] = self.note("inject", data, at=at)

    def recall(self, key: str, at: float = 0.0) -> None:
        """Recall an injected message. Raises `UsageError` if a model has already seen it."""
        self.injections.check_unheard(key)
        self.note("recall", {"id": key}, at=at)
        del self.injections.notes[key]

    # -- changing the line ---------------------------------------------------------------------------------------------

    def edit(
        self, entry: Entry, result: Any, beside: str | None = None, *, author: str, reason: str, at: float
    ) -> Entry:
        """Replace a recorded result with another one.

        `beside` is the frame path of a step that followed from it: entries in the lanes parallel to that step stay.
        """
        fresh = replace(
            entry, result=result, author=author, reason=reason, original=entry.id, started=at, ended=at, usage=None
        )
        fresh.run, fresh.id = self.run, 0
        line = self.tree.line_with(entry, self.line)
        stays = self.tree.stays(line, entry)
        if beside is not None:
            stays += self._beside(line, entry, beside)
        self._put(fresh)
        if self.on_row is not None:
            self.on_row(fresh)
        self.move([*stays, fresh], "edit", at=at)
        return fresh

    def _beside(self, line: list[Entry], entry: Entry, path: str) -> list[Entry]:
        """Return the entries in the lanes parallel to a step, if the lanes were opened directly after an entry."""
        parallel = [other for other in line if not self.tree.keeps(other, entry) and is_beside(other.path, path)]
        ids, slot = {other.id for other in parallel}, self.tree.slot(entry.id)
        first = [other for other in parallel if other.parent not in ids]
        return parallel if all(self.tree.slot(other.parent) == slot for other in first) else []

    def rewind(self, entry: Entry, at: float = 0.0) -> None:
        """Make an entry the last step of its lane, on this line or on another one."""
        self.move(self.until(entry), "rewind", at=at)

    def until(self, entry: Entry) -> list[Entry]:
        """Return the line on which an entry is the last step of its lane."""
        return [*self.before(entry), entry]

    def before(self, entry: Entry) -> list[Entry]:
        """Return the line on which an entry is the next step of its lane."""
        return self.tree.stays(self.tree.line_with(entry, self.line), entry)

    def undo(self, at: float = 0.0) -> None:
        """Go back to before the last change of the line or the last step, whichever is later."""
        self.move(self.before_last_change(), "undo", at=at)

    def before_last_change(self) -> list[Entry]:
        """Return the line to which an undo goes back. Raises `UsageError` if there is nothing to undo."""
        if self.moved_last:
            move = self.done[-1]
            return self.line.entries[: move.keep] + move.dropped
        steps = [entry for entry in self.line if entry.kind != "begin"]
        if not steps:
            raise UsageError("there is nothing to undo: the run has not taken a step")
        last = max(steps, key=lambda entry: entry.id)
        return [entry for entry in self.line if entry is not last]

    def redo(self, at: float = 0.0) -> None:
        """Revert the last undo. Raises `UsageError` if there is none."""
        if not self.undone:
            raise UsageError("there is nothing to redo: there is no undo to revert")
        move = self.undone[-1]
        self.move(self.line.entries[: move.keep] + move.dropped, "redo", at=at)

    def move(self, entries: list[Entry], why: str, *, at: float = 0.0, **more: Any) -> None:
        """Move to another line, record that, and replay the engine up to its end."""
        self._record_move(entries, why, at, more)
        self.rebuild()

    def fork_from(
        self,
        source: Trace,
        entries: list[Entry],
        changes: Mapping[str, Any],
        at: float = 0.0,
        *,
        is_trial: bool = False,
    ) -> str:
        """Start at a position of another run of the same tree, and inherit its messages that no model has seen.

        A trial is one of many forks, and its line is not shown as a branch. Return how the engine differs from the
        recording up to there, if it does; the fork then starts where it differs.
        """
        inherited = {note.data["id"]: note for note in source.injections.live(Line(self.tree, entries))}
        self.injections.notes.update(inherited)
        about = {"trial": True} if is_trial else {}
        self.move(entries, "fork", at=at, inherits=list(inherited), changes=dict(changes), **about)
        difference = self.difference
        self.settle(at)
        return difference

    def _record_move(self, entries: list[Entry], why: str, at: float, more: dict[str, Any]) -> None:
        line = Line(self.tree, entries).entries
        keep = self.line.common(line)
        then = [entry.id for entry in line[keep:]]
        self.note("head", {"why": why, "keep": keep, "then": then, **more}, at=at)
        self.go_over(keep, then, why)

    # -- replaying the engine ------------------------------------------------------------------------------------------

    def rebuild(self, *, strict: bool = False) -> None:
        """Start the engine again and send it the recorded results on the line.

        If the engine asks for something else, `difference` says so. With `strict`, `Diverged` is raised instead, and
        nothing is changed.
        """
        self.torn = True
        stepper, done = interrupts.run_engine(self._replay)
        followed = {entry.id for _, entry in done}
        difference = self._compare(stepper, followed)
        if difference and strict:
            raise Diverged(difference)
        before, self.stepper, self.torn, self.difference = self.stepper, stepper, False, difference
        self._followed = None
        if difference:
            entries = (entry for entry in self.line if entry.kind == "begin" or entry.id in followed)
            self._followed = Line(self.tree, entries)
        self.proposed.update((entry.id, pending.step) for pending, entry in done)
        self._hear()
        interrupts.run_engine(before.close)

    def settle(self, at: float = 0.0) -> bool:
        """Record that the run continues differently from the recording, and return whether it does.

        The entries that the engine does not follow leave the line, and stay in the tree as a branch. Raises
        `JournalError`; then nothing has changed.
        """
        if self.opened_with:
            self.note("changed", self.opened_with, at=at)
            self.opened_with = {}
        if self._followed is None:
            return False
        self._record_move(self._followed.entries, "diverged", at, {"text": self.difference})
        self._followed, self.difference = None, ""
        self._hear()
        return True

    def _hear(self) -> None:
        """Find out which injected messages a model has seen on the line."""
        self.injections.heard.clear()
        for entry in self.line if self.injections.notes else ():
            self.injections.hear(entry.result)

    def _compare(self, stepper: Stepper, followed: set[int]) -> str:
        """Return how a replayed engine differs from the recorded line, or ""."""
        if stepper.diverged:
            return stepper.diverged
        if any(entry.kind == "end" for entry in self.line):  # it also ends parallel lanes, whose results are ignored
            return ""
        left = next((entry for entry in self.line if entry.kind != "begin" and entry.id not in followed), None)
        if self.end is not None and stepper.answer is not None:
            now, then = mask(stepper.answer.text), mask(self.end["answer"])
            difference = f"the engine now answers {one_line(now)!r}, but {one_line(then)!r} was recorded"
            return difference if now != then else ""
        if left is None and self.end is None:
            return ""
        if stepper.error:
            now = f"the engine now fails ({mask(error_line(stepper.error))})"
        elif stepper.answer is not None:
            now = "the engine now ends"
        else:
            now = f"the engine now asks for {', '.join(map(step_at, stepper.pending)) or 'nothing'}"
        return f"{now}, but {step_at(left) if left is not None else 'the end'} was recorded there"

    def _replay(self) -> tuple[Stepper, list[tuple[Pending, Entry]]]:
        stepper = self.new_stepper()
        recorded = {(entry.path, entry.index): entry for entry in self.line if entry.kind != "begin"}
        return stepper, stepper.replay(recorded)

    def new_stepper(self) -> Stepper:
        """Return a stepper at the first step of the engine."""
        return Stepper(self._begin(None), self._arounds, begin_again=self._begin, pressed=interrupts.pressed)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def load(self, rows: Iterable[Row]) -> None:
        """Read the rows of a journal, in order; call `rebuild` afterwards to replay the engine."""
        positions: dict[str, Position] = {self.run: self}
        for row in rows:
            self.latest = max(self.latest, row.id)
            if row.run not in positions:
                positions[row.run] = Position(row.run, self.tree)
            if isinstance(row, Entry):
                self.tree.add(row)
            self._see(row)
            positions[row.run].take(row)

    @property
    def has_news(self) -> bool:
        """Whether the journal has rows of other runs of the tree that were not read yet."""
        return self.journal is not None and self.journal.count(self.run) != len(self.tree.seen)

    @property
    def calls_of_others(self) -> int:
        """The number of calls in the ledger that other runs have made."""
        ledger = self.tree.ledger
        return len(ledger.calls) - ledger.counts[self.run]

    def read_news(self) -> None:
        """Read what other runs of the tree have done, in other processes or through other objects, into the ledger."""
        if self.has_news:
            assert self.journal is not None
            for row in self.journal.rows(self.run):
                if row.id not in self.tree.seen:
                    if isinstance(row, Entry):
                        self.tree.add(row)
                    self._see(row)

    def reload(self, rows: Iterable[Row]) -> None:
        """Read all rows again, because another process has continued this run."""
        self.tree.left.clear()
        self.reset()
        self.load(rows)
        self.rebuild()

    def _put(self, entry: Entry, *, sync: bool = True) -> None:
        entry.turn, entry.slot = self.tree.turn_and_slot(entry.kind, entry.parent, entry.path)
        self._write(entry, sync=sync)
        self.tree.add(entry)

    def _write(self, row: Row, *, sync: bool = True) -> None:
        try:
            self.latest = self._append(row, sync=sync)
        except JournalError:
            raise
        except Exception as error:
            raise JournalError(f"the journal could not write a row: {error_line(error)}") from error
        self.unsynced = not sync and self.is_durable
        self._see(row)

    def _see(self, row: Row) -> None:
        self.tree.ledger.take(row)
        self.tree.seen.add(row.id)
        if isinstance(row, Note) and row.kind == ASKED_AGAIN:
            self.tree.asked.setdefault(row.data["request"], set()).add(row.run)
        elif isinstance(row, Note) and row.kind == "head" and row.data.get("trial"):
            self.tree.trials.add(row.run)

    def _number(self, row: Row, *, sync: bool = True) -> int:
        """Store and number a row if there is no journal, and return its number."""
        self.tree.rows.append(row)
        row.id = len(self.tree.rows)
        return row.id
