"""What can be changed about a result, and how: pure functions from a result to another one."""

from __future__ import annotations

import json
from typing import Any

from agentkit.core.messages import Call, Message, Reply
from agentkit.core.secrets import mask
from agentkit.core.steps import Act, Step, replace
from agentkit.errors import Unknown, UsageError
from agentkit.journal.entries import Entry
from agentkit.tools import observations

CHANGES = {
    "think": ("text", "answer", "calls", "arguments", "reply", "recording"),
    "act": ("text", "arguments", "recording"),
    "ask": ("text", "recording"),
}
"""What can be edited, by the kind of a step."""

_WHOLE = ("reply", "recording")
"""Changes that are a whole result, and so make sense only by themselves."""

_CONTRADICTORY = {
    "think": (("answer", "calls"), ("answer", "arguments"), ("calls", "arguments")),
    "act": (("text", "arguments"),),
}
"""Pairs of changes that contradict each other: an answer and an action, one action and all, a result and a new call."""


def check(kind: str, change: dict[str, Any]) -> None:
    """Check that a change makes sense for a kind of step. Raises `UsageError`, which says what would."""
    if kind not in CHANGES:
        raise UsageError(f"an entry of kind {kind} cannot be edited; edit the thought or the observation before it")
    for name in change:
        if name not in CHANGES[kind]:
            raise Unknown("change", name, CHANGES[kind], of=f"a {kind} step")
    if not change:
        raise UsageError(f"say what to change: {', '.join(f'{name}=' for name in CHANGES[kind])}")
    for name in _WHOLE:
        if name in change and len(change) > 1:
            raise UsageError(
                f"{name}= is the whole result; leave out {', '.join(f'{n}=' for n in change if n != name)}"
            )
    for first, second in _CONTRADICTORY.get(kind, ()):
        if first in change and second in change:
            raise UsageError(f"{first}= and {second}= contradict each other; change only one of them")
    for name, value in change.items():
        if problem := _misfit(name, value):
            raise UsageError(problem)


def _misfit(name: str, value: Any) -> str:
    if name == "arguments":
        fits = isinstance(value, dict) and all(isinstance(key, str) for key in value)
        return "" if fits else f"arguments= must be a dict with names as keys, not {value!r:.100}"
    if name == "calls":
        fits = isinstance(value, list | tuple) and all(
            isinstance(c, Call) and isinstance(c.arguments, dict) for c in value
        )
        return "" if fits else f"calls= must be a list of Call(name, arguments), not {value!r:.100}"
    if name == "recording":
        return "" if isinstance(value, Entry) else f"recording= must be one of run.recordings(), not {value!r:.100}"
    return "" if isinstance(value, str) else f"{name}= must be a str, not {value!r:.100}"


def changed(result: Any, change: dict[str, Any]) -> Any:
    """Return a result with a change applied, without the raw text that the model wrote."""
    if isinstance(result, Reply):
        return _changed_reply(result, change)
    text = mask(change["text"])
    if not isinstance(result, Message):
        return text
    return replace(result, text=text, value=_changed_value(result.value, text), ok=True, may_have_run=False)


def _changed_value(value: Any, text: str) -> Any:
    """Return an edited text as data if the result was data before and the text is JSON of the same kind, else None."""
    if not isinstance(value, dict | list) or (isinstance(value, dict) and value.keys() == {"mime"}):
        return None
    try:
        edited = json.loads(text)
    except ValueError:
        return None
    return edited if type(edited) is type(value) else None


def _changed_reply(reply: Reply, change: dict[str, Any]) -> Reply:
    calls = reply.calls
    if "arguments" in change:
        if len(calls) != 1:
            raise UsageError(f"this thought asks for {len(calls)} tools; use calls=... instead of arguments=...")
        calls = (replace(calls[0], arguments=change["arguments"], raw=None, problem="", coerced=()),)
    if "calls" in change:
        calls = tuple(change["calls"])
    answer = reply.answer
    if "answer" in change:
        answer, calls = mask(change["answer"]), ()
    text = mask(change["text"]) if "text" in change else reply.text if answer is None else answer
    if "text" in change and "answer" not in change and not calls:
        answer = text
    return replace(
        reply,
        text=text,
        calls=calls,
        answer=answer,
        raw="",
        dialect="",
        cut="",
        problems=(),
        readable=True,
        opaque=None,
        tokens=(),
    )


def from_recording(step: Step, result: Any) -> Any:
    """Return a recorded result as that of a step; injected messages that a reply has heard belong to its own branch."""
    if isinstance(result, Reply):
        return replace(result, heard=())
    return replace(result, call_id=step.call.id) if type(step) is Act else result


def blank(step: Step) -> Any:
    """Return an empty result for a step, to which a change can be applied."""
    if step.kind == "think":
        return Reply()
    if type(step) is Act:
        return observations.returned(step.call, "")
    return ""
