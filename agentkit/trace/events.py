"""Events: what happened, typed, in order, with a cursor.

A durable event belongs to a row of the journal, and its `cursor` is the number of the row; reading from a cursor yields
exactly the later events. An event with cursor 0 is sent only while it happens (a chunk of a reply, a pause).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from agentkit.core.messages import Message, Reply, call_to_json
from agentkit.core.secrets import mask_json
from agentkit.journal.entries import Entry, Note, Row
from agentkit.tools.serialize import to_json

KINDS = {
    "started": "task, engine, model",
    "thought": "path, index, role, tags, text, reasoning, calls, answer, usage, model, problems, author",
    "tool_call": "path, index, role, tags, name, id, arguments (with which the tool runs), performed",
    "tool_result": "path, index, role, tags, name, id, arguments, ok, text, seconds, may_have_run, performed",
    "asked": "path, index, role, tags, question, text",
    "concluding": "path, index, role, tags, answer, more (an injected message to be answered first)",
    "edited": "entry, of, author, reason",
    "injected": "id, text, to, anchor (the entry at which it was sent), by (the hook that added it, if one did)",
    "recalled": "id",
    "signalled": "name, value",
    "moved": 'keep, then, why, text (if why is "diverged": how the engine differs from the recording)',
    "changed": "model, dialect, temperature, agent, needs (those that were changed), author",
    "error": "type, text, retry, lost (what calls without a result have used so far, by path, if anything)",
    "abandoned": "path, index, role, tags, name, id, model, may_have_run, why, lost (see error)",
    "warning": "text",
    "budget_warning": "limit, max, spent, text, path",
    "budget_exceeded": "limit, max, spent, text, path",
    "budget_extended": "limit, to",
    "guarded": "approve, budget, repeat, remembered, breakpoints, permissions, hooks, guardrails (those set), author, "
    "reason",
    "tripped": "guardrail, checks (what it checks), why, action (what follows), path, index, role, tags",
    "completed": "answer, interrupted",
    "thinking": "path, index, role, tags",
    "model_chunk": "path, index, text, reasoning, again (why the chunks before it are no longer valid)",
    "diverged": "text",
    "waiting": "why, path, index, role, tags, and name, id, arguments (of a call) or question",
    "playing": "",
    "paused": "why",
    "resume_done": "",
}
"""Every kind of event, and the keys of its data; the last seven are not stored.

Events of performed steps and of tool calls also have a `step_name`: "model_call_2", "tool_call_2_0" or
"persist_episode_3".
`performed` is false if the tool was not called, because a limit, a person or the recording answered in its place.
`role` and `tags` are what the engine says about the step ("plan", {"step": 3}): they show what belongs to a plan, an
episode or a node of a tree, from "thinking" and "tool_call" at the beginning to "thought" and "tool_result".
"""


@dataclass(slots=True)
class Event:
    """Something that happened in a run; progress.py adds kinds for the progress of an engine.

    `at` is when it was recorded, in seconds since 1970; 0.0 for an event that is not stored.
    """

    kind: str
    run: str
    cursor: int = 0
    data: dict[str, Any] = field(default_factory=dict)
    at: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the event as JSON data."""
        return {"kind": self.kind, "run": self.run, "cursor": self.cursor, "at": self.at, **self.data}


_NOTES = {
    "call": "tool_call",
    "inject": "injected",
    "recall": "recalled",
    "signal": "signalled",
    "head": "moved",
    "changed": "changed",
    "completed": "completed",
    "error": "error",
    "abandoned": "abandoned",
    "warning": "warning",
    "lost": "warning",
    "budget_warning": "budget_warning",
    "budget_exceeded": "budget_exceeded",
    "budget": "budget_extended",
    "guards": "guarded",
    "tripped": "tripped",
}


