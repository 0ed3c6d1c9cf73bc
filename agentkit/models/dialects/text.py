"""The text dialect: for any model. It is asked to think and act in lines that begin with agreed words."""

from __future__ import annotations

import json
from typing import Any

from agentkit.core.messages import Chat, Message, Reply
from agentkit.core.steps import Tools
from agentkit.models.dialects import calls_in_text, native, text_protocol, thinking_tags
from agentkit.models.dialects.one_action_per_turn import first_call_only
from agentkit.models.dialects.reading import Reading, completed
from agentkit.models.dialects.rendering import (
    Block,
    Rendering,
    View,
    each_by_itself,
    observation_view,
    plain_view,
    rendered,
    shown_arguments,
)
from agentkit.tools.observations import clip

INSTRUCTIONS = """\
You can use tools. Every message of yours takes one of two forms.

To use a tool:
Thought: what is still missing, and why this tool will find it
Action: the name of one tool
Action Input: its arguments, as one JSON object

To finish, as soon as you know enough:
Thought: why nothing more is needed
FINAL_ANSWER: the answer, for the person who asked

Begin with a Thought. Ask for one tool per turn, then stop: its result comes to you as a message that begins with
Observation: and you never write that line yourself. The keys and types in Action Input follow the tool's
argument_schema. If an observation reports an error, correct the arguments or try another way. Write FINAL_ANSWER: once,
in your last message.

The tools:
"""


class Text:
    """Thought, Action, Action Input, FINAL_ANSWER; observations come back as user messages."""

    name = "text"
    stop: tuple[str, ...] = ("\nObservation:",)
    json_mode = False

    def render(self, chat: Chat, tools: Tools) -> Rendering:
        """Return the chat; the instructions come first, if there are tools."""
        return Rendering(instructions(INSTRUCTIONS, tools) if tools else None, rendered(chat, "text", _extend).last)

    def schemas(self, tools: Tools) -> list[dict[str, Any]]:
        """Return nothing: the instructions describe the tools."""
        return []

    def read(self, reply: Reply, tools: Tools) -> Reply:
        """Read one action or the final answer; an invented observation and what follows it are cut off first."""
        if reply.calls:
            return native.Native().read(reply, tools)
        if not tools:
            return text_protocol.read_answer(reply, self.name)
        text, thought = thinking_tags.split(reply.text)
        raw, cut = text_protocol.before_observation(text)
        return completed(reply, self.name, raw, thought, read_text(raw, tools, reply.finish), cut)


def read_text(text: str, tools: Tools, finish: str) -> Reading:
    """Read one action or the final answer: in lines, else a call that is written out in another way, else an answer
    within a line.
    """
    reading = text_protocol.read(text, tools, finish)
    if reading.readable:
        return reading
    reading = calls_in_text.read(text, tools)
    if reading.calls:
        return first_call_only(reading)
    for read in (
        text_protocol.read_action_without_input,
        text_protocol.read_action_on_one_line,
    ):
        if (action := read(text, tools, finish)).readable:
            return action
    answer = text_protocol.read_answer_anywhere(text, finish)
    return answer if answer.readable else reading


_MAX_KNOWN = 32
_known: dict[tuple[str, tuple[int, ...]], tuple[Block, Tools]] = {}


def instructions(text: str, tools: Tools) -> Block:
    """Return the message that explains how to use the tools and describes them; made once for the same tools."""
    key = (text, tuple(map(id, tools)))
    known = _known.get(key)
    if known is None:
        schemas = json.dumps([tool.schema for tool in tools], indent=2, ensure_ascii=False)
        if len(_known) >= _MAX_KNOWN:
            _known.clear()
        known = _known[key] = (
            Block([{"role": "system", "content": text + schemas}]),
            tools,
        )  # so that the ids stay theirs
    return known[0]


def _write(message: Message) -> View:
    if message.role == "tool":
        return observation_view(message)
    if message.role != "assistant":
        return plain_view(message)
    if message.dialect == "text" and message.raw:
        return {"role": "assistant", "content": clip(message.raw)}
    lines = []
    if message.calls:
        lines += [f"Thought: {message.text}"] if message.text else []
        for call in message.calls:
            arguments = shown_arguments(call)
            written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            lines += [f"Action: {call.name}", f"Action Input: {written}"]
    else:
        lines += [f"FINAL_ANSWER: {message.text}" if message.dialect else message.text]
    return {"role": "assistant", "content": clip("\n".join(lines))}


_extend = each_by_itself("text", _write)
