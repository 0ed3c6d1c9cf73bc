"""The json dialect: a model with a JSON mode answers with one object per turn, a tool call or the final answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentkit.core.messages import Chat, Message, Reply
from agentkit.models.dialects import calls_in_text, loose_json, native, text_protocol, thinking_tags
from agentkit.models.dialects.base import SECOND
from agentkit.models.dialects.call_parsing import ARGUMENT_KEYS, find, from_object, refused
from agentkit.models.dialects.rendering import View, arguments_of, first_only, observed, plain, settled, spoken, view
from agentkit.models.dialects.text import prompt
from agentkit.models.dialects.text_protocol import Reading
from agentkit.tools.observe import clip

if TYPE_CHECKING:
    from agentkit.tools.tool import Tool

PROMPT = """\
You can use tools. Every message of yours is one JSON object and nothing else, in one of two shapes.

To use a tool:
{"type": "tool_call", "reasoning": "why this tool, now", "tool_name": "its name", "tool_args": {"argument": "value"}}

To finish, as soon as you know enough:
{"type": "final_answer", "reasoning": "why nothing more is needed", "answer": "the answer, for the person who asked"}

One tool per turn. Its result comes to you as a message that begins with Observation: and you never write that yourself.
The keys and types in tool_args follow the tool's argument_schema. If an observation reports an error, mend the arguments
or try another way.

The tools:
"""


class Json:
    """One JSON object per turn; observations come back as user messages."""

    name = "json"
    stop: tuple[str, ...] = ()
    json_mode = True

    def render(self, chat: Chat, tools: tuple[Tool, ...]) -> list[View]:
        """Write the chat; the two shapes and the tools come first, and only if there are tools."""
        head = [{"role": "system", "content": prompt(PROMPT, tools)}] if tools else []
        return head + [view(message, "json", _write) for message in chat]

    def schemas(self, tools: tuple[Tool, ...]) -> list[dict[str, Any]]:
        """Give nothing: the tools stand in the first message."""
        return []

    def read(self, reply: Reply, tools: tuple[Tool, ...]) -> Reply:
        """Read the first object that is an action or an answer; where there is none, what the other dialects would read."""
        if reply.calls:
            return native.Native().read(reply, tools)
        if not tools:
            return plain(reply, self.name)
        said, thought = thinking_tags.split(reply.text)
        raw, cut = text_protocol.before_observation(said)
        reading = _read(raw, tools, reply.finish)
        if reading.calls and not reading.thought:
            reading = reading._replace(thought=reply.reasoning or thought)
        return settled(reply, self.name, raw, thought, reading, cut)


def _read(text: str, tools: tuple[Tool, ...], finish: str) -> Reading:
    readings = [_object(found, text, tools) for _, found in loose_json.objects(text)]
    known = [reading for reading in readings if reading]
    if not known:
        reading = text_protocol.read(text, tools, finish)
        reading = reading if reading.readable else calls_in_text.read(text, tools)
        return first_only(reading) if reading.calls else reading
    later = [call.name for reading in known[1:] for call in reading.calls]
    later += ["the final answer"] * any(reading.answer is not None for reading in known[1:] if known[0].calls)
    problems = (f"{SECOND} {', '.join(later[:5])} was not used",) if later else ()
    others = [call for reading in known[1:] for call in reading.calls] if known[0].calls else []
    return known[0]._replace(calls=known[0].calls + refused(others), problems=known[0].problems + problems)


def _object(found: loose_json.Found, text: str, tools: tuple[Tool, ...]) -> Reading | None:
    """Read one object; None when it is neither an action nor an answer."""
    data = found.value
    thought = data.get("reasoning") or data.get("thought") or ""
    thought = thought if isinstance(thought, str) else json.dumps(thought, ensure_ascii=False)
    typed = data.get("type") in ("tool_call", "function")
    asks = typed or ("type" not in data and "answer" not in data)
    if asks and (call := from_object(data, tools, mended=found.mended)):
        named = "tool_name" in data or any(key in data for key in ARGUMENT_KEYS)
        if typed or (named and find(call.name, tools)[1]):
            return Reading(thought, (call,))
    elif not asks:
        answer = data.get("answer", text.strip())
        return Reading(thought, (), answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))
    return None


def _write(message: Message) -> View:
    if message.role == "tool":
        return observed(message)
    if message.role != "assistant":
        return spoken(message)
    if message.dialect == "json" and message.raw:
        return {"role": "assistant", "content": clip(message.raw)}
    if not message.calls and not message.dialect:
        return spoken(message)
    reasoning = message.text if message.calls else message.reasoning
    shapes: list[dict[str, Any]] = [
        {"type": "tool_call", "reasoning": reasoning, "tool_name": call.name, "tool_args": arguments_of(call)}
        for call in message.calls
    ] or [{"type": "final_answer", "reasoning": reasoning, "answer": message.text}]
    return {"role": "assistant", "content": clip("\n".join(json.dumps(shape, ensure_ascii=False) for shape in shapes))}
