"""What a person changes: the verbs of a run that put something in the place of something else."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from agentkit.core.secrets import mask
from agentkit.core.steps import Act
from agentkit.errors import Ended, Fenced, JournalError, Unknown, UsageError
from agentkit.gates.base import Breakpoint, forked
from agentkit.journal.entries import Entry, Row, RunInfo
from agentkit.run import changes, show
from agentkit.run.result import Receipt
from agentkit.stepper.places import stands
from agentkit.stepper.stepper import Pending, is_at
from agentkit.trace import beside
from agentkit.trace.events import Event, event_of
from agentkit.trace.progress import Progress
from agentkit.trace.tree import HIDDEN, lane_of, line_to

if TYPE_CHECKING:
    from agentkit.run.run import Run


def edit(run: Run, entry: int | Entry | Pending | None, change: dict[str, Any], reason: str, author: str) -> Entry:
    """Edit a recorded result, or answer a pending step: the first one, or the one that is given."""
    reason, author = mask(reason), mask(author)
    if entry is None or isinstance(entry, Pending):
        pending = _pending(run, entry)
        changes.check(pending.step.kind, change)
        if "arguments" in change and type(pending.step) is Act:
            return edit_call(run, pending, change["arguments"], reason, author)
        return answer(run, pending, changes.changed(changes.blank(pending.step), change), author, reason)
    recorded = run._entry(entry)
    changes.check(recorded.kind, change)
    if recorded.kind == "act" and "arguments" in change:
        return edit_call(run, recorded, change["arguments"], reason, author)
    return _put(run, recorded, changes.changed(recorded.result, change), reason, author)


def own(run: Run, entry: int | Entry) -> Entry:
    """Give the run's own entry: by its number in the trace, or for one that may be of an older object of the run.

    Raises `UsageError` for an entry of another run.
    """
    if isinstance(entry, Entry):
        found = run.desk.history.entries.get(entry.id)
        if found is None or (found.run, found.kind, found.path, found.index) != (
            entry.run,
            entry.kind,
            entry.path,
            entry.index,
        ):
            raise UsageError(
                f"this {entry.kind} is an entry of another run, {entry.run}; take one of run.entries or branches()"
            )
        return found
    if not isinstance(entry, int) or isinstance(entry, bool):
        raise UsageError(f"an entry is named by its number in the trace, or is one of run.entries, not {entry!r:.100}")
    entries = run.entries
    if not -len(entries) <= entry < len(entries):
        raise UsageError(f"there is no entry {entry}; the trace has entries 0 to {len(entries) - 1}")
    return entries[entry]


def _put(run: Run, recorded: Entry, result: Any, reason: str, author: str) -> Entry:
    def put() -> Entry:
        return run.desk.history.edit(recorded, result, author=author, reason=reason, at=time.time())

    return _leaving(run, put)


def edit_call(run: Run, one: Entry | Pending, arguments: dict[str, Any], reason: str, author: str) -> Entry:
    """Edit the arguments of a call where they were decided: in the thought that asked for it. What stands beside it stays."""

    def put() -> Entry:
        call = still(run, one) if isinstance(one, Pending) else one
        return beside.edit(run.desk, call, arguments, reason, author)

    return run.control.do(put)


def _pending(run: Run, wanted: Pending | None) -> Pending:
    if run.desk.history.torn:
        run.control.do(run.desk.mend)
    if not run.pending:
        raise UsageError("no step is pending: the run is over; undo() or fork() first")
    return run.pending[0] if wanted is None else still(run, wanted)


def still(run: Run, wanted: Pending) -> Pending:
    """Give what stands pending where this step was, if it is the same. Raises `UsageError` where it is another one, or none."""
    for pending in run.pending:
        if is_at(pending, wanted):
            return pending
    raise UsageError(f"this {wanted.step.kind} is not pending any more; take one of run.pending")


def answer(run: Run, pending: Pending, result: Any, author: str, reason: str = "") -> Entry:
    """Put a result in the place of a pending step."""
    return run.control.do(lambda: run.desk.answer(pending, result, author=author, reason=reason))


def inject(run: Run, text: str, to: str) -> Receipt:
    """Leave a message for the model; recorded at once when nobody drives, else before the next step."""
    if not isinstance(text, str) or not text.strip():
        raise UsageError(f"an injected message needs some text, not {text!r:.100}")
    history = run.desk.history
    if to not in (lanes := list(history.tips)):
        raise Unknown("lane", to, (lane for lane in lanes if lane))
    if run.answer is not None:
        raise Ended("the run is over and nobody would hear it: undo() or fork() first, then inject")
    key, text = uuid.uuid4().hex[:12], mask(text)
    put = run.control.post(lambda: history.behind.attempt(lambda: history.inject(key, text, to, time.time())))
    if put.done():
        put.result()
    return Receipt(key, text, run)


def rewind(run: Run, to: int | Entry) -> None:
    """Move the head so that `to` is the last performed step."""
    entry = run._entry(to)

    def go() -> None:
        history = run.desk.history
        history.move(history.tips_at(entry), "rewind", at=time.time())

    _leaving(run, go)


def undo(run: Run) -> None:
    """Go back over the last edit, move or step."""
    _leaving(run, lambda: run.desk.history.undo(time.time()))


def redo(run: Run) -> None:
    """Take the last undo back."""
    _leaving(run, lambda: run.desk.history.redo(time.time()))


def _leaving(run: Run, change: Callable[[], Any]) -> Any:
    """Change the line of a run; what was decided in the lanes beside the change still holds."""
    return run.control.do(lambda: beside.leaving(run.desk, change))


# -- other lines ---------------------------------------------------------------------------------------------------------


def fork(run: Run, at: int | Entry | None, changes: dict[str, Any]) -> Run:
    """Begin a second run over the same tree."""
    entry = run.entries[-1] if at is None else run._entry(at)
    agent = run.agent.using(**changes) if changes else run.agent
    source = run.desk.history
    tips = dict(source.tips) if at is None else source.tips_at(entry)
    changed = agent.changed(run.task, changes)
    other = agent.attach({**run.task, **changed}, parent=run, gates=(forked,))
    try:
        other.desk.history.fork_from(source, tips, time.time(), **changed)
    except BaseException:
        discard(other)
        raise
    other.forecast = _forecast(other)
    return other


def _forecast(run: Run) -> str:
    reused = [entry for entry in run.entries if entry.kind != "begin"]
    following = ", ".join(show.pending(pending, run) for pending in run.pending) or "nothing: the run is over"
    steps = "1 recorded step is" if len(reused) == 1 else f"{len(reused)} recorded steps are"
    return f"{steps} re-used, no call is made for that; next: {following}"


def break_at(run: Run, condition: dict[str, Any]) -> Breakpoint:
    """Set a breakpoint, or switch on the same one that is there; a line is moved to the next at which the engine can stand."""
    point = Breakpoint.of(condition)
    if point.line is not None:
        found = [
            place.file for place in run.where() if (place.file.endswith(point.file) if point.file else not place.around)
        ]
        point.line = stands(found or [point.file], point.line)
    points = run.desk.breakpoints
    if point not in points:
        points.append(point)
    known = points[points.index(point)]
    known.enabled = True
    return known


def branches(run: Run) -> list[list[Entry]]:
    """All lines of the tree, the present one first; lanes side by side belong to one line."""
    entries = dict(run.desk.history.entries)  # a fork may add some meanwhile
    own = [entry for entry in entries.values() if not lane_of(entry.path)]
    passed = {entry.parent for entry in own} | {entry.id for entry in run.desk.history.line}
    others = [line_to(entries, entry) for entry in own if entry.id not in passed]
    return [run.entries, *([entry for entry in line if entry.kind not in HIDDEN] for line in others)]


def request(run: Run, entry: Entry | None) -> dict[str, Any]:
    """Rebuild what was sent for a recorded model call, or for the one that is pending."""
    if entry is None:
        asked = next((pending.step for pending in run.pending if pending.step.kind == "think"), None)
        if asked is None:
            raise UsageError("no model call is pending; run.request(entry) gives the request of one that is recorded")
        return run.desk.host.sent(asked)
    if entry.kind != "think":
        number = next((f"entry {n}" for n, each in enumerate(run.entries) if each is entry), "this entry")
        raise UsageError(f"{number} is no model call but {entry.kind}; a thought has a request")
    return run.desk.host.sent(entry.performed or entry.step, entry.dialect, entry.model)


def rows(run: Run) -> list[Row]:
    """All rows of the run's tree; without a journal, its entries."""
    history = run.desk.history
    return history.journal.rows(run.id) if history.journal else list(history.entries.values())


