"""The calls beside one whose arguments are edited: what they gave stays as it is, and so does a person's yes to them.

The thought that asked for all of them is edited, and the engine runs again: without this, those that were performed already
would be performed once more.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agentkit.core.messages import Call
from agentkit.core.steps import Act, replace
from agentkit.errors import UsageError
from agentkit.gates.base import Verdict
from agentkit.journal.entries import Entry, Note
from agentkit.run.changes import changed
from agentkit.runtime.scheduler import Desk
from agentkit.stepper.stepper import Pending, is_at
from agentkit.trace.history import History
from agentkit.trace.tree import Tips, extend, past

Decided = dict[Pending, Verdict | None]


@dataclass(slots=True)
class Others:
    """What is known of the calls beside one: where they were opened, what they gave, and which began and have not ended.

    `decided` is what a person is asked about the pending ones; None where the answer was yes.
    """

    batch: Entry | None = None
    performed: list[Entry] = field(default_factory=list)
    begun: list[Note] = field(default_factory=list)
    decided: Decided = field(default_factory=dict)


def asked(desk: Desk, one: Entry | Pending) -> tuple[Entry, int]:
    """Give the thought that asked for a call, and the number of that call in it.

    Raises `UsageError` where no thought did, but the engine.
    """
    call, batch = _call(one), _batch(desk, one)
    before = batch.step.calls[: _number(one)] if batch else ()  # type: ignore[union-attr]
    for thought in past(desk.history.entries, _after(desk, one)):
        if thought.kind == "think" and (numbers := [n for n, each in enumerate(thought.result.calls) if each == call]):
            return thought, numbers[: before.count(call) + 1][-1]
    raise UsageError(
        f"no thought on this line asked for {call.name}: the engine did; respond(value) answers in its place"
    )


def is_own(desk: Desk, one: Pending) -> bool:
    """Say whether the engine makes a call by itself: no thought asked for it, in which its arguments could be changed."""
    try:
        asked(desk, one)
    except UsageError:
        return True
    return False


def others(desk: Desk, one: Entry | Pending) -> Others:
    """Give what is known of the calls that stand side by side with this one."""
    batch, history = _batch(desk, one), desk.history
    if batch is None:
        return Others()
    tips = history.tips_at(one) if isinstance(one, Entry) else history.tips
    lanes = {f"{batch.path}[{batch.index}.{k}]" for k in range(len(batch.step.calls))} - {one.path}  # type: ignore[union-attr]
    performed = [history.entries[tips[lane]] for lane in lanes if tips.get(lane, batch.id) != batch.id]
    begun = [note for (at, path, _), note in history.begun.items() if at == batch.id and path in lanes]
    decided: Decided = {**desk.waiting, **dict.fromkeys(desk.allowed)}
    of_these = {
        p: verdict for p, verdict in decided.items() if p.path in lanes and history.tips.get(p.path) == batch.id
    }
    return Others(batch, sorted(performed, key=lambda entry: entry.id), begun, of_these)


def edit(desk: Desk, one: Entry | Pending, arguments: dict[str, Any], reason: str, author: str) -> Entry:
    """Edit the arguments of a call in the thought that asked for it; what is known of those beside it stays. Or nothing happens."""
    (thought, number), known = asked(desk, one), others(desk, one)
    calls = list(thought.result.calls)
    fresh = calls[number] = replace(_call(one), arguments=arguments, raw=None, problem="", coerced=())

    def along(edited: Entry, tips: Tips) -> None:
        if known.batch is not None and known.batch.parent == thought.id:
            _stay(desk.history, known, _in_place(known.batch, _number(one), fresh, edited), tips)

    def put() -> Entry:
        result, at = changed(thought.result, {"calls": calls}), time.time()
        return desk.history.edit(thought, result, along, reason=reason, author=author, at=at)

    edited = leaving(desk, put)
    _decide(desk, known.decided)
    return edited


def _in_place(batch: Entry, number: int, fresh: Call, edited: Entry) -> Entry:
    """Open the same calls once more, behind an edited thought, but for one of them."""
    calls = list(batch.step.calls)  # type: ignore[union-attr]
    calls[number] = fresh
    step = replace(batch.step, calls=tuple(calls))  # type: ignore[type-var]
    return replace(batch, parent=edited.id, kept=batch.id, step=step, run=edited.run, id=0)


def _stay(history: History, known: Others, again: Entry, tips: Tips) -> None:
    """Put what was performed in its place again, performing nothing, and record again which calls began."""
    history.put(again)
    extend(tips, again)
    for entry in known.performed:
        kept = replace(entry, parent=again.id, kept=entry.id, usage=None, run=history.run, id=0)
        history.put(kept)
        extend(tips, kept)
    for note in known.begun:
        data = {**note.data, "parent": again.id, "kept": note.data.get("kept", note.data["parent"])}
        history.begun[again.id, data["path"], data["index"]] = history.note("call", data, at=time.time())


def leaving(desk: Desk, change: Callable[[], Any]) -> Any:
    """Change the line; what was decided about a step that stands where it stood, in a lane beside the change, still holds."""
    tips, decided = dict(desk.history.tips), {**desk.waiting, **dict.fromkeys(desk.allowed)}
    given = change()
    desk.forget()
    now = desk.history.tips
    _decide(desk, {p: verdict for p, verdict in decided.items() if now.get(p.lane.path, 0) == tips.get(p.lane.path)})
    return given


def _decide(desk: Desk, decided: Decided) -> None:
    for before, verdict in decided.items():
        for pending in desk.history.pending:
            if not is_at(pending, before):
                continue
            if verdict is None:
                desk.allowed.add(pending)
            else:
                desk.waiting[pending] = verdict


def _call(one: Entry | Pending) -> Call:
    return one.step.calls[0]  # type: ignore[union-attr]


def _after(desk: Desk, one: Entry | Pending) -> int:
    """Give the entry that one stands after; 0 for a step in a lane that is being left just now."""
    return one.parent if isinstance(one, Entry) else desk.history.tips.get(one.lane.path, 0)


def _batch(desk: Desk, one: Entry | Pending) -> Entry | None:
    """Give the entry with which the calls beside this one were opened; None for a call that stands alone."""
    before = desk.history.entries.get(_after(desk, one))
    return before if before is not None and before.kind == "batch" and type(before.step) is Act else None


def _number(one: Entry | Pending) -> int:
    return int(one.path[one.path.rindex(".") + 1 : -1])
