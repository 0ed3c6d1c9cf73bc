"""Find the thought that asked for a call."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from agentkit.core.messages import Call
from agentkit.core.steps import Act
from agentkit.errors import UsageError
from agentkit.journal.entries import Entry
from agentkit.stepper.stepper import Pending
from agentkit.trace.line import is_beside, lane_of
from agentkit.trace.trace import Trace


def asked_by(trace: Trace, action: Entry | Pending) -> tuple[Entry, int]:
    """Return the thought that asked for a call, and the position of the call in it.

    Raises `UsageError` if the engine made the call by itself.
    """
    call = call_of(action)
    for thought in _before(trace, action):
        if thought.kind == "think" and hasattr(thought.result, "calls"):
            positions = [position for position, asked in enumerate(thought.result.calls) if asked == call]
            if positions:
                earlier = sum(other == call for other in _calls_before(trace, action))
                return thought, positions[: earlier + 1][-1]
    raise UsageError(
        f"the engine calls {call.name} by itself, no thought asked for it; use respond(value) to answer instead"
    )


def is_engine_call(trace: Trace, pending: Pending) -> bool:
    """Return whether the engine makes a call by itself, so that there is no thought in which it could be changed."""
    try:
        asked_by(trace, pending)
    except UsageError:
        return True
    return False


def call_of(action: Entry | Pending) -> Call:
    """Return the call of an action, as the engine asked for it."""
    step = action.proposed if isinstance(action, Pending) else action.step
    assert type(step) is Act
    return step.call


def _line(trace: Trace, action: Entry | Pending) -> list[Entry]:
    return trace.tree.line_with(action, trace.line) if isinstance(action, Entry) else trace.line.entries


def _before(trace: Trace, action: Entry | Pending) -> Iterator[Entry]:
    """Yield the entries before an action, newest first, without the lanes that run in parallel to it."""
    newest_first: Iterator[Entry] = reversed(_line(trace, action))
    if isinstance(action, Entry):
        newest_first = itertools.islice(itertools.dropwhile(lambda entry: entry is not action, newest_first), 1, None)
    return (entry for entry in newest_first if not is_beside(entry.path, action.path))


def _calls_before(trace: Trace, action: Entry | Pending) -> Iterator[Call]:
    """Yield the calls in parallel lanes that come before an action."""
    lane = lane_of(action.path)
    if not lane:
        return
    place, _, number = lane[:-1].rpartition(".")
    calls = {entry.path: entry.step.call for entry in _line(trace, action) if type(entry.step) is Act}
    calls |= {pending.path: call_of(pending) for pending in trace.pending if type(pending.step) is Act}
    for earlier in range(int(number.partition("<")[0])):
        if (call := calls.get(f"{place}.{earlier}]")) is not None:
            yield call
