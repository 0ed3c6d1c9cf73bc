"""What all dialects share: views of messages that are made once, the reading of plain replies, and what every reading ends in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from agentkit.core.messages import Call, Message, Reply
from agentkit.models import finish_reasons
from agentkit.models.dialects import text_protocol, thinking_tags
from agentkit.models.dialects.base import SECOND
from agentkit.models.dialects.call_parsing import refused
from agentkit.models.dialects.text_protocol import Reading
from agentkit.tools.observe import clip

View = dict[str, Any]


def view(message: Message, key: str, write: Callable[[Message], View]) -> View:
    """Give what a message becomes in one dialect; written once and shared, so nobody may change it."""
    views = message._views
    if views is None:
        views = message._views = {}
    found = views.get(key)
    if found is None:
        found = views[key] = write(message)
    return found


def spoken(message: Message) -> View:
    """Write a message of the system or of a person."""
    return {"role": message.role, "content": clip(message.text)}


def observed(message: Message) -> View:
    """Write a tool's result for a model that knows no tool messages."""
    return {"role": "user", "content": f"Observation: {clip(message.text)}"}


def plain(reply: Reply, name: str) -> Reply:
    """Read a reply to a request without tools: all of it is the answer, or what follows FINAL_ANSWER: if that is there."""
    said, thought = thinking_tags.split(reply.text)
    return concluded(reply, name, said, thought, text_protocol.read(said, ()))


def concluded(reply: Reply, name: str, said: str, thought: str, reading: Reading) -> Reply:
    """Complete a reply that asks for nothing: the answer that was read in it, else all that was said."""
    if reading.answer is None:
        reading = Reading("", (), said.strip(), finish_reasons.problems(reply.finish))
    return settled(reply, name, said, thought, reading)


def settled(reply: Reply, name: str, raw: str, thought: str, reading: Reading, cut: str = "") -> Reply:
    """Complete a reply with what was read in it. An unreadable one belongs to no dialect, and its own text is the answer."""
    problems = (text_protocol.INVENTED, *reading.problems) if cut else reading.problems
    reasoning = "\n".join(part for part in (reply.reasoning, thought) if part)
    more: dict[str, Any] = {"raw": raw, "dialect": name, "cut": cut, "readable": True}
    if reading.calls:
        more |= {"text": reading.thought, "calls": reading.calls, "answer": None}
    elif reading.answer is not None:
        reasoning = "\n".join(part for part in (reasoning, reading.thought) if part)
        more |= {"text": reading.answer, "calls": (), "answer": reading.answer}
    else:
        said = raw.strip()
        more |= {"text": said, "calls": (), "answer": said, "readable": not said, "dialect": "" if said else name}
    return replace(reply, reasoning=reasoning, problems=reply.problems + problems, **more)


def first_only(reading: Reading) -> Reading:
    """Take the first call, where a dialect takes one per turn, and refuse the others."""
    first, *others = reading.calls
    if not others:
        return reading
    named = ", ".join(call.name for call in others[:5]) + (f" and {len(others) - 5} more" if len(others) > 5 else "")
    return reading._replace(
        calls=(first, *refused(others)), problems=(*reading.problems, f"{SECOND} {named} was not run")
    )


def arguments_of(call: Call) -> Any:
    """Give what a call is shown with: its arguments, or what the model wrote where that was unusable."""
    return call.raw if call.problem and call.raw is not None else call.arguments
