"""The parts of an entry in reading order; each format draws them in its own way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from agentkit.core.messages import Call, Message
from agentkit.core.secrets import mask_json
from agentkit.core.steps import replace
from agentkit.core.text import call_text
from agentkit.export import text
from agentkit.export.protocols import RunLike
from agentkit.gates.effects import still_performed
from agentkit.journal.entries import Entry

HEAD, TAIL = 40, 60
"""How many entries are shown at the beginning and at the end of a trace that is too long to show all of it."""

TOOL_CALL = "Tool call"
"""The label of a call that a thought contains."""


@dataclass(slots=True)
class Limits:
    """How much is shown: characters of one text (0: all), and of one image or page (None: any number)."""

    text: int
    item: int | None


NO_LIMITS = Limits(0, None)
FRAGMENT = Limits(4_000, 1_000_000)
LIST_ITEM = Limits(1_000, 1_000_000)
"""For a file, for one thing in a notebook, and for one of many things in a notebook."""


@dataclass(slots=True)
class Part:
    """One part of an entry: its label ("" for what the entry is about), its text, and how the text is set.

    What a model or a person wrote for people to read is Markdown; a task is prose, shown as it was typed.
    """

    label: str
    text: str
    form: Literal["prose", "code", "markdown"] = "prose"
    folded: bool = False
    message: Message | None = None


@dataclass(slots=True)
class EntryParts:
    """An entry to be shown: its kind in words, a summary in one line, who changed it, and its parts."""

    kind: str
    line: str
    mark: str = ""
    ok: bool = True
    parts: list[Part] = field(default_factory=list)


def parts_of(entry: Entry) -> EntryParts:
    """Return the parts of an entry."""
    make = _KINDS.get(entry.kind)
    result = make(entry) if make else EntryParts(entry.kind.capitalize(), "")
    result.mark = _mark(entry)
    return result


_ENTERED = {"human": "hand", "gate": "a gate", "hook": "a hook"}
"""Who enters a result in the place of the model or the tool, by the author of the entry."""


def _mark(entry: Entry) -> str:
    reason = f": {entry.reason}" if entry.reason else ""
    if entry.original:
        return f"edited by {entry.author}{reason}"
    if entry.repeats:
        return entry.reason
    if entry.author in _ENTERED and entry.kind in ("think", "act"):
        return f"entered by {_ENTERED[entry.author]}{reason}"
    return entry.reason


def _task(entry: Entry) -> EntryParts:
    messages = entry.result["task"]
    parts = [Part("" if m["role"] == "user" else m["role"].capitalize(), m["text"]) for m in messages]
    if history := entry.result.get("history"):
        earlier = "\n\n".join(f"{message['role']}: {message['text']}" for message in history)
        parts.insert(0, Part(f"Earlier messages ({len(history)})", earlier, folded=True))
    return EntryParts("Task", " / ".join(m["text"] for m in messages if m["role"] == "user"), parts=parts)


def _thought(entry: Entry) -> EntryParts:
    step: Any = entry.step
    reply = entry.result
    parts = [Part("Interrupt", message.text, "markdown") for message in reply.heard]
    if reply.reasoning:
        parts.append(Part("Reasoning", reply.reasoning, "markdown", folded=True))
    if reply.text or not (reply.calls or reply.reasoning):
        parts.append(Part("", reply.text or reply.raw, "markdown"))
    parts += [Part(TOOL_CALL, call_line(call), "code") for call in reply.calls]
    if reply.cut:
        parts.append(Part("Discarded, because the model made up an observation", reply.cut, "code", folded=True))
    parts += [Part("Problem", problem) for problem in reply.problems]
    calls = f" → {', '.join(map(call_line, reply.calls))}" if reply.calls else ""
    kind = "Thought" if step.role == "thought" else f"Thought ({step.role})"
    return EntryParts(kind, f"{reply.text or reply.reasoning or reply.raw}{calls}".strip(), parts=parts)


def _action(entry: Entry) -> EntryParts:
    step: Any = entry.step
    message = entry.result
    call = call_line(step.call)
    label = "Observation" if message.ok else "Error"
    parts = [Part("", call, "code"), Part(label, message.text, "code", message=message)]
    return EntryParts("Action", f"{call} → {'' if message.ok else '✗ '}{message.text}", ok=message.ok, parts=parts)


def _question(entry: Entry) -> EntryParts:
    step: Any = entry.step
    return EntryParts(
        "Question", step.question, parts=[Part("", step.question, "markdown"), Part("Reply", str(entry.result))]
    )


def _answer(entry: Entry) -> EntryParts:
    step: Any = entry.step
    parts = [Part("", step.answer, "markdown")]
    if entry.result:
        parts.append(Part("Interrupt", entry.result.text, "markdown"))
    return EntryParts("Answer", step.answer, parts=parts)


def _end(entry: Entry) -> EntryParts:
    return EntryParts("Ended", entry.result.answer, parts=[Part("", entry.result.answer, "markdown")])


_KINDS = {"begin": _task, "think": _thought, "act": _action, "ask": _question, "conclude": _answer, "end": _end}


def call_line(call: Call) -> str:
    """Return a call as one would type it; secrets in its arguments are masked, even those that only a name reveals."""
    return call_text(replace(call, arguments=mask_json(call.arguments)))


def labels_shown_next(entries: list[Entry], number: int) -> tuple[str, ...]:
    """Return the labels of those parts of an entry that the next entry shows as well: the calls, if they were made."""
    following = entries[number + 1 : number + 2]
    return (TOOL_CALL,) if following and following[0].kind == "act" else ()


def outlook(run: RunLike) -> Iterator[tuple[str, str]]:
    """Yield why a run does not continue, and its next steps, each as a label and a text."""
    if run.read_only:
        yield "Read-only", run.read_only
        if run.trace.difference:
            yield "Differs", run.trace.difference
    elif run.status != "done":
        for _, verdict in run.waiting:
            yield "Waiting", verdict.why
        if run.hold and not run.waiting:
            yield "Paused", run.hold
        if not run.waiting and (sentence := still_performed(run.state)):
            yield "Note", sentence
        for pending in run.pending:
            yield "Next", text.pending_text(pending, run)


def abridged(entries: list[Entry]) -> Iterator[tuple[int, Entry] | tuple[int, int]]:
    """Yield the entries with their numbers; for the middle of a long trace, only its first and its last number."""
    if len(entries) <= HEAD + TAIL:
        yield from enumerate(entries)
        return
    yield from enumerate(entries[:HEAD])
    yield HEAD, len(entries) - TAIL - 1
    yield from enumerate(entries[-TAIL:], len(entries) - TAIL)
