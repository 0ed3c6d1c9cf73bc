"""What hooks cost: CPU per turn of a ReAct run with a free model and a free tool, without hooks and with some.

A turn is one model call and one tool call. Without hooks, a step should cost nothing more. Each hook that matches runs in
a thread of its own, which is most of its cost. All take turns within a round, and the best round counts.
"""

from __future__ import annotations

import time
from typing import Any

from loop_overhead import Free, add
from rich.console import Console
from rich.table import Table

from agentkit import Agent, Loop

TURNS = 300
ROUNDS = 7


def measure(hooks: list[Any] | None) -> float:
    """Return the microseconds of CPU per turn of one run."""
    options: dict[str, Any] = {"hooks": hooks} if hooks else {}
    agent = Agent(Free(TURNS), [add], engine=Loop("react", max_iterations=TURNS + 1), journal="memory", **options)
    begun = time.process_time()
    result = agent.run("q")
    seconds = time.process_time() - begun
    assert result.answer == "3", result
    return seconds / TURNS * 1e6


def cases() -> dict[str, list[Any] | None]:
    """Return the hooks of each case."""
    from agentkit.hooks import hook

    nothing = hook("before", tool="ad*")(lambda call: None)
    other = hook("before", tool="shell*")(lambda call: None)
    after = hook("after")(lambda call, message: None)
    model = hook("before", "model")(lambda step: None)
    return {
        "no hooks": None,
        "a hook of other tools": [other],
        "a hook before the tool": [nothing],
        "a hook after the tool": [after],
        "a hook before the model": [model],
        "ten hooks before the tool": [nothing] * 10,
        "hooks before and after both": [nothing, after, model, hook("after", "model")(lambda step, reply: None)],
    }


def main() -> None:
    """Print the figures."""
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, hooks in cases().items():
            best[name] = min(best.get(name, float("inf")), measure(hooks))
    table = Table("hooks", "µs per turn", "more than without")
    for name, cost in best.items():
        table.add_row(name, f"{cost:,.0f}", f"{cost - best['no hooks']:,.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
