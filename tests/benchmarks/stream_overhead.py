"""What a streamed chunk costs: agentkit's wires beside the official SDKs, on the same bytes from the same local host.

Prints microseconds of this process's CPU per chunk, the least of several rounds. The host runs in another process, so
that its work is not counted; what reading the bare bytes costs is the first line.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from loopback import cut, delta, message, read_request, sse

from agentkit import Agent
from agentkit.core.messages import Chat
from agentkit.models import dialects
from agentkit.models.anthropic import Anthropic
from agentkit.models.base import Request
from agentkit.models.openai import OpenAI
from agentkit.models.stream_collector import acollect, collect

CHUNKS, ROUNDS = 5_000, 7
WORD = "word, "
ASKED = Request(Chat.of("q"), dialects.get("native"))


def openai_stream() -> bytes:
    return sse(*(delta(content=WORD) for _ in range(CHUNKS)), delta("stop"), b"[DONE]")


def anthropic_stream() -> bytes:
    whole = message({"type": "text", "text": "ab"})
    one = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": WORD}}
    events = whole.split(b"\n\n")
    at = next(n for n, event in enumerate(events) if b"content_block_stop" in event)
    filling = [b"event: content_block_delta\ndata: " + json.dumps(one).encode()] * CHUNKS
    return b"\n\n".join([*events[: at - 2], *filling, *events[at:]])


def serve(listening: socket.socket) -> None:
    """Answer every request with the stream that its path asks for, in writes of about a chunk's size."""
    streams = {b"completions": openai_stream(), b"messages": anthropic_stream()}
    while True:
        connection, _ = listening.accept()
        with connection:
            got = read_request(connection)
            if got is None:
                continue
            stream = streams[b"completions" if "completions" in got.line else b"messages"]
            connection.sendall(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            )
            for piece in cut(stream, 4096):
                connection.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            connection.sendall(b"0\r\n\r\n")


def bare(url: str) -> Callable[[], Any]:
    import httpx2

    client = httpx2.Client(trust_env=False, limits=httpx2.Limits(max_keepalive_connections=0))

    def read() -> int:
        with client.stream("POST", f"{url}/completions") as response:
            return sum(map(len, response.iter_bytes()))

    return read


def sdk_openai(url: str) -> Callable[[], Any]:
    import openai

    client = openai.OpenAI(base_url=url, api_key="k")

    def read() -> str:
        stream = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "q"}], stream=True)
        return "".join(chunk.choices[0].delta.content or "" for chunk in stream)

    return read


def sdk_openai_awaiting(url: str) -> Callable[[], Any]:
    import openai

    async def read() -> str:
        async with openai.AsyncOpenAI(base_url=url, api_key="k") as client:
            stream = await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "q"}], stream=True
            )
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    return lambda: asyncio.run(read())


def sdk_anthropic(url: str) -> Callable[[], Any]:
    import anthropic

    client = anthropic.Anthropic(base_url=url, api_key="k")

    def read() -> str:
        stream = client.messages.create(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "q"}], stream=True
        )
        return "".join(event.delta.text for event in stream if event.type == "content_block_delta")

    return read


def own_awaiting(model: Any) -> Callable[[], Any]:
    async def read() -> str:
        return (await acollect(model(ASKED))).text

    return lambda: asyncio.run(read())


def run_of(model: Any) -> Callable[[], Any]:
    """A whole run of an agent, with a listener: what a person has in front of them."""
    heard: list[Any] = []
    agent = Agent(model, journal=None, on_event=heard.append)
    return lambda: agent.start("q").wait().answer


def least(read: Callable[[], Any]) -> float:
    """Microseconds of CPU per chunk, the least of all rounds."""
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        result = read()
        times.append((time.process_time() - began) / CHUNKS * 1e6)
        assert len(result) >= CHUNKS * len(WORD.strip()) if isinstance(result, str) else result
    return min(times)


def main() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    host = multiprocessing.get_context("fork").Process(target=serve, args=(listening,), daemon=True)
    host.start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    openai, anthropic = OpenAI("m", base_url=url), Anthropic("m", base_url=url)
    rows: list[tuple[str, Callable[[], Any]]] = [
        ("httpx2, bytes alone", bare(url)),
        ("openai SDK", sdk_openai(url)),
        ("openai SDK, awaiting", sdk_openai_awaiting(url)),
        ("agentkit openai", lambda: collect(openai(ASKED)).text),
        ("agentkit openai, awaiting", own_awaiting(openai)),
        ("agentkit openai, a run with a listener", run_of(openai)),
        ("anthropic SDK", sdk_anthropic(url)),
        ("agentkit anthropic", lambda: collect(anthropic(ASKED)).text),
    ]
    print(f"one stream of {CHUNKS:,} chunks, least of {ROUNDS} rounds, CPU time of this process")
    for name, read in rows:
        print(f"{name:<40} {least(read):7.1f} µs per chunk")
    host.terminate()


if __name__ == "__main__":
    main()
