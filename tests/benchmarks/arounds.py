"""CPU per turn that each option around the loop costs, on the loop of loop_overhead.py; flat means that nothing walks
the chat.
"""

from __future__ import annotations

from typing import Any

import loop_overhead
from rich.console import Console
from rich.table import Table

from agentkit import Agent, Loop, Reply
from agentkit.journal.memory import MemoryJournal
from agentkit.models.base import Request

TURNS = (100, 1_000, 4_000)
OPTIONS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "budget": {"budget": {"max_tokens": 10**12, "max_model_calls": 10**9, "max_cost": 10**9}},
    "compact": {"compact": 4_000},
    "clear_results": {"clear_results": 5},
    "warn_cycles, max_failures": {"warn_cycles": 10**9, "max_failures": 3},
    "select_tools, revise_calls": {"select_tools": {"over": 1, "ask": False, "pins": ["add"]}, "revise_calls": True},
    "self_check": {"self_check": 6},
}


class Free(loop_overhead.Free):
    """The same model; it answers what arounds ask beside the loop in a word."""

    def __call__(self, request: Request) -> Reply:
        return Reply("fine") if request.role != "thought" else super().__call__(request)


def loop(options: dict[str, Any]) -> Any:
    def run(turns: int) -> str:
        agent = Agent(
            Free(turns),
            [loop_overhead.add],
            journal=MemoryJournal(),
            engine=Loop("react", max_iterations=turns + 1),
            **options,
        )
        return agent.run("1 + 2?").answer

    return run


def main() -> None:
    table = Table(
        "option",
        *(f"{turns:,} turns" for turns in TURNS),
        title="CPU per turn, microseconds (and what the option adds)",
    )
    bare = [loop_overhead.best(turns, loop({}))[0] for turns in TURNS]
    for name, options in OPTIONS.items():
        spent = [loop_overhead.per_turn(loop(options), turns) for turns in TURNS]
        table.add_row(name, *(f"{one:.0f} ({one - base:+.0f})" for one, base in zip(spent, bare, strict=True)))
    Console().print(table)


if __name__ == "__main__":
    main()
