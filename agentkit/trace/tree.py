"""The tree of entries, read: lanes, lines and tips. Pure functions over `Entry` objects.

A run's line is said by its tips: the last entry of each open lane, by lane path ("" is the run's own lane).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from agentkit.core.steps import Step, Think
from agentkit.errors import UsageError
from agentkit.journal.entries import Entry
from agentkit.stepper.stepper import Recorded

Tips = dict[str, int]

Along = Callable[[Entry, Tips], None]
"""Puts more entries behind one that takes another's place, and moves the tips along."""

HIDDEN = ("batch", "join")
"""Kinds of entries that only hold the tree together."""


def lane_of(path: str) -> str:
    """Give the lane that a frame path lies in."""
    return path[: path.rfind("]") + 1]


def places(entries: dict[int, Entry], entry: Entry) -> Iterator[int]:
    """Give the id of an entry, and of all those in whose place it stands."""
    yield entry.id
    while entry.replaces:
        entry = entries[entry.replaces]
        yield entry.id


def recordings(line: Iterable[Entry]) -> Recorded:
    """Put entries where a replay looks for them: by frame path and index, joins under the complement of the index."""
    return {(e.path, ~e.index if e.kind == "join" else e.index): e for e in line if e.kind != "begin"}


def extend(tips: Tips, entry: Entry) -> None:
    """Move the tips on by one entry: along its lane, into the lanes of a batch, out of them at its join."""
    lane = lane_of(entry.path)
    tips[lane] = entry.id
    if entry.kind == "join":
        for branch in entry.result:
            tips.pop(branch, None)
    elif entry.kind == "batch":
        step: Any = entry.step
        parts = step.calls if step.kind == "act" else step.parts
        tips.update({f"{entry.path}[{entry.index}.{k}]": entry.id for k in range(len(parts))})


def chain(entries: dict[int, Entry], tips: Tips, lane: str, stop: int) -> list[Entry]:
    """Walk one lane from its tip back to `stop`, and put the lanes of each batch in their order behind it."""
    back: list[Entry] = []
    at = tips[lane]
    while at != stop and at:
        back.append(entries[at])
        at = entries[at].parent
    found: list[Entry] = []
    for i in range(len(back) - 1, -1, -1):
        entry = back[i]
        found.append(entry)
        if entry.kind == "batch":
            prefix = f"{entry.path}[{entry.index}."
            ends = (
                back[i - 1].result
                if i
                else {k: v for k, v in tips.items() if k.startswith(prefix) and "]" not in k[len(prefix) : -1]}
            )
            for branch in sorted(ends, key=lambda path: int(path[len(prefix) : -1])):
                found += chain(entries, {**tips, **ends}, branch, entry.id)
    return found


def past(entries: dict[int, Entry], at: int, stop: int = 0) -> Iterator[Entry]:
    """Walk from an entry back to the root, through lanes that were joined on the way, and not through those beside it."""
    while at != stop and at:
        entry = entries[at]
        yield entry
        for end in reversed(entry.result.values() if entry.kind == "join" else ()):
            yield from past(entries, end, entry.parent)
        at = entry.parent


def line_to(entries: dict[int, Entry], end: Entry) -> list[Entry]:
    """Give the way from the root to an entry of the run's own lane; of steps that were never joined, how far each lane came."""
    return chain(entries, {**(_reached(entries, end) if end.kind == "batch" else {}), "": end.id}, "", 0)


def tips_at(entries: dict[int, Entry], line: list[Entry], tips: Tips, entry: Entry) -> Tips:
    """Give the tips at which `entry` is the last one of its lane, and the other lanes of its batch stay as they are.

    Off the line they stand where the batch was joined last, or else where each of them came to last.
    """
    lane = lane_of(entry.path)
    if not lane:
        return {"": entry.id}
    batch = entries[entry.parent]
    while batch.kind != "batch" or not lane.startswith(f"{batch.path}[{batch.index}."):
        batch = entries[batch.parent]
    prefix = f"{batch.path}[{batch.index}."
    is_on_line = any(e is batch for e in line)
    join = next(
        (e for e in reversed(line if is_on_line else [*entries.values()]) if e.kind == "join" and e.parent == batch.id),
        None,
    )
    if join:
        siblings = join.result
    elif is_on_line:
        siblings = {k: v for k, v in tips.items() if k.startswith(prefix)}
    else:
        siblings = _reached(entries, batch)
    inside = {k: v for k, v in siblings.items() if not k.startswith(lane)}
    return {**tips_at(entries, line, tips, batch), **inside, lane: entry.id}


def _reached(entries: dict[int, Entry], batch: Entry) -> Tips:
    """Give how far the lanes below a batch came that was never joined: in each of them to what was done there last."""
    tips: Tips = {}
    extend(tips, batch)
    del tips[lane_of(batch.path)]
    below = {batch.id: batch}
    for entry in sorted(entries.values(), key=lambda e: e.id):
        if entry.parent in below:
            below[entry.id] = entry
    for lane in list(tips):
        last = max((at for at, entry in below.items() if entry.path.startswith(lane)), default=batch.id)
        while last != batch.id and lane_of(entries[last].path) != lane:
            last = entries[last].parent
        tips[lane] = last
        if last != batch.id and entries[last].kind == "batch":
            tips |= _reached(entries, entries[last])
    return tips


def before(entries: dict[int, Entry], line: list[Entry], tips: Tips) -> Tips:
    """Give the tips without the last step of the line. Raises `UsageError` where there is none."""
    steps = [entry for entry in line if entry.kind not in ("begin", *HIDDEN)]
    if not steps:
        raise UsageError("there is nothing to undo: the run has not taken a step")
    last = max(steps, key=lambda entry: entry.id)
    found = tips_at(entries, line, tips, last)
    found[lane_of(last.path)] = last.parent
    return found


def drifted(now: Step | None, then: Step | None) -> bool:
    """Say whether two model calls that stand at the same place ask for something else: other messages, tools or data."""
    if not isinstance(now, Think) or not isinstance(then, Think):
        return False
    schemas = [[tool.digest for tool in step.tools] for step in (now, then)]
    return now.chat.digest != then.chat.digest or schemas[0] != schemas[1] or now.shape != then.shape
