"""Let the model revise one of its earlier calls: the tool runs again, and the new result replaces the old one."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

from agentkit.around.base import Around, around, calls_of, perform, result_of
from agentkit.around.request_view import View, shorten, view
from agentkit.core.messages import Call, Chat, Message
from agentkit.core.steps import Act, All, Step, Think, replace

REVISE = "revise_call"
SUPERSEDED = "[Superseded: this call was revised; see the later result.]"


def revise_calls(reviser: Any) -> Around:
    """Return an around that offers `reviser`, the tool `revise_call(number, arguments, why)`, and performs its calls.

    A revision becomes a new call of the earlier tool. The model then sees the new result, and a note in place of the
    old one; the trace keeps both.
    """

    @around(Think, Act, does="lets the model revise its calls")
    def revision(step: Think | Act | All, memory: dict[str, Any]) -> Generator[Step, Any, Any]:
        if not isinstance(step, Think):
            return (yield from _performed(step, memory))
        if not step.tools:
            return (yield step)
        offer = memory.get("offer")
        if offer is None or offer[0] is not step.tools:
            offer = memory["offer"] = (step.tools, (*step.tools, reviser))
        return (yield replace(step, chat=_seen(step.chat, memory), tools=offer[1]))

    return revision


def _performed(step: Act | All, memory: dict[str, Any]) -> Generator[Step, Any, Any]:
    """Perform the calls of a step, with each revision as a call of the earlier tool, and keep a list of them."""
    past: list[Call] = memory.setdefault("calls", [])
    requested = calls_of(step)
    targets = {call.id: _target(call, past) for call in requested if call.name == REVISE}
    calls = tuple(_revised(call, targets[call.id]) if call.id in targets else call for call in requested)
    messages = yield from perform(step, calls)
    for message in messages:
        earlier = targets.get(message.call_id)
        if earlier is not None and message.ok:
            memory.setdefault("superseded", set()).add(earlier.id)
            memory["views"] = memory.get("views", [])[-1:] or [View()]
    past.extend(call for call in calls if call.name != REVISE)
    return result_of(step, messages)


def _target(call: Call, past: list[Call]) -> Call | None:
    number = call.arguments.get("number")
    if not isinstance(number, int) or isinstance(number, bool) or number == 0 or abs(number) > len(past):
        return None
    return past[number - 1 if number > 0 else number]


def _revised(call: Call, earlier: Call | None) -> Call:
    """Return the call of the earlier tool, with the id of the call that revises it."""
    if call.problem:
        return call
    if earlier is None:
        return replace(call, problem=f"there is no call number {call.arguments.get('number')!r}")
    arguments = call.arguments.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            pass
    if not isinstance(arguments, dict):
        return replace(
            call, problem=f"arguments must be an object with all arguments of {earlier.name}, not {arguments!r:.200}"
        )
    return Call(earlier.name, arguments, call.id)


def _seen(chat: Chat, memory: dict[str, Any]) -> Chat:
    """Return the chat as the model sees it: with a note in place of each superseded result."""
    superseded = memory.get("superseded")
    if not superseded:
        return chat
    shown = view(memory, chat)
    if shown is memory["views"][-1]:
        shown = shorten(memory, chat, Chat.of(_marked(message, superseded) for message in chat))
    return shown.shown


def _marked(message: Message, superseded: set[str]) -> Message:
    if message.role != "tool" or message.call_id not in superseded:
        return message
    return replace(message, text=SUPERSEDED, value=None)
