"""Runs, results and branches in plain text: without ids, times or addresses, and complete enough for debugging."""

from __future__ import annotations

from typing import Any

from agentkit.core.secrets import mask
from agentkit.core.steps import Act
from agentkit.core.text import call_text, counted, error_text, one_line
from agentkit.export.protocols import ResultLike, RunLike
from agentkit.gates.effects import still_performed
from agentkit.inert import for_terminal
from agentkit.journal.entries import Entry
from agentkit.stepper.stepper import Pending


def pending_text(pending: Pending, run: RunLike) -> str:
    """Return what a pending step would do, in a few words."""
    step = pending.step
    if type(step) is Act:
        return f"{mask(call_text(step.call))} [{run.state.effect(pending)}]"
    return f"{step.kind} ({for_terminal(step.role)})"


def summary(run: RunLike) -> str:
    """Return the status of a run and the number of its steps and calls."""
    spent = run.state.spent
    counts = (len(run.entries) - 1, "step"), (spent.model_calls, "model call"), (spent.tool_calls, "tool call")
    status = f"{run.saved_status} (read-only)" if run.read_only else run.status
    return f"Run {status}: {', '.join(counted(*count) for count in counts)}"


def run_text(run: RunLike) -> str:
    """Return a run as text: its status, its trace, and its next steps."""
    lines = [summary(run)]
    for number, entry in enumerate(run.entries):
        first, *more = repr(entry).split("\n")
        lines += [f"{number:>3} {first}", *(f"    {line}" for line in more)]
    if run.read_only:
        lines.append(f"  ! read-only: {for_terminal(run.read_only)}")
        if run.trace.difference:
            lines.append(f"  ! {for_terminal(mask(run.trace.difference))}")
    elif run.status != "done":
        reasons = [verdict.why for _, verdict in run.waiting] or ([run.hold] if run.hold else [])
        if not reasons and run.state.error:
            reasons = [f"{type(run.state.error).__name__}: {error_text(run.state.error)}"]
        lines += [f"  ! {for_terminal(mask(reason))}" for reason in reasons]
        sentence = "" if run.waiting else still_performed(run.state)
        lines += [f"  * {for_terminal(sentence)}"] if sentence else []
        lines += [f"  > next: {pending_text(pending, run)}" for pending in run.pending]
    return "\n".join(lines)


def spent_text(result: ResultLike) -> str:
    """Return the number of calls and tokens of a result."""
    counts = (result.step_count, "model call"), (result.tool_calls_count, "tool call"), (result.usage.total, "token")
    return ", ".join(counted(*count) for count in counts)


def reason_text(result: ResultLike) -> str:
    """Return the reason of a result, or "" if it only repeats the error, which is shown beside it."""
    return "" if result.error and result.reason.startswith(f"{type(result.error).__name__}:") else result.reason


def result_text(result: ResultLike) -> str:
    """Return a result as text: the answer or the reason, and the counts."""
    parts: list[Any] = [f"Result({one_line(result.answer, hide=mask)!r}"]
    if result.output is not None:
        parts.append(f"output={one_line(repr(result.output), hide=mask)}")
    if reason := reason_text(result):
        parts.append(f"reason={mask(reason)!r}")
    if result.error:
        error = one_line(error_text(result.error), hide=mask)
        parts.append(f"error={type(result.error).__name__}({error!r})")
    if result.denied:
        parts.append(f"denied={len(result.denied)}")
    parts.append(f"model_calls={result.step_count}, tool_calls={result.tool_calls_count}, tokens={result.usage.total})")
    return ", ".join(parts)


def branches_text(branches: list[list[Entry]]) -> str:
    """Return the number of branches, and the last entry of each."""
    lines = [f"{len(branches)} branches" if len(branches) != 1 else "1 branch"]
    for number, branch in enumerate(branches):
        first, *more = repr(branch[-1]).split("\n")
        start = f"{number:>3} {counted(len(branch) - 1, 'step')}, last: "
        lines += [f"{start}{first}", *(f"{' ' * len(start)}{line}" for line in more)]
    return "\n".join(lines)


def branch_counts(branches: list[list[Entry]]) -> str:
    """Return the number of branches, and the length of the current one."""
    count = f"{len(branches)} branches" if len(branches) != 1 else "1 branch"
    return f"{count}, the current one with {counted(len(branches[0]) - 1, 'step')}"
