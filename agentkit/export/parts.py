"""What there is to show of an entry, in the order in which it is read; each format draws it in its own way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from agentkit.core.messages import Call, Message
from agentkit.core.secrets import mask_json
from agentkit.core.steps import replace
from agentkit.core.text import call_text
from agentkit.export import text as plain
from agentkit.export.held import HeldRun
from agentkit.journal.entries import Entry

HEAD, TAIL = 40, 60
"""How many entries of a long trace are shown at its beginning and at its end, where not all of them are."""


ASKS = "Asks for"
"""The label of what a thought asks for."""


@dataclass(slots=True)
class Size:
    """How much is shown: characters of one text (0: all), and of one image or page (None: any number)."""

    text: int
    item: int | None


WHOLE = Size(0, None)
FRAGMENT = Size(4_000, 1_000_000)
MANY = Size(1_000, 1_000_000)
"""For a file, for what is looked at in a notebook, and for one of many things there."""


@dataclass(slots=True)
class Part:
    """One piece of an entry: what it is called ("" for what the entry is about), its text, and how that reads."""

    label: str
    text: str
    form: Literal["prose", "code"] = "prose"
    folded: bool = False
    message: Message | None = None


@dataclass(slots=True)
class Shown:
    """An entry to be shown: its kind as a word, one line that says it all, who changed it, and its pieces."""

    kind: str
    line: str
    mark: str = ""
    ok: bool = True
    parts: list[Part] = field(default_factory=list)


def of(entry: Entry) -> Shown:
    """Take an entry apart."""
    mark = ""
    if entry.original:
        mark = f"edited by {entry.author}{': ' + entry.reason if entry.reason else ''}"
    elif entry.author in ("human", "gate") and entry.kind in ("think", "act"):
        mark = f"by {entry.author}{': ' + entry.reason if entry.reason else ''}"
    make = _OF.get(entry.kind)
    shown = make(entry) if make else Shown(entry.kind.capitalize(), "")
    shown.mark = mark
    return shown


def _task(entry: Entry) -> Shown:
    messages = entry.result["task"]
    parts = [Part("" if m["role"] == "user" else m["role"].capitalize(), m["text"]) for m in messages]
    if before := entry.result.get("history"):
        told = "\n\n".join(f"{m['role']}: {m['text']}" for m in before)
        parts.insert(0, Part(f"What was before ({len(before)} messages)", told, folded=True))
    return Shown("Task", " / ".join(m["text"] for m in messages if m["role"] == "user"), parts=parts)


def _thought(entry: Entry) -> Shown:
    step: Any = entry.step
    reply = entry.result
    parts = [Part("Interrupt", message.text) for message in reply.heard]
    if reply.reasoning:
        parts.append(Part("Reasoning", reply.reasoning, folded=True))
    if reply.text or not (reply.calls or reply.reasoning):
        parts.append(Part("", reply.text or reply.raw))
    parts += [Part(ASKS, call(asked), "code") for asked in reply.calls]
    if reply.cut:
        parts.append(Part("Cut off, since the model made the observation up", reply.cut, "code", folded=True))
    parts += [Part("Problem", problem) for problem in reply.problems]
    asks = f" → {', '.join(map(call, reply.calls))}" if reply.calls else ""
    kind = "Thought" if step.role == "thought" else f"Thought ({step.role})"
    return Shown(kind, f"{reply.text or reply.reasoning or reply.raw}{asks}".strip(), parts=parts)


def _action(entry: Entry) -> Shown:
    step: Any = entry.step
    message = entry.result
    asked = call(step.call)
    parts = [
        Part("", asked, "code"),
        Part("Observation" if message.ok else "Error", message.text, "code", message=message),
    ]
    return Shown("Action", f"{asked} → {'' if message.ok else '✗ '}{message.text}", ok=message.ok, parts=parts)


def _question(entry: Entry) -> Shown:
    step: Any = entry.step
    return Shown("Question", step.question, parts=[Part("", step.question), Part("Reply", str(entry.result))])


def _answer(entry: Entry) -> Shown:
    step: Any = entry.step
    parts = [Part("", step.answer)]
    if entry.result:
        parts.append(Part("Interrupt", entry.result.text))
    return Shown("Answer", step.answer, parts=parts)


def _end(entry: Entry) -> Shown:
    return Shown("Ended", entry.result.answer, parts=[Part("", entry.result.answer)])


_OF = {"begin": _task, "think": _thought, "act": _action, "ask": _question, "conclude": _answer, "end": _end}


def call(asked: Call) -> str:
    """Write a call as one would type it; secrets in its arguments are masked, by their names too."""
    return call_text(replace(asked, arguments=mask_json(asked.arguments)))


def arguments(asked: Call) -> str:
    """Write the arguments of a call as JSON."""
    return json.dumps(mask_json(asked.arguments), ensure_ascii=False, default=str)


def repeated(entries: list[Entry], number: int) -> tuple[str, ...]:
    """Give the labels of what the next entry shows again: what a thought asks for, where it was done."""
    after = entries[number + 1 : number + 2]
    return (ASKS,) if after and after[0].kind == "act" else ()


def ahead(run: HeldRun) -> Iterator[tuple[str, str]]:
    """Say what a run waits for, and what comes next."""
    if run.read_only:
        yield "Read-only", run.read_only
    elif run.status != "done":
        for why in [verdict.why for _, verdict in run.waiting] or ([run.hold] if run.hold else []):
            yield "Held", why
        for pending in run.pending:
            yield "Next", plain.pending_text(pending, run)


def glimpse(entries: list[Entry]) -> Iterator[tuple[int, Entry] | tuple[int, int]]:
    """Give the entries with their numbers; of a long trace its two ends, and between them the first and last that are left out."""
    if len(entries) <= HEAD + TAIL:
        yield from enumerate(entries)
        return
    yield from enumerate(entries[:HEAD])
    yield HEAD, len(entries) - TAIL - 1
    yield from enumerate(entries[-TAIL:], len(entries) - TAIL)
