"""Show only the beginning of long tool results, with an address to read on from. The trace keeps them in full."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentkit.around.base import Around, around, require_int
from agentkit.around.request_view import since
from agentkit.core.messages import EMPTY, Chat, Message, Reply, digest
from agentkit.core.steps import Step, Think, replace

READ = "read_result"
MORE = (
    "[Truncated] {left:,} of {all:,} characters are not shown. To read on: {read}(address='{address}', start={start})"
)


def offload(reader: Any, over: int = 8_000, *, preview: int = 2_000) -> Around:
    """Return an around that shows the first `preview` characters of results that are longer than `over`.

    It also offers `reader`, the tool `read_result`, which returns the rest. Pinned results and those of the reader are
    shown in full. Raises `ValueError` if a number is below 1.
    """
    require_int("offload", over)
    require_int("preview of offload", preview)

    @around(Think, does="shows the beginning of long results")
    def offloading(step: Think, memory: dict[str, Any]) -> Generator[Step, Any, Reply]:
        if not step.tools:
            return (yield step)
        offer = memory.get("offer")
        if offer is None or offer[0] is not step.tools:
            offer = memory["offer"] = (step.tools, (*step.tools, reader))
        return (yield replace(step, chat=_shown(step.chat, memory, over, preview), tools=offer[1]))

    return offloading


def _shown(chat: Chat, memory: dict[str, Any], over: int, preview: int) -> Chat:
    """Return the chat as the model sees it; only messages that are new since the last time are examined."""
    at, shown = memory.get("shown", (EMPTY, EMPTY))
    new = since(chat, at)
    if new is None:
        at, shown, new = EMPTY, EMPTY, list(chat)
    if shown is at and not any(_is_long(message, over) for message in new):
        shown = chat
    else:
        for message in new:
            shown = Chat(shown, _short(message, min(preview, over)) if _is_long(message, over) else message)
    memory["shown"] = chat, shown
    return shown


def _is_long(message: Message, over: int) -> bool:
    return message.role == "tool" and message.name != READ and len(message.text) > over and not message.pinned


def _short(message: Message, preview: int) -> Message:
    length = len(message.text)
    more = MORE.format(left=length - preview, all=length, read=READ, address=address(message.text), start=preview)
    return replace(message, text=f"{message.text[:preview]}\n{more}", value=None)


def address(text: str) -> str:
    """Return an address for a result, made from its content."""
    return f"result://{digest(text.encode(errors='surrogatepass'))[:12]}"
