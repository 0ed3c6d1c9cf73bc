"""What one request to a model costs when the chat is long: CPU time and memory that stays, by the number of turns
before it.

Prints microseconds of CPU per request, and kilobytes that are still held afterwards per request. Each row builds a chat
of that many turns (a tool call and its result each), makes a few requests that are not counted, and then grows the chat
turn by turn with one request per turn, as a loop does. The suite asserts no times.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from agentkit import tool
from agentkit.core.messages import Call, Chat, Message, Reply
from agentkit.models import dialects
from agentkit.models.anthropic import Anthropic
from agentkit.models.base import Request
from agentkit.models.ollama import Ollama
from agentkit.models.openai import OpenAI
from agentkit.models.scripted import Scripted

TURNS, WARM_UP, COUNTED, ROUNDS = (10, 100, 1_000, 10_000), 3, 20, 3


@tool
def search(query: str, limit: int = 10) -> str:
    """Search the library, and return the titles of the books that fit."""
    return query


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def turn(dialect: str, number: int) -> tuple[Reply, Message]:
    """Return one turn: a call as a model of this dialect writes it, and the result."""
    call = Call("search", {"query": f"book number {number}", "limit": 3}, f"call_{number}")
    raw = (
        f'Thought: I need book {number}.\nAction: search\nAction Input: {{"query": "book number {number}", "limit": 3}}'
    )
    reply = Reply(f"I need book {number}.", (call,), raw="" if dialect == "native" else raw, dialect=dialect)
    return reply, Message("tool", f"Book {number} is on shelf {number % 7}. " * 3, call_id=call.id, name="search")


def grown(chat: Chat, dialect: str, count: int) -> Chat:
    """Return a chat that is `count` turns longer."""
    for number in range(len(chat), len(chat) + count):
        reply, result = turn(dialect, number)
        chat = chat + reply + [result]
    return chat


def cost(ask: Callable[[Request], Any], dialect: str, turns: int) -> float:
    """Return the microseconds of CPU per request, least of several rounds, while the chat grows by a turn per request."""
    rounds = []
    for _ in range(ROUNDS):
        chat = grown(Chat.of("Find the books."), dialect, turns)
        spent = 0.0
        for number in range(WARM_UP + COUNTED):
            chat = grown(chat, dialect, 1)
            request = Request(chat, dialects.get(dialect), (search, add))
            began = time.process_time()
            ask(request)
            spent += time.process_time() - began if number >= WARM_UP else 0.0
        rounds.append(spent / COUNTED * 1e6)
    return min(rounds)


def kept(ask: Callable[[Request], Any], dialect: str, turns: int) -> float:
    """Return the kilobytes per request that are still held after it, those of the chat itself included."""
    chat = grown(Chat.of("Find the books."), dialect, turns)
    ask(Request(chat, dialects.get(dialect), (search, add)))
    tracemalloc.start()
    for _ in range(COUNTED):
        chat = grown(chat, dialect, 1)
        ask(Request(chat, dialects.get(dialect), (search, add)))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / COUNTED / 1000


def main() -> None:
    openai, anthropic, ollama = OpenAI("m", api_key="k"), Anthropic("m", api_key="k"), Ollama("m")
    rows: list[tuple[str, str, Callable[[], Callable[[Request], Any]]]] = [
        *((f"Scripted, {name}", name, lambda: Scripted("ok" for _ in iter(int, 1))) for name in dialects.DIALECTS),
        *((f"OpenAI encode, {name}", name, lambda: openai.encode) for name in dialects.DIALECTS),
        ("Anthropic encode, native", "native", lambda: anthropic.encode),
        ("Ollama encode, native", "native", lambda: ollama.encode),
    ]
    print(f"{'µs of CPU per request; (kB held)':<34}" + "".join(f"{turns:>18,}" for turns in TURNS) + "  turns")
    for name, dialect, make in rows:
        cells = [f"{cost(make(), dialect, n):10,.0f} ({kept(make(), dialect, n):,.0f})" for n in TURNS]
        print(f"{name:<34}" + "".join(f"{cell:>18}" for cell in cells))


if __name__ == "__main__":
    main()