class RowEvents:
    """A reader of rows, in order, that yields their events; each call of a tool has an event before that of its result.

    A call whose beginning has no row of its own (it is pure, or was answered instead of performed) gets that event when
    its result is read.
    """

    def __init__(self) -> None:
        self._begun: set[tuple[str, str, int]] = set()

    def begin(self, run: str, path: str, index: int) -> None:
        """Note that the event of a call's beginning was sent already."""
        self._begun.add((run, path, index))

    def skip(self, row: Row) -> None:
        """Follow a row without making its events."""
        if isinstance(row, Entry):
            if row.kind == "act" and not row.original:
                self._begun.discard((row.run, row.path, row.index))
        elif row.kind == "call":
            self.begin(row.run, row.data["path"], row.data["index"])
        elif row.kind == "abandoned":
            self._begun.discard((row.run, row.data["path"], row.data["index"]))

    def take(self, row: Row) -> Iterator[Event]:
        """Yield the events of a row."""
        if isinstance(row, Note):
            yield from self._of_note(row)
            return
        if row.original:
            data = {"entry": row.id, "of": row.original, "author": row.author, "reason": row.reason}
            yield Event("edited", row.run, row.id, mask_json(data), row.ended)
            return
        performed: dict[str, Any] = {}
        if row.kind == "act":
            place_in_run = (row.run, row.path, row.index)
            has_begun = place_in_run in self._begun
            self._begun.discard(place_in_run)
            performed = {"performed": has_begun or row.author in _PERFORMERS}
            if not has_begun:
                data = {**place(row), **call_data(row.performed or row.step), **performed}
                yield Event("tool_call", row.run, 0, mask_json(data))
        kind, data = _OF_ENTRY.get(row.kind, _nothing)(row)
        if kind:
            yield Event(kind, row.run, row.id, mask_json({**data, **performed}), row.ended)
        if row.kind == "begin" and (counts := row.result.get("session", {}).get("compacted")):
            yield Event("compacted", row.run, 0, {name: counts.get(name, 0) for name in ("original", "kept")})

    def _of_note(self, row: Note) -> Iterator[Event]:
        data = dict(row.data)
        if row.kind == "call":
            self.begin(row.run, data["path"], data["index"])
            data = {"role": "action", "tags": {}, "arguments": {}, **data, "performed": True}
        elif row.kind == "abandoned":
            self._begun.discard((row.run, data["path"], data["index"]))
        if kind := _NOTES.get(row.kind):
            yield Event(kind, row.run, row.id, mask_json(data), row.at)


_PERFORMERS = ("tool", "host")
"""The authors of an observation whose call was performed."""


def call_data(step: Any) -> dict[str, Any]:
    """Return the call of an action as the data of an event; that of an entry is the call that was performed."""
    return {"name": step.call.name, "id": step.call.id, "arguments": step.call.arguments}


def waiting_data(pending: Any, why: str) -> dict[str, Any]:
    """Return the data of the event that a pending step waits for a person."""
    step = pending.step
    what = call_data(step) if step.kind == "act" else {"question": step.question} if step.kind == "ask" else {}
    return {"why": why, **place(pending), **what}


def _nothing(entry: Entry) -> tuple[str, dict[str, Any]]:
    return "", {}


def _started(entry: Entry) -> tuple[str, dict[str, Any]]:
    spec = entry.result
    return "started", {"task": spec["task"], "engine": spec["engine"], "model": spec["model"]}


def _thought(entry: Entry) -> tuple[str, dict[str, Any]]:
    reply: Reply = entry.result
    usage = entry.usage
    return "thought", {
        **place(entry),
        "text": reply.text,
        "reasoning": reply.reasoning,
        "calls": [call_to_json(call) for call in reply.calls],
        "answer": reply.answer,
        "problems": list(reply.problems),
        "usage": {"input": usage.input, "output": usage.output, "cost": usage.cost, "calls": usage.calls}
        if usage
        else None,
        "model": entry.model,
        "author": entry.author,
    }


def _result(entry: Entry) -> tuple[str, dict[str, Any]]:
    message: Message = entry.result
    return "tool_result", {
        **place(entry),
        **call_data(entry.performed or entry.step),
        "ok": message.ok,
        "text": message.text,
        "seconds": round(entry.ended - entry.started, 6),
        "may_have_run": message.may_have_run,
    }


def _asked(entry: Entry) -> tuple[str, dict[str, Any]]:
    step: Any = entry.step
    return "asked", {**place(entry), "question": step.question, "text": entry.result}


def _concluding(entry: Entry) -> tuple[str, dict[str, Any]]:
    step: Any = entry.step
    return "concluding", {**place(entry), "answer": step.answer, "more": entry.result.text if entry.result else None}


def place(located: Any) -> dict[str, Any]:
    """Return the position of an entry or a pending step, and its role and tags."""
    step = located.step
    tags = to_json(step.tags) if step and step.tags else {}  # an engine may put any value there
    labels = {"role": step.role if step else "", "tags": tags}
    name = {"step_name": located.step_name} if isinstance(located, Entry) else {}
    return {"path": located.path, "index": located.index, **name, **labels}


_OF_ENTRY = {"begin": _started, "think": _thought, "act": _result, "ask": _asked, "conclude": _concluding}
