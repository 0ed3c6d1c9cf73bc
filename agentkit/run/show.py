"""Plain text of what a person holds: deterministic (no ids, times, addresses), and complete enough to debug with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentkit.core.secrets import mask
from agentkit.core.text import call_text, counted, error_text, one_line

if TYPE_CHECKING:
    from agentkit.journal.entries import Entry
    from agentkit.run.result import Result
    from agentkit.run.run import Run
    from agentkit.stepper.stepper import Pending


def pending(waiting: Pending, run: Run) -> str:
    """Say in a few words what a pending step would do."""
    step: Any = waiting.step
    if step.kind == "act":
        return f"{mask(call_text(step.calls[0]))} [{run.desk.effect(waiting)}]"
    return f"{step.kind} ({step.role})"


def head(shown: Run) -> str:
    """Say how a run stands, in a few words."""
    desk = shown.desk
    counts = (len(shown.entries) - 1, "step"), (desk.steps, "model call"), (desk.tool_calls, "tool call")
    return f"Run {shown.status}: {', '.join(counted(*each) for each in counts)}"


def run(shown: Run) -> str:
    """Write a run: how it stands, its trace, and what comes next."""
    lines = [head(shown)]
    for number, recorded in enumerate(shown.entries):
        first, *more = repr(recorded).split("\n")
        lines += [f"{number:>3} {first}", *(f"    {text}" for text in more)]
    if shown.missing:
        lines.append(f"read-only: without {', '.join(shown.missing)}")
    elif shown.status != "done":
        why = [verdict.why for _, verdict in shown.waiting] or ([shown.hold] if shown.hold else [])
        if not why and shown.desk.error:
            why = [f"{type(shown.desk.error).__name__}: {error_text(shown.desk.error)}"]
        lines += [f"  ! {mask(text)}" for text in why]
        lines += [f"  > next: {pending(step, shown)}" for step in shown.pending]
    return "\n".join(lines)


def spent(shown: Result) -> str:
    """Say what a result took, in a few words."""
    counts = (shown.step_count, "model call"), (shown.tool_calls_count, "tool call"), (shown.usage.total, "token")
    return ", ".join(counted(*each) for each in counts)


def reason(shown: Result) -> str:
    """Give the reason of a result; "" where it only says again what the error says, which is shown beside it."""
    return "" if shown.error and shown.reason.startswith(f"{type(shown.error).__name__}:") else shown.reason


def result(shown: Result) -> str:
    """Write a result: the answer or the reason, and the counts."""
    parts = [f"Result({one_line(shown.answer, hide=mask)!r}"]
    if shown.output is not None:
        parts.append(f"output={one_line(repr(shown.output), hide=mask)}")
    if why := reason(shown):
        parts.append(f"reason={mask(why)!r}")
    if shown.error:
        parts.append(f"error={type(shown.error).__name__}({one_line(error_text(shown.error), hide=mask)!r})")
    parts.append(f"model_calls={shown.step_count}, tool_calls={shown.tool_calls_count}, tokens={shown.usage.total})")
    return ", ".join(parts)


def branches(shown: list[list[Entry]]) -> str:
    """Write how many lines there are, and how each of them ends."""
    lines = [f"{len(shown)} branches" if len(shown) != 1 else "1 branch"]
    for number, branch in enumerate(shown):
        first, *more = repr(branch[-1]).split("\n")
        lines += [
            f"{number:>3} {counted(len(branch) - 1, 'step')}, to: {first}",
            *(f"                 {text}" for text in more),
        ]
    return "\n".join(lines)
