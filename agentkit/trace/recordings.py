"""What was recorded in the place of a pending step before: on other branches, or before an edit or an undo."""

from __future__ import annotations

from collections.abc import Iterable

from agentkit.core.steps import Act, Step
from agentkit.journal.entries import Entry
from agentkit.stepper.stepper import Pending, is_same


def recordings(entries: Iterable[Entry], pending: Iterable[Pending]) -> dict[Pending, list[Entry]]:
    """Return, by pending step, the entries of a tree with different results that fit it, the newest first."""
    found: dict[Pending, list[Entry]] = {step: [] for step in pending}
    places = {(step.path, step.index): step for step in found}
    for entry in reversed(list(entries)):
        step = places.get((entry.path, entry.index))
        if step is None or entry.kind == "end" or not _fits(step.step, entry):
            continue
        if all(entry.result != other.result for other in found[step]):
            found[step].append(entry)
    return found


def _fits(step: Step, entry: Entry) -> bool:
    """Return whether a step is the recorded one; the id of a call may differ: a model makes up a new one each time."""
    then = entry.step
    if type(step) is Act and type(then) is Act:
        return (step.call.name, step.call.arguments) == (then.call.name, then.call.arguments)
    return is_same(step, entry)
