"""Show only the beginning of old results of tools, or only a note. The trace keeps them in full."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from agentkit.around.base import Around, around, require_int
from agentkit.around.request_view import View, shorten, since, view
from agentkit.core.messages import EMPTY, Chat, Message, Reply
from agentkit.core.steps import Step, Think, replace
from agentkit.tools.observations import clip

CLEARED = "[Cleared: the result of {name}, {count:,} characters. Call it again if it is needed.]"
SHORT = 200
"""The length, in characters, up to which a result, or the rest of one, is not worth clearing."""
BEGINNING = 2_000
"""The length, in characters, to which old results are cut unless an agent has other options."""


def clear_results(keep: int = 5, *, characters: int | None = None, shown: int = 0) -> Around:
    """Return an around that shows the model the newest `keep` results, and a note for each older one.

    With `shown`, the older ones are cut to that many characters instead. Results are cleared `keep` at a time, so that
    the beginning of a request does not change with every turn. With `characters`, all results together are no longer
    than that: older ones are cleared sooner, and a single longer one is cut. Short results, pinned results, and the
    trace are left alone. Raises `ValueError` if a number is too small.
    """
    require_int("clear_results", keep)
    require_int("shown of clear_results", shown, 0)
    most = float("inf") if characters is None else require_int("characters of clear_results", characters)

    @around(Think, does="shortens old results")
    def clearing(step: Think, memory: dict[str, Any]) -> Generator[Step, Any, Reply]:
        held = _count(step.chat, memory)
        before = view(memory, step.chat).shown if "views" in memory else step.chat
        now = before
        if held.count >= 2 * keep or held.size > most:
            now = _cleared(before, held, keep, most, shown)
        if now is not before:
            memory.setdefault("views", [View()])
            shorten(memory, step.chat, now)
        return (yield step if now is step.chat else replace(step, chat=now))

    return clearing


@dataclass(slots=True)
class Held:
    """The results that are shown in full: their number and total length in characters, counted up to the chat `at`."""

    at: Chat = EMPTY
    count: int = 0
    size: int = 0


def _count(chat: Chat, memory: dict[str, Any]) -> Held:
    """Count the results that were added since the last clearing, and those that it kept."""
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


def _cleared(chat: Chat, held: Held, keep: int, most: float, shown: int) -> Chat:
    """Return a chat without all results but the newest that may stay; earlier messages were handled already.

    It is the same chat if nothing is cleared.
    """
    whole, changed = chat, False
    back: list[Message] = []
    seen, kept, size = held.count, 0, 0
    while seen and chat.past is not None:
        given: Message = chat.last  # type: ignore[assignment]
        message = given
        if message.role == "tool":
            seen -= 1
            message = _shortened(message, kept < keep, most - size, kept == 0, shown)
            changed = changed or message is not given
            kept, size = kept + 1, size + len(message.text)
        back.append(message)
        chat = chat.past
    held.count, held.size = min(keep, held.count), size
    return chat + reversed(back) if changed else whole


def _shortened(message: Message, stays: bool, room: float, newest: bool, shown: int) -> Message:
    """Return a result as it is, cut, or cleared."""
    length = len(message.text)
    if length <= SHORT or message.pinned or (stays and length <= room):
        return message
    if newest:
        text = f"{message.text[: max(SHORT, int(room))]}\n[Truncated] The results have reached their total length."
    elif not shown:
        text = CLEARED.format(name=message.name, count=length)
    elif length > shown + SHORT:
        text = clip(message.text, shown)
    else:
        return message
    return replace(message, text=text, value=None)
