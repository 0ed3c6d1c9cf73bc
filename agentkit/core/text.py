"""Entries, calls and texts in lines of plain text: no ids, no times, no addresses, so that two runs read the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentkit.journal.entries import Entry

WIDTH = 200
"""Characters of one text in one line; what is longer is cut with a note of how much."""


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


Hide = Callable[[str], str]
"""Takes out of a text what nobody is to see."""


def one_line(text: Any, width: int = WIDTH, hide: Hide = str) -> str:
    """Put a text in one line, cut it with a note where it is too long, and show no character that a terminal would obey.

    What `hide` takes out is taken out before anything is cut, so that no half of a secret is left.
    """
    whole = str(text)
    head = " ".join(hide(whole[: 8 * width])[: 4 * width].split())
    shown = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", head[:width])
    left = len(whole) - width if len(whole) > 4 * width else len(head) - width
    return shown if left <= 0 else f"{shown}… (+{left} characters)"


def counted(number: int, noun: str) -> str:
    """Give a number and what it counts: "1 step", "2 steps"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def error_line(raised: BaseException) -> str:
    """Write an error as `Type: text`, also where its own text raises."""
    return f"{type(raised).__name__}: {error_text(raised)}"


def error_text(raised: BaseException) -> str:
    """Give the text of an error, also where that raises."""
    try:
        return str(raised)
    except Exception as other:
        return f"(its text cannot be had: {type(other).__name__})"


def call_text(asked: Any) -> str:
    """Write a call as one would type it."""
    return f"{asked.name}({', '.join(f'{k}={v!r}' for k, v in asked.arguments.items())})"


def entry_text(shown: Entry, hide: Hide = str) -> str:
    """Write an entry in one line, and one more for each call and observation."""
    step: Any = shown.step

    def cut(text: Any) -> str:
        return one_line(text, hide=hide)

    mark = (
        f"  [edited by {hide(f'{shown.author}: {shown.reason}' if shown.reason else shown.author)}]"
        if shown.original
        else ""
    )
    if shown.kind == "begin":
        return f"Task         {cut(_task(shown.result))}"
    if shown.kind == "think":
        return _thought(shown, step, cut) + mark
    if shown.kind == "act":
        message = shown.result[0]
        sign = "" if message.ok else "✗ "
        return f"Action       {cut(call_text(step.calls[0]))}\nObservation  {sign}{cut(message.text)}{mark}"
    if shown.kind == "ask":
        return f"Question     {cut(step.question)}\nReply        {cut(shown.result)}{mark}"
    if shown.kind == "conclude":
        label = "Sent back   " if shown.author == "gate" else "Interrupt   "
        more = f"\n{label} {cut(shown.result.text)}" if shown.result else ""
        return f"Answer       {cut(step.answer)}{more}"
    return f"{shown.kind:<12} {len(shown.result) if shown.kind == 'join' else ''}"


def _thought(shown: Entry, step: Any, cut_short: Hide) -> str:
    reply = shown.result
    heard = "".join(f"Interrupt    {cut_short(message.text)}\n" for message in reply.heard)
    role = "" if step.role == "thought" else f" ({step.role})"
    said = reply.text or reply.reasoning or reply.raw
    wants = f"→ {', '.join(call_text(asked) for asked in reply.calls)}" if reply.calls else ""
    cut = f"\n             cut: an invented observation of {len(reply.cut)} characters" if reply.cut else ""
    return f"{heard}Thought{role:<5} {cut_short(' '.join(part for part in (said, wants) if part))}{cut}"


def _task(spec: dict[str, Any]) -> str:
    return " / ".join(message["text"] for message in spec["task"] if message["role"] == "user")
