"""The native dialect: the model's API knows tool calls. Messages have a neutral form, which each API translates."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from agentkit.core import finish_reasons
from agentkit.core.messages import Call, Chat, Message, Reply
from agentkit.core.steps import Tools
from agentkit.models.dialects import calls_in_text, text_protocol, thinking_tags
from agentkit.models.dialects.reading import Reading, completed, completed_without_calls
from agentkit.models.dialects.rendering import (
    Block,
    Progress,
    Rendering,
    View,
    block_after,
    observation_view,
    plain_view,
    rendered,
    view,
)
from agentkit.tools.call_parsing import LEFT_OUT, call_id, find_tool, takes_no_arguments, without_arguments
from agentkit.tools.observations import clip

NOT_RUN = "This call was not run."
NOT_OFFERED = "a tool was called, but none was offered"
_NOT_ALLOWED = re.compile(r"[^a-zA-Z0-9_-]")


class Native:
    """Calls travel as calls; each is answered by a tool message directly after it, in the order of the calls."""

    name = "native"
    stop: tuple[str, ...] = ()
    json_mode = False

    def render(self, chat: Chat, tools: Tools) -> Rendering:
        """Return the chat with every call answered exactly once, directly after the message that makes it."""
        return Rendering(None, rendered(chat, "native", _extend).last)

    def schemas(self, tools: Tools) -> list[dict[str, Any]]:
        """Return the tools as APIs expect them."""
        return [tool.native for tool in tools]

    def read(self, reply: Reply, tools: Tools) -> Reply:
        """Read the calls of a reply, else calls that are written out in its text, else its text as the answer.

        A call in a code fence must be the whole text; beside prose it is an example. If a call may be an example, the
        reply is not readable.
        """
        if not tools:
            problems = (*reply.problems, NOT_OFFERED) if reply.calls else reply.problems
            return text_protocol.read_answer(replace(reply, calls=(), problems=problems), self.name)
        text, thought = thinking_tags.split(reply.text)
        if reply.calls:
            if text is reply.text and (unchanged := _as_sent(reply, tools)):
                return unchanged
            whole = len(reply.calls) - (not finish_reasons.is_whole(reply.finish))
            calls = tuple(
                _recognized(call, position, tools, is_whole=position < whole)
                for position, call in enumerate(reply.calls)
            )
            return completed(reply, self.name, text, thought, Reading(text.strip(), calls))
        reading = calls_in_text.read(text, tools, shows_examples=True)
        if reading.calls or reading.problems:
            return completed(reply, self.name, text, thought, reading)
        kept, cut = text_protocol.before_observation(text)
        reading = text_protocol.read(kept, tools, reply.finish, shows_examples=True)
        if reading.calls and (cut or find_tool(reading.calls[0].name, tools)[1]):
            if not text_protocol.begins_with_marker(kept) and (cut or LEFT_OUT in reading.calls[0].coerced):
                reading = Reading(problems=(calls_in_text.MAY_BE_EXAMPLE,))  # prose before the action, and after it
            return completed(reply, self.name, kept, thought, reading, cut)
        if cut:
            reading = text_protocol.read(text, ())
        return completed_without_calls(reply, self.name, text, thought, reading)


# -- reading -----------------------------------------------------------------------------------------------------------


def _as_sent(reply: Reply, tools: Tools) -> Reply | None:
    """Return a reply whose calls need no changes, and None for any other; nearly every step of a run passes here."""
    if not finish_reasons.is_whole(reply.finish):
        return None
    names = [tool.name for tool in tools]
    for call in reply.calls:
        if call.name not in names or not call.id or call.problem:
            return None
    return Reply(
        reply.text.strip(), reply.calls, None, reply.reasoning, reply.text, "native", reply.problems, "", True,
        reply.attempts, reply.heard, reply.usage, reply.model, reply.finish, reply.opaque,
    )  # fmt: skip


def _recognized(call: Call, position: int, tools: Tools, *, is_whole: bool) -> Call:
    """Return a call with the registered name of its tool and an id.

    Empty arguments will do for a tool that needs none; if they may have been cut off, only for one that takes none.
    """
    name, tool = find_tool(call.name, tools)
    if is_whole or (tool and takes_no_arguments(tool)):
        call = without_arguments(call, tool)
    if call.id and call.name == name:
        return call
    return replace(call, name=name, id=call.id or call_id(name, call.arguments or call.raw, position))


# -- rendering ---------------------------------------------------------------------------------------------------------


class _Writer:
    """The messages of one new block, and the call ids that are used in it and before it."""

    def __init__(self, before: Block | None) -> None:
        self.before = before
        self.views: list[View] = []
        self.numbers: dict[str, int] = {}

    def block(self) -> Block | None:
        """Return the finished block, or the one before it if there was nothing to write."""
        return block_after(self.before, self.views, self.numbers or None) if self.views else self.before

    def add(self, message: Message) -> None:
        """Add a message that makes no calls."""
        self.views.append(view(message, "native", _write))

    def add_group(self, asking: Message, following: list[Message]) -> None:
        """Add a message with calls, their results in the order of the calls, and then what was said in between."""
        open_slots: dict[str, list[int]] = {}
        for position, call in enumerate(asking.calls):
            open_slots.setdefault(call.id, []).append(position)
        results: list[View | None] = [None] * len(asking.calls)
        others: list[View] = []
        for message in following:
            slots = open_slots.get(message.call_id) if message.role == "tool" else None
            if slots:
                results[slots.pop(0)] = view(message, "result", _write_result)
            else:
                others.append(view(message, "native", _write))
        asked = view(asking, "native", _write)
        ids = [self._unique(call.id) for call in asking.calls]
        if ids != [call.id for call in asking.calls]:
            calls = [{**sent, "id": id} for sent, id in zip(asked["tool_calls"], ids, strict=True)]
            asked = {**asked, "tool_calls": calls}
        self.views.append(asked)
        for call, id, result in zip(asking.calls, ids, results, strict=True):
            if result is None:
                result = {"role": "tool", "tool_call_id": id, "name": wire_name(call.name), "content": NOT_RUN}
            elif result["tool_call_id"] != id:
                result = {**result, "tool_call_id": id}
            self.views.append(result)
        self.views += others

    def _unique(self, id: str) -> str:
        """Return an id that the chat does not use yet: APIs refuse a chat that uses one twice."""
        id = id or "call"
        number = self._number(id)
        if number is None:
            self.numbers[id] = 1
            return id
        unique = id
        while self._number(unique) is not None:
            number += 1
            unique = f"{id}_{number}"
        self.numbers[id] = number
        self.numbers[unique] = 1
        return unique

    def _number(self, id: str) -> int | None:
        """Return the last number that was appended to an id (1: none yet), or None if the id is not used yet."""
        if id in self.numbers:
            return self.numbers[id]
        for block in self.before.back() if self.before else ():
            if block.numbers and id in block.numbers:
                return block.numbers[id]
        return None


def _extend(known: Progress, messages: list[Message]) -> Progress:
    """Render the messages that came since; the last group is written again if they belong to it."""
    last, asking, following = known.last, known.asking, list(known.following)
    if asking and _begins_anew(messages[0]):
        asking, following = None, []
    elif asking:
        last = last and last.before
    closed = _Writer(last)
    for message in messages:
        if asking and _begins_anew(message):
            closed.add_group(asking, following)
            asking, following = None, []
        if message.calls:
            asking = message
        elif asking:
            following.append(message)
        else:
            closed.add(message)
    if not asking:
        return Progress(closed.block())
    open_group = _Writer(closed.block())
    open_group.add_group(asking, following)
    return Progress(open_group.block(), asking, tuple(following))


def _begins_anew(message: Message) -> bool:
    """Return whether a message cannot belong to the group of calls before it."""
    return message.role == "assistant" or bool(message.calls)


def wire_name(name: str) -> str:
    """Return a tool's name in the letters that APIs accept."""
    return _NOT_ALLOWED.sub("_", name)[:64] or "_"


def _write(message: Message) -> View:
    if message.role == "tool":
        return observation_view(message)
    written = plain_view(message)
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


def _write_result(message: Message) -> View:
    return {
        "role": "tool",
        "tool_call_id": message.call_id,
        "name": wire_name(message.name),
        "content": clip(message.text),
    }
