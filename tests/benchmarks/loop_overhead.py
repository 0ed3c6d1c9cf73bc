"""CPU per turn of a ReAct run with a free model and a free tool: what the loop itself costs, everything recorded.

A turn is one model call and one tool call. Both loops get the same model output, as an API sends it: the arguments are
JSON text, which each of them parses. The bare loop is what one writes by hand: a list of messages in the API's own form,
a dict of tools. It checks no argument, masks no secret and records nothing. Both hand the whole chat to the model, and
neither spends anything on sending it, which costs more the longer a chat is, whoever sends it.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

from agentkit import Agent, Call, Loop, Reply, tool
from agentkit.journal.memory import MemoryJournal
from agentkit.models.base import Abilities, Request

ARGUMENTS = '{"a": 1, "b": 2}'
TURNS = (10, 100, 1_000, 10_000)


def plus(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


add = tool(name="add", effect="pure", timeout=None)(plus)


class Free:
    """A model that asks for the same tool `turns` times, and then answers."""

    name = "free"
    abilities = Abilities(tools=True)

    def __init__(self, turns: int) -> None:
        self.left = turns

    def __call__(self, request: Request) -> Reply:
        self.left -= 1
        if self.left < 0:
            return Reply("3")
        return Reply("I add", (Call("add", json.loads(ARGUMENTS), f"c{self.left}"),))


class FreeWire:
    """The same model as an API shows it to a program that has no library."""

    def __init__(self, turns: int) -> None:
        self.left = turns

    def __call__(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        self.left -= 1
        if self.left < 0:
            return {"role": "assistant", "content": "3"}
        call = {"id": f"c{self.left}", "type": "function", "function": {"name": "add", "arguments": ARGUMENTS}}
        return {"role": "assistant", "content": "I add", "tool_calls": [call]}


def bare(turns: int) -> str:
    """The loop as one writes it by hand."""
    model, tools = FreeWire(turns), {"add": plus}
    messages: list[dict[str, Any]] = [{"role": "user", "content": "1 + 2?"}]
    while True:
        reply = model(messages)
        messages.append(reply)
        calls = reply.get("tool_calls")
        if not calls:
            return reply["content"]
        for call in calls:
            function = call["function"]
            result = tools[function["name"]](**json.loads(function["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(result)})


def agent(turns: int, journal: Any) -> Agent:
    return Agent(Free(turns), [add], journal=journal, engine=Loop("react", max_iterations=turns + 1))


def to_the_end(turns: int) -> str:
    """`agent.run`, in a journal in memory that goes with the run."""
    return agent(turns, MemoryJournal()).run("1 + 2?").answer


def stepping(turns: int) -> str:
    """`for entry in run`."""
    run = agent(turns, MemoryJournal()).start("1 + 2?", paused=True)
    for _ in run:
        pass
    return run.answer or ""


def per_turn(loop: Callable[[int], str], turns: int) -> float:
    """Microseconds of CPU per turn, set-up included."""
    gc.collect()
    start = time.process_time()
    answer = loop(turns)
    spent = time.process_time() - start
    assert answer == "3", answer
    return spent / turns * 1e6


def best(turns: int, *loops: Callable[[int], str]) -> list[float]:
    """The best of several rounds for each loop; they take turns, so that a busy machine is busy for all of them."""
    rounds = [[per_turn(loop, turns) for loop in loops] for _ in range(max(5, min(50, 10_000 // turns)))]
    return [min(times) for times in zip(*rounds, strict=True)]


def main() -> None:
    table = Table("turns", "bare loop", "agent.run", "×", "for entry in run", "×", title="CPU per turn, microseconds")
    for turns in TURNS:
        hand, run, step = best(turns, bare, to_the_end, stepping)
        table.add_row(
            f"{turns:,}", f"{hand:.2f}", f"{run:.1f}", f"{run / hand:.1f}", f"{step:.1f}", f"{step / hand:.1f}"
        )
    Console().print(table)
    print("the best of 5 to 50 rounds; agentkit records every step in memory; the goal is 4 to 7 times the bare loop")


if __name__ == "__main__":
    main()
