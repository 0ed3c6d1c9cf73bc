"""Plain text of what a person holds: deterministic (no ids, times, addresses), and complete enough to debug with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentkit.journal.base import Entry
    from agentkit.result import Result
    from agentkit.run import Run
    from agentkit.stepper import Pending

WIDTH = 200
"""Characters of one text in one line; what is longer is cut with a note of how much."""


def line(text: Any, width: int = WIDTH) -> str:
    """Put a text in one line, and cut it with a note where it is too long."""
    flat = " ".join(str(text).split())
    return flat if len(flat) <= width else f"{flat[:width]}… (+{len(flat) - width} characters)"


def call(asked: Any) -> str:
    """Write a call as one would type it."""
    return f"{asked.name}({', '.join(f'{k}={v!r}' for k, v in asked.arguments.items())})"


def entry(shown: Entry) -> str:
    """Write an entry in one line, and one more for each call and observation."""
    step: Any = shown.step
    mark = f"  [edited by {shown.author}{': ' + shown.reason if shown.reason else ''}]" if shown.original else ""
    if shown.kind == "begin":
        return f"Task         {line(_task(shown.result))}"
    if shown.kind == "think":
        return _thought(shown, step) + mark
    if shown.kind == "act":
        message = shown.result[0]
        sign = "" if message.ok else "✗ "
        return f"Action       {line(call(step.calls[0]))}\nObservation  {sign}{line(message.text)}{mark}"
    if shown.kind == "ask":
        return f"Question     {line(step.question)}\nReply        {line(shown.result)}{mark}"
    if shown.kind == "conclude":
        more = f"\nInterrupt    {line(shown.result.text)}" if shown.result else ""
        return f"Answer       {line(step.answer)}{more}"
    return f"{shown.kind:<12} {len(shown.result) if shown.kind == 'join' else ''}"


def _thought(shown: Entry, step: Any) -> str:
    reply = shown.result
    heard = "".join(f"Interrupt    {line(message.text)}\n" for message in reply.heard)
    role = "" if step.role == "thought" else f" ({step.role})"
    said = reply.text or reply.reasoning or reply.raw
    wants = f"→ {', '.join(call(asked) for asked in reply.calls)}" if reply.calls else ""
    cut = f"\n             cut: an invented observation of {len(reply.cut)} characters" if reply.cut else ""
    return f"{heard}Thought{role:<5} {line(' '.join(part for part in (said, wants) if part))}{cut}"


def _task(spec: dict[str, Any]) -> str:
    return " / ".join(message["text"] for message in spec["task"] if message["role"] == "user")


def pending(waiting: Pending, run: Run) -> str:
    """Say in a few words what a pending step would do."""
    step: Any = waiting.step
    if step.kind == "act":
        return f"{call(step.calls[0])} [{run.desk.effect(waiting)}]"
    return f"{step.kind} ({step.role})"


def run(shown: Run) -> str:
    """Write a run: how it stands, its trace, and what comes next."""
    desk = shown.desk
    lines = [f"Run {shown.status}: {len(shown.entries) - 1} steps, {desk.steps} model calls, {desk.tool_calls} tool calls"]
    for number, recorded in enumerate(shown.entries):
        first, *more = entry(recorded).split("\n")
        lines += [f"{number:>3} {first}", *(f"    {text}" for text in more)]
    if shown.missing:
        lines.append(f"read-only: without {', '.join(shown.missing)}")
    elif shown.status != "done":
        why = [verdict.why for _, verdict in shown.waiting] or ([shown.hold] if shown.hold else [])
        lines += [f"  ! {text}" for text in why]
        lines += [f"  > next: {pending(step, shown)}" for step in shown.pending]
    return "\n".join(lines)


def result(shown: Result) -> str:
    """Write a result: the answer or the reason, and the counts."""
    parts = [f"Result({line(shown.answer)!r}"]
    if shown.reason:
        parts.append(f"reason={shown.reason!r}")
    if shown.error:
        parts.append(f"error={type(shown.error).__name__}({line(shown.error)!r})")
    parts.append(f"steps={shown.step_count}, tool_calls={shown.tool_calls_count}, tokens={shown.usage.total})")
    return ", ".join(parts)
