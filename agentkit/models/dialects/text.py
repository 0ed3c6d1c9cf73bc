"""The text dialect: any model can be asked to think and act in lines that begin with agreed words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentkit.core.messages import Chat, Message, Reply
from agentkit.models.dialects import calls_in_text, native, text_protocol, thinking_tags
from agentkit.models.dialects.rendering import View, arguments_of, first_only, observed, plain, settled, spoken, view
from agentkit.tools.observe import clip

if TYPE_CHECKING:
    from agentkit.tools.tool import Tool

PROMPT = """\
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
argument_schema. If an observation reports an error, mend the arguments or try another way. Write FINAL_ANSWER: once,
in your last message.

The tools:
"""


class Text:
    """Thought, Action, Action Input, FINAL_ANSWER; observations come back as user messages."""

    name = "text"
    stop: tuple[str, ...] = ("\nObservation:",)
    json_mode = False

    def render(self, chat: Chat, tools: tuple[Tool, ...]) -> list[View]:
        """Write the chat; the protocol comes first, and only if there are tools."""
        head = [{"role": "system", "content": prompt(PROMPT, tools)}] if tools else []
        return head + [view(message, "text", _write) for message in chat]

    def schemas(self, tools: tuple[Tool, ...]) -> list[dict[str, Any]]:
        """Give nothing: the tools stand in the first message."""
        return []

    def read(self, reply: Reply, tools: tuple[Tool, ...]) -> Reply:
        """Read one action or the final answer; a made-up observation and what follows it are cut first."""
        if reply.calls:
            return native.Native().read(reply, tools)
        if not tools:
            return plain(reply, self.name)
        said, thought = thinking_tags.split(reply.text)
        raw, cut = text_protocol.before_observation(said)
        reading = text_protocol.read(raw, tools, reply.finish)
        if not reading.readable:
            reading = calls_in_text.read(raw, tools)
            reading = first_only(reading) if reading.calls else reading
        return settled(reply, self.name, raw, thought, reading, cut)


def prompt(words: str, tools: tuple[Tool, ...]) -> str:
    """Put the schemas of the tools after the words that explain how to use them."""
    return words + json.dumps([tool.schema for tool in tools], indent=2, ensure_ascii=False)


def _write(message: Message) -> View:
    if message.role == "tool":
        return observed(message)
    if message.role != "assistant":
        return spoken(message)
    if message.dialect == "text" and message.raw:
        return {"role": "assistant", "content": clip(message.raw)}
    lines = []
    if message.calls:
        lines += [f"Thought: {message.text}"] if message.text else []
        for call in message.calls:
            given = arguments_of(call)
            written = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
            lines += [f"Action: {call.name}", f"Action Input: {written}"]
    else:
        lines += [f"FINAL_ANSWER: {message.text}" if message.dialect else message.text]
    return {"role": "assistant", "content": clip("\n".join(lines))}
