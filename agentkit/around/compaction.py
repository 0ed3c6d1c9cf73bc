"""Keep what a model is sent within a number of tokens: older messages give way to a summary of them.

Only the request is shortened; the engine's chat and the trace keep everything. System messages, the task and whatever is
pinned (an injected message) stay word by word, a call is never parted from its result, and what was shortened once stays
as it is until the next time, so that a provider's cache of the beginning holds.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentkit.around.base import Around, around, aside, whole, words
from agentkit.around.request_view import shorten, turn, view
from agentkit.core.messages import Chat, Message, Reply, system, user
from agentkit.core.steps import Step, Think, replace
from agentkit.models.tokens import tokens as weigh
from agentkit.models.tokens import tokens_of_tools

SUMMARISE = """\
You keep the notes of an agent whose conversation has become too long. Write what it needs in order to go on: what was asked,
what was found (names, numbers and paths word by word), what was tried and failed, what was decided and why, and what is still
to be done. Keep the latest line of thought. Leave out greetings and repetition. Write plain text, no more than a page."""

NOTES = "[NOTES on earlier steps, which are not shown any more]\n"
LEFT_OUT = "[{count} earlier messages are not shown any more]"
CUT = "[Truncated] {count:,} more characters are not shown."

NOTE = "notes"
"""The name of the message that holds the notes."""

ROOM = 0.6
"""The part of the budget that is used after a compaction, so that the next one is some turns away."""

LINE = 160

Parts = tuple[list[Message], list[Message], list[Message]]


def compact(tokens: int = 128_000, *, keep: int = 6, summarise: bool = True) -> Around:
    """Hold each request to about `tokens` tokens, and the newest `keep` messages as they are while they fit.

    The summary is a model call with the role "compact"; without `summarise`, or when that call gives nothing, a line says
    how much was left out. Raises `ValueError` for a budget below 100 tokens or a `keep` below 1.
    """
    whole("the budget of compact (tokens)", tokens, 100)
    whole("keep", keep)

    @around(Think)
    def compaction(step: Think, memory: dict[str, Any]) -> Generator[Step, Any, Reply]:
        shown = view(memory, step.chat)
        if "query" not in memory:
            memory["query"] = {id(message): message for message in turn(step.chat)}
        budget = tokens - _schemas(step.tools, memory)
        if shown.weight > budget and (parts := _parts(list(shown.shown), memory["query"], budget, keep)):
            stays, old, newest = parts
            count = {"original": len(old) + len(newest), "kept": len(newest)}
            front = Chat.of([*stays, *(yield from _notes(old, count, tokens, ask=summarise))])
            front += _fitted(newest, budget - sum(map(weigh, front)))
            if old and not summarise:  # there is no step of its own that would say so
                step = replace(step, tags={**step.tags, **count})
            shown = shorten(memory, step.chat, front, sum(map(weigh, front)))
        return (yield step if shown.shown is step.chat else replace(step, chat=shown.shown))

    return compaction


def _schemas(tools: tuple[Any, ...], memory: dict[str, Any]) -> int:
    """Estimate the tools, once for each tuple of them."""
    known = memory.get("tools")
    if known is None or known[0] is not tools:
        known = memory["tools"] = (tools, tokens_of_tools(tools))
    return int(known[1])


def _parts(messages: list[Message], query: dict[int, Message], budget: int, keep: int) -> Parts | None:
    """Part a chat into what stays, what gives way, and the newest; None where nothing can be gained."""
    start = next((n for n, message in enumerate(messages) if message.role not in ("system", "user")), len(messages))
    stays = [
        message.name != NOTE and (n < start or message.role == "system" or message.pinned or id(message) in query)
        for n, message in enumerate(messages)
    ]
    used = sum(weigh(message) for message, stay in zip(messages, stays, strict=True) if stay)
    first = len(messages)
    while first > start:
        begins = _group(messages, first)
        used += sum(weigh(messages[n]) for n in range(begins, first) if not stays[n])
        limit = budget if len(messages) - begins <= keep else budget * ROOM
        if used > limit and first < len(messages):
            break
        first = begins
    old = [message for message, stay in zip(messages[:first], stays, strict=False) if not stay]
    if not old and used <= budget:
        return None
    return [message for message, stay in zip(messages[:first], stays, strict=False) if stay], old, messages[first:]


def _group(messages: list[Message], end: int) -> int:
    """Give where the last group before `end` begins: a message, or one that asks for tools together with all results."""
    begins = end - 1
    while begins > 0 and messages[begins].role == "tool":
        begins -= 1
    return begins


def _notes(old: list[Message], count: dict[str, int], budget: int, *, ask: bool) -> Generator[Step, Any, list[Message]]:
    """Give what takes the place of older messages: a summary that a model writes, or a line."""
    if not old:
        return []
    said = ""
    if ask:
        each = max(100, min(2_000, 3 * (budget - 200) // len(old)))
        told = "\n\n".join(f"{_speaker(message)}: {_cut(_told(message), each)}" for message in old)
        question = Chat.of([system(SUMMARISE), user(_cut(told, max(100, 3 * (budget - 200))))])
        reply: Reply = yield aside(question, "compact", **count)
        said = _cut(words(reply), budget)
    return [user(NOTES + said if said else LEFT_OUT.format(count=len(old)), name=NOTE)]


def _speaker(message: Message) -> str:
    return f"result of {message.name}" if message.role == "tool" else message.role


def _told(message: Message) -> str:
    asked = "".join(f" [calls {call.name} with {call.arguments}]" for call in message.calls)
    return f"{message.text}{asked}"


def _fitted(messages: list[Message], room: int) -> list[Message]:
    """Cut the longest results, all to one length, until the messages fit; nothing is cut to less than a line or two."""
    if sum(map(weigh, messages)) <= room:
        return messages
    low, high = LINE, max((len(message.text) for message in messages), default=LINE)
    while high - low > LINE:
        middle = (low + high) // 2
        fits = sum(map(weigh, _shortened(messages, middle))) <= room
        low, high = (middle, high) if fits else (low, middle)
    return _shortened(messages, low)


def _shortened(messages: list[Message], length: int) -> list[Message]:
    return [
        replace(message, text=_cut(message.text, length), value=None)
        if message.role == "tool" and len(message.text) > length + LINE and not message.pinned
        else message
        for message in messages
    ]


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}\n{CUT.format(count=len(text) - length)}"
