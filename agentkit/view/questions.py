"""What a view asks about a run; nothing here changes it. Each function answers the command of its name."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

from agentkit.core.text import one_line
from agentkit.core.usage import Usage
from agentkit.errors import UsageError
from agentkit.export import parts
from agentkit.journal.entries import Entry
from agentkit.view import cards
from agentkit.view.feed import PAGE, Feed

Data = dict[str, Any]

_SOURCE_LINES = 5_000


def page(feed: Feed, *, before: int, count: int) -> Callable[[], Data]:
    """Give the cards before a place of the trace, as it is when they are sent."""
    return lambda: feed.page_of(before, count)


def text(feed: Feed, *, entry: int, field: str) -> Data:
    """Give one text of an entry, uncut."""
    return {"text": cards.whole(entry_of(feed, entry), field)}


def original(feed: Feed, *, entry: int) -> Data:
    """Give the card of the entry that an edit replaced."""
    edited = entry_of(feed, entry)
    if not edited.original:
        raise UsageError(f"entry {entry} was not edited")
    return cards.card(entry_of(feed, edited.original), 0)


def request(feed: Feed, *, entry: int) -> Data:
    """Give a model call as it was sent, beside the one before it."""
    thought = entry_of(feed, entry)
    body = feed.run.request(thought)
    before = _before(feed, thought)
    previous = feed.run.request(before) if before else None
    same = _same(previous, body)
    used = thought.usage.input if thought.usage else 0
    segments = _segments(body, same, whole=previous is not None and previous.get("tools") == body.get("tools"))
    length = sum(segment["length"] for segment in segments) or 1
    total = used or round(length / 4)
    for segment in segments:
        segment["tokens"] = round(total * segment.pop("length") / length)
    told = thought.usage.cached if thought.usage else 0
    prefix = sum(segment["tokens"] for segment in segments if segment["cached"])
    return {
        "entry": thought.id,
        "previous": before.id if before else 0,
        "same": same,
        "body": body,
        "previous_body": previous,
        "segments": segments,
        "tokens": total,
        "estimated": not used,
        "cached": {"tokens": told, "says": "provider"} if told else {"tokens": prefix, "says": "prefix"},
        "usage": cards.usage(thought.usage),
    }


def source(feed: Feed, *, file: str) -> Data:
    """Give the source of a file that the engine runs in; without a name, the engine's own as it was recorded."""
    if not file:
        spec = feed.run.task
        return {"file": "", "first": 1, "text": spec.get("source", "")}
    if file not in {place.file for place in feed.run.where()}:
        raise UsageError("only the source of what the engine runs now is shown here")
    found = linecache.getlines(file)[:_SOURCE_LINES]
    if not found:
        raise UsageError(f"the source of {file} is not there any more")
    return {"file": file, "first": 1, "text": "".join(found)}


def branches(feed: Feed) -> list[Data]:
    """List the lines of the tree, the present one first."""
    found = []
    present, *others = feed.run.branches()
    for number, line in enumerate([present, *others]):
        found.append(
            {
                "branch": number,
                "steps": len(line) - 1,
                "parts": _parting(present, line),
                "last": one_line(parts.of(line[-1]).line),
                "entry": line[-1].id,
            }
        )
    return found


def compare(feed: Feed, *, branch: int) -> Data:
    """Give the present line beside another one, from the first difference on."""
    known = feed.run.branches()
    if not 0 < branch < len(known):
        raise UsageError(
            f"there is no branch {branch} to compare with; there are {len(known)}, and 0 is the present one"
        )
    here, there = known[0], known[branch]
    first = _parting(here, there)
    return {
        "branch": branch,
        "first": first,
        "here": [cards.card(entry, n) for n, entry in enumerate(here[first : first + PAGE], first)],
        "there": [cards.card(entry, n) for n, entry in enumerate(there[first : first + PAGE], first)],
        "totals": {"here": _total(here), "there": _total(there)},
    }


def entry_of(feed: Feed, number: int) -> Entry:
    """Give an entry by its number in the tree. Raises `UsageError` where there is none."""
    try:
        return feed.run.trace.tree.entries[number]
    except KeyError:
        raise UsageError(f"there is no entry {number} in this run") from None


def _before(feed: Feed, thought: Entry) -> Entry | None:
    """Find the model call before this one on its own line, in the same frame of the engine if there is one."""
    entries, at, other = feed.run.trace.tree.entries, thought.parent, None
    while at:
        entry = entries[at]
        if entry.kind == "think" and entry.dialect:
            if entry.path == thought.path:
                return entry
            other = other or entry
        at = entry.parent
    return other


def _same(previous: Data | None, body: Data) -> int:
    """Count the messages at the beginning that both requests have."""
    if previous is None:
        return 0
    count = 0
    for old, new in zip(previous.get("messages", ()), body.get("messages", ()), strict=False):
        if old != new:
            break
        count += 1
    return count


def _segments(body: Data, same: int, *, whole: bool) -> list[Data]:
    """Cut a request into pieces, each with its length; `whole` says that all before the messages is as it was."""
    found: list[Data] = []

    def add(label: str, kind: str, value: Any, *, cached: bool) -> None:
        length = len(value) if isinstance(value, str) else len(str(value))
        found.append({"label": label, "kind": kind, "length": length, "cached": cached})

    if body.get("system"):
        add("system", "system", body["system"], cached=whole)
    if body.get("tools"):
        add("tools", "tools", body["tools"], cached=whole)
    has_task = False
    for number, message in enumerate(body.get("messages", ())):
        role, content = message.get("role", ""), message.get("content") or ""
        kind = "system" if role == "system" else "step"
        if role == "user" and str(content).startswith("[USER INTERRUPT]"):
            kind = "injected"
        elif role == "user" and not has_task:
            kind, has_task = "task", True
        add(kind if kind != "step" else f"{number}: {role}", kind, message, cached=whole and number < same)
    return found


def _parting(present: list[Entry], line: list[Entry]) -> int:
    for number, (here, there) in enumerate(zip(present, line, strict=False)):
        if here is not there:
            return number
    return min(len(present), len(line))


def _total(line: list[Entry]) -> Data | None:
    return cards.usage(sum((entry.usage for entry in line if entry.usage), Usage()))


QUESTIONS = {function.__name__: function for function in (page, text, original, request, source, branches, compare)}
