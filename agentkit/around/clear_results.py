"""Leave old results of tools out of the requests: a line says what stood there. The trace keeps them whole."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from agentkit.around.base import Around, around, whole
from agentkit.around.request_view import shorten, since, view
from agentkit.core.messages import EMPTY, Chat, Message, Reply
from agentkit.core.steps import Step, Think, replace

CLEARED = "[Cleared: the result of {name}, {count:,} characters. Call it again if it is needed.]"
SHORT = 200
"""Characters up to which a result is not worth clearing."""


def clear_results(keep: int = 5, *, characters: int | None = None) -> Around:
    """Show the model the newest `keep` results, and of older ones that they were there.

    They are cleared `keep` at a time, so that the beginning of a request does not change with every turn. With `characters`
    all results together have no more than that: older ones are cleared sooner, and one that is longer by itself is cut.
    Short results, pinned ones, and what stands in the trace are left alone. Raises `ValueError` for a number below 1.
    """
    whole("clear_results", keep)
    most = float("inf") if characters is None else whole("characters of clear_results", characters)

    @around(Think)
    def clearing(step: Think, memory: dict[str, Any]) -> Generator[Step, Any, Reply]:
        shown = view(memory, step.chat)
        held = _count(step.chat, memory)
        if held.count >= 2 * keep or held.size > most:
            shown = shorten(memory, step.chat, _cleared(shown.shown, held, keep, most))
        return (yield step if shown.shown is step.chat else replace(step, chat=shown.shown))

    return clearing


@dataclass(slots=True)
class Held:
    """The results that are shown whole: how many they are, and how long, in characters; `at` is the chat that was counted."""

    at: Chat = EMPTY
    count: int = 0
    size: int = 0


def _count(chat: Chat, memory: dict[str, Any]) -> Held:
    """Count the results that came since the last clearing, and those that it kept."""
    held: Held = memory.setdefault("held", Held())
    new = since(chat, held.at)
    if new is None:
        new, held.count, held.size = list(chat), 0, 0
    for message in new:
        if message.role == "tool":
            held.count += 1
            held.size += len(message.text)
    held.at = chat
    return held


def _cleared(chat: Chat, held: Held, keep: int, most: float) -> Chat:
    """Clear all results but the newest that may stay; what is before those that are `held` was seen to already."""
    back: list[Message] = []
    seen, kept, size = held.count, 0, 0
    while seen and chat.past is not None:
        message: Message = chat.last  # type: ignore[assignment]
        if message.role == "tool":
            seen -= 1
            message = _seen_to(message, stays=kept < keep, room=most - size, newest=kept == 0)
            kept, size = kept + 1, size + len(message.text)
        back.append(message)
        chat = chat.past
    held.count, held.size = min(keep, held.count), size
    return chat + reversed(back)


def _seen_to(message: Message, *, stays: bool, room: float, newest: bool) -> Message:
    """Leave a result, cut it, or clear it."""
    length = len(message.text)
    if length <= SHORT or message.pinned or (stays and length <= room):
        return message
    if newest:
        text = f"{message.text[: max(SHORT, int(room))]}\n[Truncated] All results together may have no more characters."
    else:
        text = CLEARED.format(name=message.name, count=length)
    return replace(message, text=text, value=None)
