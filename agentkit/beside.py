"""The calls beside one whose arguments are edited: what they gave stays as it is, and so does a person's yes to them.

The thought that asked for all of them is edited, and the engine runs again: without this, those that were performed already
would be performed once more.
"""

from __future__ import annotations

from agentkit.desk import Desk
from agentkit.gates import Verdict
from agentkit.journal.base import Entry
from agentkit.messages import Call
from agentkit.stepper import Pending, same
from agentkit.steps import replace

Decided = dict[Pending, Verdict | None]
"""What a person is asked about pending calls; None where the answer was yes."""


def others(desk: Desk, call: Call) -> tuple[list[Entry], Decided]:
    """Give the entries of the calls that were performed side by side with this one, and what is decided about the pending ones."""
    line = desk.history.line
    for batch in reversed(line):
        if batch.kind == "batch" and call in getattr(batch.step, "calls", ()):
            lanes = f"{batch.path}[{batch.index}."
            performed = [entry for entry in line if entry.parent == batch.id and _is_other(entry, lanes, call)]
            decided: Decided = {**desk.waiting, **dict.fromkeys(desk.allowed)}
            return performed, {pending: verdict for pending, verdict in decided.items() if _is_other(pending, lanes, call)}
    return [], {}


def _is_other(one: Entry | Pending, lanes: str, call: Call) -> bool:
    return one.path.startswith(lanes) and one.step.calls[0] != call  # type: ignore[union-attr]


def stay(desk: Desk, performed: list[Entry], decided: Decided) -> None:
    """After the edit, put what was performed in its place again, performing nothing, and let hold what was decided."""
    for entry in performed:
        desk.history.behind.attempt(lambda entry=entry: _keep(desk, entry))  # type: ignore[misc]
    for before, verdict in decided.items():
        for pending in desk.history.pending:
            if not _is_at(pending, before):
                continue
            if verdict is None:
                desk.allowed.add(pending)
            else:
                desk.waiting[pending] = verdict


def _keep(desk: Desk, entry: Entry) -> None:
    for pending in desk.history.pending:
        if _is_at(pending, entry):
            kept = replace(entry, kept=entry.id, usage=None, run=desk.history.run, id=0)
            desk.history.commit(pending, pending.step, entry.result, kept)
            return


def _is_at(pending: Pending, one: Entry | Pending) -> bool:
    return (pending.path, pending.index) == (one.path, one.index) and same(pending.step, one)
