"""Runs whose frames are compared: while they happen, and as they are read from the journal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

from serve.event_source import Message, messages

from agentkit import Agent, Call, Reply, Run, tool
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted
from agentkit.serve.frames import Frame, Frames
from agentkit.trace.events import Event


@tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(effect="idempotent")
def look(what: str) -> str:
    """Look something up."""
    return f"{what} is blue"


def asks(*calls: Call, text: str = "I look", **more: Any) -> Reply:
    return Reply(text, tuple(calls), **more)


def started(
    replies: list[Any], tools: Any = (add, look), task: Any = "q", session: str = "", **options: Any
) -> tuple[Run, list[Event]]:
    """Return a paused run of a scripted model, and the list that its events are added to as they happen."""
    events: list[Event] = []
    chunks = options.pop("chunks", 0)
    is_native = options.pop("native", True)
    model = options.pop("model", None) or Scripted(
        replies, abilities=Abilities(tools=is_native, stream=True), chunks=chunks
    )
    options = {"journal": "memory", "on_event": events.append, **options}
    return Agent(model, list(tools), **options).start(task, session=session, paused=True), events


def frames(run: Run, events: Any = None) -> list[Frame]:
    """Return the frames of events; without any, of those that are recorded."""
    encoder = Frames(run.id)
    return [frame for event in (run.events() if events is None else events) for frame in encoder.take(event)]


def pairs(some: Any) -> list[tuple[str, Any]]:
    """Return the name of each frame, with what distinguishes those of the same name."""
    return [(frame.event, frame.data.get("type"), frame.data.get("status")) for frame in some]  # type: ignore[misc]


def is_kept(frame: Frame) -> bool:
    """Return whether a recording has a frame, too: all but pieces of replies, and how the run was driven."""
    return frame.event not in ("delta", "playing", "paused", "waiting") and frame.data.get("status") != "delta"


async def read(stream: AsyncGenerator[str, None], until: Callable[[Message], bool] = lambda _: False) -> str:
    """Return what a stream gives until it ends, or until an event for which `until` is true."""
    text = ""
    async for piece in stream:
        assert piece.endswith("\n\n")
        text += piece
        if any(map(until, messages(piece.encode()))):
            break
    await stream.aclose()
    return text


def read_all(stream: AsyncGenerator[str, None]) -> str:
    return asyncio.run(asyncio.wait_for(read(stream), 30))
