"""The json dialect: for a model with a JSON mode.

It answers with one object per turn, a tool call or the final answer.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from agentkit.core.messages import Chat, Message, Reply
from agentkit.core.steps import Tools
from agentkit.models.dialects import native, text_protocol, thinking_tags
from agentkit.models.dialects.one_action_per_turn import EXTRA_ACTIONS, first_call_only, refused, some_names
from agentkit.models.dialects.reading import Reading, completed
from agentkit.models.dialects.rendering import (
    Rendering,
    View,
    each_by_itself,
    observation_view,
    plain_view,
    rendered,
    shown_arguments,
)
from agentkit.models.dialects.text import instructions, read_text
from agentkit.tools import loose_json
from agentkit.tools.call_parsing import calls_from_data, find_tool, has_arguments, is_only_a_call
from agentkit.tools.observations import clip

INSTRUCTIONS = """\
You can use tools. Every message of yours is one JSON object and nothing else, in one of two shapes.

To use a tool:
{"type": "tool_call", "reasoning": "why this tool, now", "tool_name": "its name", "tool_args": {"argument": "value"}}

To finish, as soon as you know enough:
{"type": "final_answer", "reasoning": "why nothing more is needed", "answer": "the answer, for the person who asked"}

One tool per turn. Its result comes to you as a message that begins with Observation: and you never write that yourself.
The keys and types in tool_args follow the tool's argument_schema. If an observation reports an error, correct the
arguments or try another way.

The tools:
"""

OTHER_KEYS = "the call was written with other keys than tool_name and tool_args"


class Json:
    """One JSON object per turn; observations come back as user messages."""

    name = "json"
    stop: tuple[str, ...] = ()
    json_mode = True

    def render(self, chat: Chat, tools: Tools) -> Rendering:
        """Return the chat; the two shapes and the tools come first, if there are tools."""
        return Rendering(instructions(INSTRUCTIONS, tools) if tools else None, rendered(chat, "json", _extend).last)

    def schemas(self, tools: Tools) -> list[dict[str, Any]]:
        """Return nothing: the instructions describe the tools."""
        return []

    def read(self, reply: Reply, tools: Tools) -> Reply:
        """Read the first object that is an action or an answer; if there is none, what the other
        dialects would read.
        """
        if reply.calls:
            return native.Native().read(reply, tools)
        if not tools:
            return text_protocol.read_answer(reply, self.name)
        text, thought = thinking_tags.split(reply.text)
        raw, cut = text_protocol.before_observation(text)
        reading = _read(raw, tools, reply.finish)
        if reading.calls and not reading.thought:
            reading = reading._replace(thought=reply.reasoning or thought)
        return completed(reply, self.name, raw, thought, reading, cut)


def _read(text: str, tools: Tools, finish: str) -> Reading:
    readings = [_read_object(parsed, text, tools) for _, parsed in loose_json.objects(text)]
    known = [reading for reading in readings if reading]
    if not known:
        return read_text(text, tools, finish)
    first, *later = known
    extra_calls = [call for reading in later for call in reading.calls]
    not_used = [call.name for call in extra_calls]
    if first.calls and any(reading.answer is not None for reading in later):
        not_used.append("the final answer")
    problems = (f"{EXTRA_ACTIONS} {some_names(not_used)} was not used",) if not_used else ()
    calls = first.calls + refused(extra_calls) if first.calls else ()
    return first._replace(calls=calls, problems=first.problems + problems)


def _read_object(parsed: loose_json.Parsed, text: str, tools: Tools) -> Reading | None:
    """Read one object; None if it is neither an action nor an answer."""
    data = parsed.value
    thought = data.get("reasoning") or data.get("thought") or ""
    thought = thought if isinstance(thought, str) else json.dumps(thought, ensure_ascii=False)
    has_type = data.get("type") in ("tool_call", "function")
    if has_type or "answer" not in data:
        calls = calls_from_data(data, tools, mended=parsed.mended)
        is_known = bool(calls) and ("tool_name" in data or has_arguments(data)) and find_tool(calls[0].name, tools)[1]
        if calls and (has_type or is_only_a_call(data, calls, tools) or (is_known and "type" not in data)):
            if not {"tool_name", "tool_args"} <= data.keys():
                calls = [replace(call, coerced=(OTHER_KEYS, *call.coerced)) for call in calls]
            return first_call_only(Reading(thought, tuple(calls)))
    if not has_type and ("type" in data or "answer" in data):
        answer = data.get("answer", text.strip())
        return Reading(thought, (), answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))
    return None


def _write(message: Message) -> View:
    if message.role == "tool":
        return observation_view(message)
    if message.role != "assistant":
        return plain_view(message)
    if message.dialect == "json" and message.raw:
        return {"role": "assistant", "content": clip(message.raw)}
    if not message.calls and not message.dialect:
        return plain_view(message)
    reasoning = message.text if message.calls else message.reasoning
    objects: list[dict[str, Any]] = [
        {"type": "tool_call", "reasoning": reasoning, "tool_name": call.name, "tool_args": shown_arguments(call)}
        for call in message.calls
    ] or [{"type": "final_answer", "reasoning": reasoning, "answer": message.text}]
    content = "\n".join(json.dumps(written, ensure_ascii=False) for written in objects)
    return {"role": "assistant", "content": clip(content)}


_extend = each_by_itself("json", _write)