def events(run: Run, after: int) -> Iterator[Event]:
    """The kept events of a run with a cursor above `after`."""
    progress = Progress()
    for row in rows(run):
        told = list(progress.take(row))
        if row.id > after and row.run == run.id:
            yield from told
            if event := event_of(row):
                yield event
    yield Event("resume_done", run.id)


def discard(run: Run) -> None:
    """Take back a run that could not be begun."""
    run.control.lease.drop()
    with contextlib.suppress(Exception):  # what went wrong before is what is told
        run.desk.history.journal.delete(run.id)  # type: ignore[union-attr]


def save_status(run: Run, status: str) -> None:
    """Let the list of runs know how this one stands, when that has changed."""
    journal = run.desk.history.journal
    if journal is not None and status != run.saved_status and not run.missing:
        with contextlib.suppress(JournalError, Fenced):  # the list is a convenience; the next row tells what is wrong
            journal.set_status(run.id, status)
            run.saved_status = status


def info(run: Run, tree: str, parent: str) -> RunInfo:
    """Give the run's line in the list of runs."""
    spec, now = run.task, time.time()
    text = next((m["text"] for m in reversed(spec["task"]) if m["role"] == "user"), "")
    return RunInfo(run.id, tree, text, spec["engine"], spec["model"], "paused", 0, now, now, parent)
