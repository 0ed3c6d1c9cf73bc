"""The native dialect: a model that calls tools by itself, in the neutral form that the wires translate."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentkit.core.messages import Call, Chat, Message, Reply
from agentkit.models.dialects import calls_in_text, text_protocol, thinking_tags
from agentkit.models.dialects.call_parsing import find, from_wire, identity, takes_nothing
from agentkit.models.dialects.rendering import View, concluded, observed, plain, settled, spoken, view
from agentkit.models.dialects.text_protocol import Reading
from agentkit.tools.observe import clip

if TYPE_CHECKING:
    from agentkit.tools.tool import Tool

NOT_RUN = "This call was not run."
NOT_OFFERED = "a tool was called, but none was offered"
_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")


class Native:
    """Calls go over the wire as calls; each is answered by a tool message directly after it, in call order."""

    name = "native"
    stop: tuple[str, ...] = ()
    json_mode = False

    def render(self, chat: Chat, tools: tuple[Tool, ...]) -> list[View]:
        """Write the chat with every call answered exactly once, directly after the message that asked for it."""
        written: list[View] = []
        seen: dict[str, int] = {}
        asking: Message | None = None
        following: list[Message] = []
        for message in chat:
            if message.role == "assistant" and asking:
                written += _group(asking, following, seen)
                asking, following = None, []
            if message.calls:
                asking = message
            elif asking:
                following.append(message)
            else:
                written.append(view(message, "native", _write))
        return written + (_group(asking, following, seen) if asking else [])

    def schemas(self, tools: tuple[Tool, ...]) -> list[dict[str, Any]]:
        """Give the tools as the wire wants them."""
        return [tool.native for tool in tools]

    def read(self, reply: Reply, tools: tuple[Tool, ...]) -> Reply:
        """Read the calls of a reply, else calls that its text spells out, else its text as the answer."""
        if not tools:
            problems = (*reply.problems, NOT_OFFERED) if reply.calls else reply.problems
            return plain(replace(reply, calls=(), problems=problems), self.name)
        said, thought = thinking_tags.split(reply.text)
        if reply.calls:
            if said is reply.text and (usual := _as_sent(reply, tools)):
                return usual
            calls = tuple(_known(call, n, tools) for n, call in enumerate(reply.calls))
            return settled(reply, self.name, said, thought, Reading(said.strip(), calls))
        reading = calls_in_text.read(said, tools)
        if reading.calls or reading.problems:
            return settled(reply, self.name, said, thought, reading)
        kept, cut = text_protocol.before_observation(said)
        reading = text_protocol.read(kept, tools, reply.finish)
        if reading.calls and (cut or find(reading.calls[0].name, tools)[1]):
            return settled(reply, self.name, kept, thought, reading, cut)
        return concluded(reply, self.name, said, thought, text_protocol.read(said, ()) if cut else reading)


def _as_sent(reply: Reply, tools: tuple[Tool, ...]) -> Reply | None:
    """Take the usual reply as it is, spelled out because each step of every run passes here; None if a call needs mending."""
    names = [tool.name for tool in tools]
    for call in reply.calls:
        if call.name not in names or not call.id or call.problem or type(call.arguments) is not dict:
            return None
    return Reply(
        reply.text.strip(), reply.calls, None, reply.reasoning, reply.text, "native", reply.problems, "", True,
        reply.attempts, reply.heard, reply.usage, reply.model, reply.finish, reply.opaque,
    )  # fmt: skip


def _known(call: Call, position: int, tools: tuple[Tool, ...]) -> Call:
    """Give a call its registered name and an id; unusable arguments stay so, but none at all will do where none are taken."""
    arguments: Any = call.arguments
    if not isinstance(arguments, dict):  # a model may hand over what it got
        call = from_wire(call.name, arguments, call.id)
    name, tool = find(call.name, tools)
    if call.problem and tool and takes_nothing(tool) and not (call.raw or "").strip():
        call = replace(call, arguments={}, problem="", coerced=(*call.coerced, "empty text was read as no arguments"))
    if call.id and call.name == name:
        return call
    return replace(call, name=name, id=call.id or identity(name, call.arguments or call.raw, position))


def _group(asking: Message, following: list[Message], seen: dict[str, int]) -> list[View]:
    """Write a message with calls, their results in call order, and then what was said between them."""
    slots: dict[str, list[int]] = {}
    for n, call in enumerate(asking.calls):
        slots.setdefault(call.id, []).append(n)
    results: list[View | None] = [None] * len(asking.calls)
    rest: list[View] = []
    for message in following:
        free = slots.get(message.call_id) if message.role == "tool" else None
        if free:
            results[free.pop(0)] = view(message, "result", _result)
        else:
            rest.append(view(message, "native", _write))
    asked = view(asking, "native", _write)
    ids = [_fresh(call.id, seen) for call in asking.calls]
    if ids != [call.id for call in asking.calls]:
        asked = {**asked, "tool_calls": [{**sent, "id": id} for sent, id in zip(asked["tool_calls"], ids, strict=True)]}
    for n, (call, id) in enumerate(zip(asking.calls, ids, strict=True)):
        result = results[n] or {"role": "tool", "tool_call_id": id, "name": wire_name(call.name), "content": NOT_RUN}
        results[n] = result if result["tool_call_id"] == id else {**result, "tool_call_id": id}
    return [asked, *results, *rest]  # type: ignore[list-item]


def _fresh(id: str, seen: dict[str, int]) -> str:
    """Give an id that the chat does not use yet: APIs refuse a chat that uses one twice."""
    fresh = id = id or "call"
    while fresh in seen:
        seen[id] += 1
        fresh = f"{id}_{seen[id]}"
    seen[fresh] = 1
    return fresh


def wire_name(name: str) -> str:
    """Write a tool's name with the letters that APIs accept."""
    return _REFUSED.sub("_", name)[:64] or "_"


def _write(message: Message) -> View:
    if message.role == "tool":
        return observed(message)
    written = spoken(message)
    if message.calls:
        written["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": wire_name(call.name), "arguments": json.dumps(call.arguments, ensure_ascii=False)},
            }
            for call in message.calls
        ]
    if message.opaque is not None:
        written["opaque"] = message.opaque
    return written


def _result(message: Message) -> View:
    return {
        "role": "tool",
        "tool_call_id": message.call_id,
        "name": wire_name(message.name),
        "content": clip(message.text),
    }
