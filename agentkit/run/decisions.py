"""What a person decides: whether a waiting call may run, what stands in its place, and what a question is answered with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentkit.core.secrets import mask
from agentkit.core.steps import replace
from agentkit.errors import UsageError
from agentkit.gates import budget
from agentkit.journal.entries import Entry
from agentkit.run import changes
from agentkit.run.edits import answer, edit_call, still
from agentkit.stepper.stepper import Pending
from agentkit.tools import observations
from agentkit.trace import beside

if TYPE_CHECKING:
    from typing import Any

    from agentkit.run.run import Run


def approve(run: Run, which: int, arguments: dict[str, Any] | None, remember: bool) -> None:
    """Let a waiting call pass, or a run go on whose budget is used up."""
    pending = _waiting(run, which)
    if arguments is not None:
        _must_be_a_call(pending)
        changes.check("act", {"arguments": arguments})

    def allow() -> None:
        desk, now = run.desk, still(run, pending)
        if arguments is not None:
            beside.asked(desk, now)  # before anything is granted
        has_more = budget.approve(desk, now)
        if not has_more:
            _must_be_a_call(now)
        if arguments is not None:
            edit_call(run, now, arguments, "approved with other arguments", "human")
        if has_more:
            return
        if remember:
            desk.remembered.add(now.step.calls[0].name)  # type: ignore[union-attr]
            desk.waiting.clear()  # who still has to wait is asked about anew
        for same in run.pending:
            if (same.path, same.index) == (now.path, now.index):
                desk.waiting.pop(same, None)
                desk.allowed.add(same)

    run.control.do(allow)


def reject(run: Run, comment: str, which: int) -> Entry:
    """Refuse a waiting or pending call, in words that the model sees; end a run that waits for more budget."""
    pending = _waiting(run, which)
    if (end := run.control.do(lambda: budget.reject(run.desk, pending))) is not None:
        return answer(run, pending, end, "human", comment or "no more budget")
    _must_be_a_call(pending)
    result = (observations.rejected(pending.step.calls[0], mask(comment)),)  # type: ignore[union-attr]
    return answer(run, pending, result, "human", "rejected")


def _must_be_a_call(pending: Pending) -> None:
    if pending.step.kind == "ask":
        raise UsageError("this step is a question: answer it with respond(text)")
    if pending.step.kind != "act":
        what = f"{pending.step.kind} ({pending.step.role})"
        raise UsageError(f"the pending step is {what}: it waits for nobody, next(run) performs it")


def respond(run: Run, value: Any, which: int) -> Entry:
    """Answer a waiting question or a pending call."""
    pending = _waiting(run, which)
    if pending.step.kind == "ask":
        return answer(run, pending, mask(str(value)), "human")
    if pending.step.kind != "act":
        raise UsageError("respond() answers a question or stands in for a tool; edit(text=...) writes a thought")
    message = observations.returned(pending.step.calls[0], value)  # type: ignore[union-attr]
    return answer(run, pending, (replace(message, text=mask(message.text)),), "human", "answered in the tool's place")


def _waiting(run: Run, which: int) -> Pending:
    known = list(run.desk.waiting) or run.pending
    if not 0 <= which < len(known):
        raise UsageError(f"nothing waits under number {which}; {len(known)} steps are pending")
    return known[which]
