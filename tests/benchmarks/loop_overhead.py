"""CPU per turn of a ReAct run with a free model and a free tool: what the loop itself costs, everything recorded.

A turn is one model call and one tool call. Both loops get the same model output, as an API sends it: the arguments are
JSON text, which each of them parses. The bare loop is what one writes by hand: a list of messages, a dict of tools.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

from agentkit import Agent, Call, Reply, tool
from agentkit.models.base import Abilities, Request

ARGUMENTS = '{"a": 1, "b": 2}'
TURNS = (10, 100, 1_000, 10_000)


@tool(effect="pure", timeout=None)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Free:
    """A model that asks for the same tool `turns` times, and then answers."""

    name = "free"
    abilities = Abilities(tools=True)

    def __init__(self, turns: int) -> None:
        self.left = turns

    def __call__(self, request: Request | None) -> Reply:
        self.left -= 1
        if self.left < 0:
            return Reply("3")
        return Reply("I add", (Call("add", json.loads(ARGUMENTS), "c1"),))


def bare(turns: int) -> None:
    """The loop as one writes it by hand."""
    left, tools = turns, {"add": add.function}
    messages: list[dict[str, Any]] = [{"role": "user", "content": "1 + 2?"}]
    while True:
        left -= 1
        calls = [{"id": "c1", "function": {"name": "add", "arguments": ARGUMENTS}}] if left >= 0 else []
        messages.append({"role": "assistant", "content": "I add", "tool_calls": calls})
        if not calls:
            return
        for call in calls:
            result = tools[call["function"]["name"]](**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})


def agent(turns: int, journal: str | None) -> Agent:
    return Agent(Free(turns), [add], journal=journal, max_iterations=turns + 2)


def stepping(turns: int, journal: str | None = "memory") -> None:
    for _ in agent(turns, journal).start("1 + 2?", paused=True):
        pass


def to_the_end(turns: int, journal: str | None = "memory") -> None:
    agent(turns, journal).run("1 + 2?")


def per_turn(loop: Callable[[int], None], turns: int) -> float:
    """Microseconds of CPU per turn: the best of several rounds."""
    best = float("inf")
    for _ in range(max(3, min(50, 5_000 // turns))):
        gc.collect()
        start = time.process_time()
        loop(turns)
        best = min(best, time.process_time() - start)
    return best / turns * 1e6


def main() -> None:
    table = Table("turns", "bare loop", "agent.run", "×", "for entry in run", "×", title="CPU per turn, microseconds")
    for turns in TURNS:
        hand, run, step = per_turn(bare, turns), per_turn(to_the_end, turns), per_turn(stepping, turns)
        table.add_row(f"{turns:,}", f"{hand:.2f}", f"{run:.1f}", f"{run / hand:.1f}", f"{step:.1f}", f"{step / hand:.1f}")
    Console().print(table)
    print("the best of 3 to 50 rounds; agentkit records every step in memory; ovos-agentic-loop, which records nothing: 13 (8)")


if __name__ == "__main__":
    main()
