"""Keep requests within a number of tokens: older messages are replaced by a summary.

Only the request is shortened; the engine's chat and the trace keep everything. System messages, the task and pinned
messages (such as injected ones) stay word for word, a call is never separated from its result, and a shortened
beginning stays the same until the next time, so that the provider's cache of it remains valid.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentkit.around.base import Around, around, aside, reply_text, require_int
from agentkit.around.request_view import shorten, turn, view
from agentkit.core.messages import Chat, Message, Reply, system, user
from agentkit.core.steps import Step, Think, merged_tags, replace, warned
from agentkit.models.tokens import tokens as weigh
from agentkit.models.tokens import tokens_of_tools

SUMMARISE = """\
You keep the notes of an agent whose conversation has become too long. Write down what it needs to continue: the task,
the findings (names, numbers and paths word for word), what was tried and failed, what was decided and why, and what is
still to be done. Keep the latest line of thought. Leave out greetings and repetition. Write plain text, no more than
one page."""

NOTES = "[NOTES on earlier steps, which are not shown any more]\n"
LEFT_OUT = "[{count} earlier messages are not shown any more]"
CUT = "[Truncated] {count:,} more characters are not shown."

TOO_SMALL = (
    "the tools and the messages that are never shortened take about {taken:,} of the {tokens:,} tokens that compact "
    "allows, so older messages are left out without a summary, and requests are longer than that"
)
LEAST = 20
"""The tokens that the shortest notes on older messages take."""

NOTE = "notes"
"""The name of the message that holds the notes."""

ROOM = 0.6
"""The part of the budget that is filled by a compaction, so that the next one is some turns away."""

LINE = 160

Parts = tuple[list[Message], list[Message], list[Message]]


def compact(tokens: int = 128_000, *, keep: int = 6, summarise: bool = True) -> Around:
    """Return an around that limits each request to about `tokens` tokens.

    The newest `keep` messages stay as they are, if they fit, and older ones are replaced by a summary.
    The summary is a model call with the role "compact". Without `summarise`, or if that call returns nothing, a line
    says how many messages were left out; so it does, with a warning, if the tools and the messages that stay leave no
    room. Raises `ValueError` for a budget below 100 tokens or a `keep` below 1.
    """
    require_int("the budget of compact (tokens)", tokens, 100)
    require_int("keep", keep)

    @around(Think, does="shortens long requests")
    def compaction(step: Think, memory: dict[str, Any]) -> Generator[Step, Any, Reply]:
        shown = view(memory, step.chat)
        if "query" not in memory:
            memory["query"] = {id(message): message for message in turn(step.chat)}
        budget = tokens - _schemas(step.tools, memory)
        if shown.weight > budget and (parts := _parts(list(shown.shown), memory["query"], budget, keep)):
            stays, old, newest = parts
            fits = sum(map(weigh, stays)) + LEAST <= budget
            if not fits and not memory.get("warned"):
                memory["warned"] = True
                taken = tokens - budget + sum(map(weigh, stays))
                step = replace(step, tags=merged_tags(step.tags, warned(TOO_SMALL.format(taken=taken, tokens=tokens))))
            count = {"original": len(old) + len(newest), "kept": len(newest)}
            front = Chat.of([*stays, *(yield from _notes(old, count, tokens, ask=summarise and fits))])
            front += _fitted(newest, budget - sum(map(weigh, front)))
            if old and not (summarise and fits):  # there is no step for the summary that could carry the counts
                step = replace(step, tags={**step.tags, **count})
            shown = shorten(memory, step.chat, front, sum(map(weigh, front)))
        return (yield step if shown.shown is step.chat else replace(step, chat=shown.shown))

    return compaction


def _schemas(tools: tuple[Any, ...], memory: dict[str, Any]) -> int:
    """Return the estimated tokens of the tools, counted once for each tuple of them."""
    known = memory.get("tools")
    if known is None or known[0] is not tools:
        known = memory["tools"] = (tools, tokens_of_tools(tools))
    return int(known[1])


def _parts(messages: list[Message], query: dict[int, Message], budget: int, keep: int) -> Parts | None:
    """Return the messages that stay, the older ones to replace, and the newest; None if that would save nothing."""
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
    """Return where the last group before `end` begins: a message, or a message with calls and all of their results."""
    begins = end - 1
    while begins > 0 and messages[begins].role == "tool":
        begins -= 1
    return begins


def _notes(old: list[Message], count: dict[str, int], budget: int, *, ask: bool) -> Generator[Step, Any, list[Message]]:
    """Return the replacement of older messages: a summary that a model writes, or a line."""
    if not old:
        return []
    summary = ""
    if ask:
        length = max(100, min(2_000, 3 * (budget - 200) // len(old)))
        text = "\n\n".join(f"{_speaker(message)}: {_cut(_with_calls(message), length)}" for message in old)
        question = Chat.of([system(SUMMARISE), user(_cut(text, max(100, 3 * (budget - 200))))])
        reply: Reply = yield aside(question, "compact", **count)
        summary = _cut(reply_text(reply), budget)
    return [user(NOTES + summary if summary else LEFT_OUT.format(count=len(old)), name=NOTE)]


def _speaker(message: Message) -> str:
    return f"result of {message.name}" if message.role == "tool" else message.role


def _with_calls(message: Message) -> str:
    calls = "".join(f" [calls {call.name} with {call.arguments}]" for call in message.calls)
    return f"{message.text}{calls}"


def _fitted(messages: list[Message], room: int) -> list[Message]:
    """Return the messages with the longest results cut to the same length, so that all fit, but never below `LINE`."""
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
