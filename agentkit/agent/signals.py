"""Signals: a tool of a run waits for something that happens outside it, and `run.signal(name, value)` tells it."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable
from typing import Any

from agentkit.errors import ToolError
from agentkit.run import signals as mailbox
from agentkit.runtime.control import DRIVING, Control
from agentkit.tools.tool import tool
from agentkit.trace.events import Event

_INTERVAL = 0.2
"""How often a waiting tool looks for signals that another process has sent, in seconds."""


@tool(effect="idempotent", timeout=None)
def wait_for_signal(name: str, timeout: float = 60) -> Awaitable[Any]:
    """Wait for a signal from outside, and return its value.

    Args:
        name: the name of the signal
        timeout: how many seconds to wait
    """
    control = DRIVING.get()
    if control is None:
        raise ToolError("signals reach only a run: offer this tool to an agent")
    return _wait(control, name, timeout)


async def _wait(control: Control, name: str, timeout: float) -> Any:
    import asyncio

    loop, arrived = asyncio.get_running_loop(), asyncio.Event()
    signals, listeners = control.trace.signals, control.scheduler.listeners

    def listen(event: Event) -> None:
        if event.kind == "signalled":
            loop.call_soon_threadsafe(arrived.set)

    listeners.add(listen)
    try:
        async with asyncio.timeout(timeout):
            while name not in signals:
                arrived.clear()
                mailbox.take(control)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(arrived.wait(), _INTERVAL)
    except TimeoutError:
        raise ToolError(f"no signal {name!r} came within {timeout:g} s") from None
    finally:
        listeners.remove(listen)
    return signals[name]
