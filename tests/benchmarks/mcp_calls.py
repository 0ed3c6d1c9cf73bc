"""What agentkit adds to a call over MCP: the tool call of a run, against the same call with the SDK alone.

Prints the milliseconds of many calls of `echo`, of the official "everything" server over stdin and stdout: the median,
and the fastest tenth, which says more on a busy machine, because a call is mostly waiting for another process. Both take
turns, so that they see the same load.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from npm_servers import node_and_program

from agentkit import Agent, Call, Reply
from agentkit.mcp import McpServer, mcp
from agentkit.models.base import Abilities

CALLS, ROUNDS = 25, 60
COMMAND = [*node_and_program("@modelcontextprotocol", "server-everything", "dist", "index.js")]
ARGUMENTS = {"message": "hello"}


class Caller:
    """A model that calls the tool so many times."""

    name, abilities = "caller", Abilities(tools=True)

    def __init__(self) -> None:
        self.replies: Iterator[Any] = iter(
            [*(Reply("", (Call("echo", ARGUMENTS, f"c{n}"),)) for n in range(CALLS)), "."]
        )

    def __call__(self, request: Any) -> Any:
        return next(self.replies)


def with_agentkit(server: McpServer) -> tuple[list[float], float]:
    """Return the milliseconds of each call in a run, and of a whole turn with its model call and its rows."""
    began = time.perf_counter()
    loop = {"engine": "react", "max_iterations": CALLS + 1}
    run = Agent(Caller(), server, engine=loop, journal="memory").run("q").run
    whole = (time.perf_counter() - began) * 1_000 / CALLS
    return [(entry.ended - entry.started) * 1_000 for entry in run.entries if entry.kind == "act"], whole


async def with_sdk(client: Any) -> list[float]:
    """Return the milliseconds of each call with the SDK alone."""
    took = []
    for _ in range(CALLS):
        began = time.perf_counter()
        result = await client.call_tool("echo", ARGUMENTS)
        took.append((time.perf_counter() - began) * 1_000)
        assert result.content[0].text == "Echo: hello"
    return took


async def main() -> None:
    """Measure in turns, and print the medians."""
    from mcp import Client, StdioServerParameters

    alone: list[float] = []
    within: list[float] = []
    turns: list[float] = []
    async with Client(StdioServerParameters(command=COMMAND[0], args=COMMAND[1:])) as client:
        with mcp(COMMAND, trust=True) as server:
            for _ in range(ROUNDS):
                alone += await with_sdk(client)
                calls, turn = await asyncio.to_thread(with_agentkit, server)
                within, turns = within + calls, [*turns, turn]
    for what, took in (("the SDK alone", alone), ("a call within a run", within), ("a whole turn of a run", turns)):
        print(f"{what:<22} median {statistics.median(took):6.2f} ms   fastest tenth {_fast(took):6.2f} ms")
    ratios = [statistics.median(within) / statistics.median(alone), _fast(within) / _fast(alone)]
    print(
        f"a call within a run takes {ratios[0]:.2f} times as long by the median, {ratios[1]:.2f} by the fastest tenth"
    )


def _fast(took: list[float]) -> float:
    return statistics.quantiles(took, n=10)[0]


if __name__ == "__main__":
    asyncio.run(main())
