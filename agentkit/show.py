"""Plain text of what a person holds: deterministic (no ids, times, addresses), and complete enough to debug with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentkit.lines import call, line, said
from agentkit.secrets import mask

if TYPE_CHECKING:
    from agentkit.journal.base import Entry
    from agentkit.result import Result
    from agentkit.run import Run
    from agentkit.stepper import Pending


def pending(waiting: Pending, run: Run) -> str:
    """Say in a few words what a pending step would do."""
    step: Any = waiting.step
    if step.kind == "act":
        return f"{mask(call(step.calls[0]))} [{run.desk.effect(waiting)}]"
    return f"{step.kind} ({step.role})"


def run(shown: Run) -> str:
    """Write a run: how it stands, its trace, and what comes next."""
    desk = shown.desk
    lines = [f"Run {shown.status}: {len(shown.entries) - 1} steps, {desk.steps} model calls, {desk.tool_calls} tool calls"]
    for number, recorded in enumerate(shown.entries):
        first, *more = repr(recorded).split("\n")
        lines += [f"{number:>3} {first}", *(f"    {text}" for text in more)]
    if shown.missing:
        lines.append(f"read-only: without {', '.join(shown.missing)}")
    elif shown.status != "done":
        why = [verdict.why for _, verdict in shown.waiting] or ([shown.hold] if shown.hold else [])
        lines += [f"  ! {mask(text)}" for text in why]
        lines += [f"  > next: {pending(step, shown)}" for step in shown.pending]
    return "\n".join(lines)


def result(shown: Result) -> str:
    """Write a result: the answer or the reason, and the counts."""
    parts = [f"Result({line(shown.answer, hide=mask)!r}"]
    if shown.output is not None:
        parts.append(f"output={line(repr(shown.output), hide=mask)}")
    if shown.reason:
        parts.append(f"reason={mask(shown.reason)!r}")
    if shown.error:
        parts.append(f"error={type(shown.error).__name__}({line(said(shown.error), hide=mask)!r})")
    parts.append(f"model_calls={shown.step_count}, tool_calls={shown.tool_calls_count}, tokens={shown.usage.total})")
    return ", ".join(parts)


def branches(shown: list[list[Entry]]) -> str:
    """Write how many lines there are, and how each of them ends."""
    lines = [f"{len(shown)} branches" if len(shown) != 1 else "1 branch"]
    for number, branch in enumerate(shown):
        first, *more = repr(branch[-1]).split("\n")
        lines += [f"{number:>3} {len(branch) - 1} steps, to: {first}", *(f"                 {text}" for text in more)]
    return "\n".join(lines)
