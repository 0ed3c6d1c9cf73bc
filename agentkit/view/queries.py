"""The queries of a view; they change nothing. Each function answers the command of the same name."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from agentkit.audit import verify
from agentkit.core.messages import Call, Reply, tokens_to_json
from agentkit.core.secrets import mask
from agentkit.core.steps import Act
from agentkit.core.text import one_line
from agentkit.core.usage import Usage
from agentkit.engines import registry
from agentkit.errors import ArgumentsError, UsageError
from agentkit.export import parts
from agentkit.export.parts import call_line
from agentkit.journal.entries import Entry
from agentkit.run import permits
from agentkit.stepper.stepper import Pending
from agentkit.telemetry import flame
from agentkit.tools import observations
from agentkit.view import cards, values
from agentkit.view.feed import PAGE, Feed
from agentkit.view.head import decision_id
from agentkit.view.words import branch_name

Data = dict[str, Any]

_MAX_SOURCE_LINES = 5_000
_MAX_TOKENS = 1_000
_MAX_PROBLEMS = 20
MAX_AUDIT = 200


def page(feed: Feed, *, before: int, count: int) -> Callable[[], Data]:
    """Return the cards before a position of the trace, as it is when they are sent."""
    return lambda: feed.cards_before(before, count)


def text(feed: Feed, *, entry: int, field: str) -> Data:
    """Return one text of an entry in full."""
    return {"text": cards.full_text(find_entry(feed, entry), field)}


def original(feed: Feed, *, entry: int) -> Data:
    """Return the card of the entry that an edit replaced."""
    edited = find_entry(feed, entry)
    if not edited.original:
        raise UsageError(f"entry {entry} has not been edited")
    return cards.card(find_entry(feed, edited.original), 0)


def request(feed: Feed, *, entry: int) -> Data:
    """Return the request of a model call as it was sent, and the one before it."""
    thought = find_entry(feed, entry)
    body = feed.run.request(thought)
    before = _previous_model_call(feed, thought)
    previous_body = feed.run.request(before) if before else None
    same = _common_messages(previous_body, body)
    has_same_tools = previous_body is not None and previous_body.get("tools") == body.get("tools")
    segments = _segments(body, same, has_same_tools=has_same_tools)
    length = sum(segment["length"] for segment in segments) or 1
    counted_tokens = thought.usage.input if thought.usage else 0
    tokens = counted_tokens or round(length / 4)
    for segment in segments:
        segment["tokens"] = round(tokens * segment.pop("length") / length)
    cached = thought.usage.cached if thought.usage else 0
    prefix = sum(segment["tokens"] for segment in segments if segment["cached"])
    return {
        "entry": thought.id,
        "previous": before.id if before else 0,
        "same": same,
        "body": body,
        "previous_body": previous_body,
        "segments": segments,
        "tokens": tokens,
        "estimated": not counted_tokens,
        "cached": {"tokens": cached, "says": "provider"} if cached else {"tokens": prefix, "says": "prefix"},
        "usage": cards.usage_data(thought.usage),
    }


def tokens(feed: Feed, *, entry: int) -> Data:
    """Return the first tokens of a reply with their probabilities, and the number of all."""
    reply = find_entry(feed, entry).result
    if not isinstance(reply, Reply) or not reply.tokens:
        raise UsageError("it is not known how likely the tokens of this entry were")
    return {"tokens": tokens_to_json(reply.tokens[:_MAX_TOKENS]), "total": len(reply.tokens)}


def read(feed: Feed, *, step: Data, text: str) -> Data:
    """Return what the run would read in a reply that a person writes in the place of the model, and what is wrong."""
    reply = feed.run.read_reply(text, find_pending(feed, step))
    return {
        "calls": [{"text": call_line(call), "problem": _call_problem(feed, call)} for call in reply.calls],
        "answer": reply.answer,
        "problems": list(reply.problems),
        "readable": reply.readable,
    }


def _call_problem(feed: Feed, call: Call) -> str:
    """Return what the model would be told about a call that cannot be made, or ""."""
    tools = feed.run.performer.tools
    tool = tools.find(call.name)
    if tool is None:
        return observations.not_found(call, [tool.name for tool in tools.tools]).text
    try:
        tool.bind(call)
    except ArgumentsError as error:
        return observations.invalid_arguments(call, error).text
    return ""


def source(feed: Feed, *, file: str) -> Data:
    """Return the source of a file that the engine is in; without a file, the source of the engine as it was recorded,
    with the line numbers of its file.
    """
    if not file:
        text = feed.run.task.get("source", "")
        return {"file": "", "first": registry.first_line(feed.run.agent.engine, text), "text": text}
    if file not in {frame.file for frame in feed.run.where()} | feed.past.files:
        raise UsageError("only the source of the functions that the engine is in can be shown")
    lines = linecache.getlines(file)[:_MAX_SOURCE_LINES]
    if not lines:
        raise UsageError(f"the source of {file} is no longer available")
    return {"file": file, "first": 1, "text": "".join(lines)}


def at(feed: Feed, *, entry: int) -> Data:
    """Return where the engine was at the step of an entry, with its local variables then."""
    return feed.past.at(find_entry(feed, entry))


def value(
    feed: Feed,
    *,
    frame: int,
    function: str,
    name: str,
    path: list[int],
    first: int = 0,
    order: list[int] | None = None,
    at: int = 0,
) -> Data:
    """Return what is inside a local variable of the engine, see `agentkit.view.values.opened`; `frame` is the position
    of its frame, whose function is named so that no other one is read once the engine has moved on. `at` is the entry
    at whose step the engine is looked at, or 0 for now.
    """
    with feed.past.frames(find_entry(feed, at)) if at else nullcontext(feed.run.where()) as frames:
        found = frames[frame] if 0 <= frame < len(frames) else None
        if found is None or found.function != function or name not in found.locals:
            raise UsageError(f"the engine has no variable {name!r} there any more")
        return values.opened(
            {name: found.locals[name]}, [0, *path], first=first, order=(order[0], bool(order[1])) if order else None
        )


def preview(feed: Feed, *, which: str) -> Data:
    """Return what a call that waits would do, as its tool says."""
    for pending, verdict in feed.run.waiting:
        if decision_id(pending, verdict) == which and type(pending.step) is Act:
            return {"text": permits.preview(feed.run.performer.tools, pending.step.call)[: cards.MAX_TEXT]}
    raise UsageError("this step is no longer waiting for a decision")


def audit(feed: Feed) -> Data:
    """Return the lines of the audit log about the run, and what is wrong with the file."""
    log = feed.run.state.audit
    if log is None:
        raise UsageError("this run has no audit log; Agent(audit=…) names one")
    report = verify(log.path)
    return {
        "lines": [_audit_line(line) for line in log.lines(feed.run.id, MAX_AUDIT)],
        "total": report.lines,
        "problems": [str(problem) for problem in report.problems[:_MAX_PROBLEMS]],
    }


def _audit_line(line: Data) -> Data:
    call = Call(str(line["tool"]), line["arguments"]) if isinstance(line.get("arguments"), dict) else None
    text = call_line(call) if call is not None else str(line.get("result", line.get("permissions", "")))
    why = line.get("decision") or line.get("why") or line.get("reason") or ""
    return {"number": line["number"], "at": str(line.get("at")), "kind": str(line.get("kind"))} | {
        "text": mask(one_line(text)),
        "why": mask(str(why)),
    }


def profile(feed: Feed) -> Data:
    """Return where the time, the tokens and the money of the run went, and the bars of its flame."""
    found = feed.run.profile()
    return {**found.data(by=("phase", "model", "tool")), "flame": flame.data(found.flame)}


def branches(feed: Feed) -> list[Data]:
    """Return all branches of the tree, the current one first."""
    result = []
    current, *others = feed.run.branches()
    for number, line in enumerate([current, *others]):
        parts_at = _first_difference(current, line)
        result.append(
            {
                "branch": number,
                "name": _branch_name(feed, current, line, parts_at) if number else "",
                "steps": len(line) - 1,
                "parts": parts_at,
                "last": one_line(parts.parts_of(line[-1]).line),
                "entry": line[-1].id,
            }
        )
    return result


def compare(feed: Feed, *, branch: int) -> Data:
    """Return the current branch and another one, from the first difference on."""
    lines = feed.run.branches()
    if not 0 < branch < len(lines):
        raise UsageError(
            f"there is no branch {branch} to compare with; the number of branches is {len(lines)}, and 0 is the "
            "current one"
        )
    here, there = lines[0], lines[branch]
    first = _first_difference(here, there)
    return {
        "branch": branch,
        "name": _branch_name(feed, here, there, first),
        "first": first,
        "here": [cards.card(entry, n) for n, entry in enumerate(here[first : first + PAGE], first)],
        "there": [cards.card(entry, n) for n, entry in enumerate(there[first : first + PAGE], first)],
        "totals": {"here": _total(here), "there": _total(there)},
    }


def _branch_name(feed: Feed, current: list[Entry], line: list[Entry], number: int) -> str:
    """Return what makes a branch different from the current one, from its first difference on."""
    if number >= len(line):
        return f"only up to step {number - 1}"
    here = current[number] if number < len(current) else None
    return branch_name(feed.run.trace.tree, line[number], here, number, feed.siblings.of(line[number]))


def find_entry(feed: Feed, number: int) -> Entry:
    """Return the entry with this id in the tree. Raises `UsageError` if there is none."""
    try:
        return feed.run.trace.tree.entries[number]
    except KeyError:
        raise UsageError(f"there is no entry {number} in this run") from None


def find_pending(feed: Feed, step: Data | None) -> Pending:
    """Return the pending step at a position, or the first one if no position is given."""
    for pending in feed.run.pending:
        if step is None or (pending.path, pending.index) == (step["path"], step["index"]):
            return pending
    raise UsageError("this step is no longer pending; look at the run again, then repeat the edit")


def _previous_model_call(feed: Feed, thought: Entry) -> Entry | None:
    """Return the model call before this one on its own line, from the same frame of the engine if there is one."""
    entries, parent, other = feed.run.trace.tree.entries, thought.parent, None
    while parent:
        entry = entries[parent]
        if entry.kind == "think" and entry.dialect:
            if entry.path == thought.path:
                return entry
            other = other or entry
        parent = entry.parent
    return other


def _common_messages(previous: Data | None, body: Data) -> int:
    """Return how many messages at the beginning are the same in both requests."""
    if previous is None:
        return 0
    count = 0
    for old, new in zip(previous.get("messages", ()), body.get("messages", ()), strict=False):
        if old != new:
            break
        count += 1
    return count


def _segments(body: Data, same: int, *, has_same_tools: bool) -> list[Data]:
    """Split a request into pieces with their lengths; `same` is the number of messages that were in the previous
    request.
    """
    segments: list[Data] = []

    def add(label: str, kind: str, value: Any, *, cached: bool) -> None:
        length = len(value) if isinstance(value, str) else len(str(value))
        segments.append({"label": label, "kind": kind, "length": length, "cached": cached})

    if body.get("system"):
        add("system", "system", body["system"], cached=has_same_tools)
    if body.get("tools"):
        add("tools", "tools", body["tools"], cached=has_same_tools)
    has_task = False
    for number, message in enumerate(body.get("messages", ())):
        role, content = message.get("role", ""), message.get("content") or ""
        kind = "system" if role == "system" else "step"
        if role == "user" and str(content).startswith("[USER INTERRUPT]"):
            kind = "injected"
        elif role == "user" and not has_task:
            kind, has_task = "task", True
        label = kind if kind != "step" else f"{number}: {role}"
        add(label, kind, message, cached=has_same_tools and number < same)
    return segments


def _first_difference(current: list[Entry], line: list[Entry]) -> int:
    for number, (here, there) in enumerate(zip(current, line, strict=False)):
        if here is not there:
            return number
    return min(len(current), len(line))


def _total(line: list[Entry]) -> Data | None:
    return cards.usage_data(sum((entry.usage for entry in line if entry.usage), Usage()))


QUERIES = {
    function.__name__: function
    for function in (
        *(page, text, original, request, tokens, read, source, at, value),
        *(preview, audit, profile, branches, compare),
    )
}
