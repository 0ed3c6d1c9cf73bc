"""What permissions and the audit log cost per call of a tool, in microseconds of CPU.

It is measured at the gates alone, because in a whole turn it is less than the noise. The gates of a call are asked once,
and its entry says once what permits it.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from agentkit import Agent, Call, Reply, Run, tool
from agentkit.audit import Audit
from agentkit.gates.base import ask_gates
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

CALLS = 20_000
ROUNDS = 7


@tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


OPTIONS: dict[str, Any] = {
    "none": None,
    "mode plan, no rules": "plan",
    "mode ask, no rules": "ask",
    "mode ask, 10 rules by name": {"rules": [{"deny": f"shell_{number}*"} for number in range(10)]},
    "mode ask, 10 rules by argument": {"rules": [{"deny": "add", "arguments": {"a": f"{n}?"}} for n in range(10)]},
}


def waiting_at_a_call(permissions: Any) -> Run:
    """Return a run whose next step is a call."""
    model = Scripted([Reply("", (Call("add", {"a": 1, "b": 2}, "c"),)), "3"], abilities=Abilities(tools=True))
    run = Agent(model, [add], permissions=permissions, journal=None).start("1 + 2?", paused=True)
    run.step()
    return run


def cost(run: Run) -> float:
    """Return the CPU of one decision in microseconds; nothing of the decision before is remembered."""
    state, (pending,) = run.state, run.pending
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(CALLS):
            state._judged = None
            ask_gates(state.gates["act"], pending, state)
            state.approval(pending)
        best = min(best, time.process_time() - began)
    return best / CALLS * 1e6


def audit_cost() -> float:
    """Return the CPU of one line of the audit log in microseconds."""
    with tempfile.TemporaryDirectory() as folder:
        audit, count = Audit(Path(folder) / "audit.jsonl"), 2_000
        began = time.process_time()
        for _ in range(count):
            audit.write("call", "run", tool="add", arguments={"a": 1, "b": 2}, effect="pure", decision="allowed")
        return (time.process_time() - began) / count * 1e6


def main() -> None:
    table = Table("permissions", "µs per call", "more than none", title="CPU of the decision about a call")
    costs = {name: cost(waiting_at_a_call(option)) for name, option in OPTIONS.items()}
    for name, spent in costs.items():
        table.add_row(name, f"{spent:.2f}", f"{spent - costs['none']:+.2f}")
    Console().print(table)
    Console().print(f"one line of the audit log: {audit_cost():.0f} µs")


if __name__ == "__main__":
    main()
