"""The messages of a chat as a dialect writes them: rendered once, and shared by every chat that grows out of that one.

A chat is a block_after list, and so is its rendering: blocks of messages, each with a link to the block before it. To
render a chat that has grown by one turn costs that turn. Small blocks are merged into larger ones, so that even the
longest chat has only a few dozen, and a flat list of its messages, or of their bytes, is put together without work per
message.

Rule 1: a rendered message and a block never change once they are made; many chats, requests and threads share them.
Rule 2: what a block contains follows from the messages up to its end, never from later ones.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from agentkit.core.messages import Call, Chat, Message
from agentkit.tools.observations import clip

View = dict[str, Any]
"""One message as a dialect writes it: `role`, `content`, and for native calls `tool_calls` and `tool_call_id`."""

Encoded = tuple[list[bytes], Any]
"""The bytes of some messages, in pieces, and a state that says how to go on after them."""

FAN = 16
"""So many blocks of one level are merged into one."""


class Block:
    """Some rendered messages in a row, and the block before them.

    `numbers` holds the call ids in these messages, each with the last number that was appended to it to make it unique.
    `encoded` caches their bytes, by the API that they are for and the state before them. `level` is the logarithm of
    their count: 0 for up to 15 messages, 1 for up to 255, and so on.
    """

    __slots__ = ("before", "encoded", "level", "numbers", "views")

    def __init__(self, views: list[View], before: Block | None = None, numbers: dict[str, int] | None = None) -> None:
        self.views = views
        self.before = before
        self.numbers = numbers
        self.level = (len(views).bit_length() - 1) // 4
        self.encoded: dict[tuple[Hashable, Any], Encoded] = {}

    def back(self) -> Iterator[Block]:
        """Yield this block and those before it, newest first."""
        block: Block | None = self
        while block is not None:
            yield block
            block = block.before


class Rendering:
    """A rendered chat: `head`, if the dialect puts instructions before it, and its blocks up to `last`."""

    __slots__ = ("head", "last")

    def __init__(self, head: Block | None, last: Block | None) -> None:
        self.head = head
        self.last = last

    @property
    def blocks(self) -> list[Block]:
        """All blocks, oldest first."""
        blocks = [*self.last.back()] if self.last else []
        if self.head:
            blocks.append(self.head)
        blocks.reverse()
        return blocks

    def __iter__(self) -> Iterator[View]:
        return chain.from_iterable([block.views for block in self.blocks])


class Progress(NamedTuple):
    """How far a chat has been rendered: its blocks, and the message whose calls later messages may still answer."""

    last: Block | None = None
    asking: Message | None = None
    following: tuple[Message, ...] = ()


Extend = Callable[[Progress, list[Message]], Progress]
"""Renders the messages that came since."""


def rendered(chat: Chat, dialect: str, extend: Extend) -> Progress:
    """Return how far a chat is rendered, which is to its end: extended from the longest chat that it grew out of.

    `dialect` is the name under which that is cached on the chat.
    """
    new: list[Any] = []
    known = Progress()
    for node in chat.nodes():
        if node._rendered is not None and dialect in node._rendered:
            known = node._rendered[dialect]
            break
        new.append(node.last)
    if new:
        new.reverse()
        known = extend(known, new)
        chat._rendered = {**(chat._rendered or {}), dialect: known}
    return known


def each_by_itself(dialect: str, write: Callable[[Message], View]) -> Extend:
    """Return the `Extend` of a dialect in which every message is written without regard to the others."""

    def extend(known: Progress, messages: list[Message]) -> Progress:
        return Progress(block_after(known.last, [view(message, dialect, write) for message in messages]))

    return extend


def block_after(before: Block | None, views: list[View], numbers: dict[str, int] | None = None) -> Block:
    """Return a block that follows `before`; the blocks up to there are merged if there are enough of them."""
    return Block(views, before and _compacted(before), numbers)


def _compacted(block: Block) -> Block:
    """Merge the newest blocks if there are `FAN` of their level, or lower ones among them."""
    run: list[Block] = []
    for earlier in block.back():
        if earlier.level > block.level:
            break
        run.append(earlier)
    if len(run) < FAN and all(earlier.level == block.level for earlier in run):
        return block
    run.reverse()
    return _compacted(_merged(run))


def _merged(run: list[Block]) -> Block:
    numbers: dict[str, int] = {}
    for block in run:
        numbers |= block.numbers or {}
    merged = Block([*chain.from_iterable([block.views for block in run])], run[0].before, numbers or None)
    for (api, state), (pieces, after) in list(run[0].encoded.items()):  # a copy: other threads may be adding to it
        pieces = list(pieces)
        for block in run[1:]:
            if (api, after) not in block.encoded:
                break
            more, after = block.encoded[api, after]
            pieces += more
        else:
            merged.encoded[api, state] = pieces, after
    return merged


# -- messages that all dialects write alike ----------------------------------------------------------------------------


def view(message: Message, key: str, write: Callable[[Message], View]) -> View:
    """Return what `write` makes of a message, which is called once per message and `key`."""
    views = message._views
    if views is None:
        views = message._views = {}
    written = views.get(key)
    if written is None:
        written = views[key] = write(message)
    return written


def plain_view(message: Message) -> View:
    """Return a message with its role and its text."""
    return {"role": message.role, "content": clip(message.text)}


def observation_view(message: Message) -> View:
    """Return a tool's result as a user message, for a model that knows no tool messages."""
    return {"role": "user", "content": f"Observation: {clip(message.text)}"}


def shown_arguments(call: Call) -> Any:
    """Return a call's arguments, or what the model wrote if that could not be used."""
    return call.raw if call.problem and call.raw is not None else call.arguments
