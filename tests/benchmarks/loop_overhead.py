"""What the loop itself costs: CPU per turn of a ReAct run with a free model and a free tool, everything recorded.

A turn is one model call and one tool call. Every loop gets the same model output in the form of its dialect; the
arguments are JSON text that each of them parses. The bare loop is what one writes by hand: a list of messages in the
API's own form and a dict of tools. It checks no argument, masks no secret, keeps no time limit and records nothing. All
hand the whole chat to the model, and none of them sends it: that costs more the longer a chat is, whoever sends it.

All loops take turns within a round, so that a busy machine is busy for all of them. `--memory LOOP TURNS` runs one loop
once and prints the peak memory of its process.
"""

from __future__ import annotations

import functools
import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentkit import Agent, Call, Loop, Reply, tool
from agentkit.journal.memory import MemoryJournal
from agentkit.journal.sqlite import SqliteJournal
from agentkit.models.base import Abilities, Request

ARGUMENTS = '{"a": 1, "b": 2}'
TURNS = (10, 100, 1_000, 10_000)
SECONDS = 60.0
"""After these, no further round of one number of turns begins."""


def plus(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


add = tool(name="add")(plus)
add_without_timeout = tool(name="add", effect="pure", timeout=None)(plus)


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


class FreeText:
    """The same model without native tool calls: it writes the text of a dialect."""

    name = "free"

    def __init__(self, turns: int, action: str, answer: str) -> None:
        self.left = turns
        self.action, self.answer = action, answer

    def __call__(self, request: Request) -> str:
        self.left -= 1
        return self.action if self.left >= 0 else self.answer


MODELS: dict[str, Callable[[int], Any]] = {
    "native": Free,
    "json": lambda turns: FreeText(
        turns,
        f'{{"type": "tool_call", "reasoning": "I add", "tool_name": "add", "tool_args": {ARGUMENTS}}}',
        '{"type": "final_answer", "reasoning": "I know", "answer": "3"}',
    ),
    "text": lambda turns: FreeText(
        turns, f"Thought: I add\nAction: add\nAction Input: {ARGUMENTS}", "Thought: I know\nFINAL_ANSWER: 3"
    ),
}


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


def agent(turns: int, journal: Any = None, dialect: str = "native", add: Any = add, **options: Any) -> Agent:
    engine = Loop("react", max_iterations=turns + 1)
    journal = journal or MemoryJournal()
    return Agent(MODELS[dialect](turns), [add], journal=journal, engine=engine, dialect=dialect, **options)


def run(turns: int, dialect: str = "native", add: Any = add, **options: Any) -> str:
    """`agent.run`, in a journal in memory that goes with the run."""
    return agent(turns, None, dialect, add, **options).run("1 + 2?").answer


def start(turns: int, dialect: str = "native") -> str:
    """`agent.start(...).wait()`."""
    return agent(turns, None, dialect).start("1 + 2?").wait().answer


def step(turns: int) -> str:
    """`for entry in run`."""
    held = agent(turns).start("1 + 2?", paused=True)
    for _ in held:
        pass
    return held.answer or ""


def run_in_sqlite(turns: int, dialect: str = "native") -> str:
    """`agent.run`, in a journal in a file."""
    with tempfile.TemporaryDirectory() as folder:
        journal = SqliteJournal(Path(folder) / "runs.db")
        answer = agent(turns, journal, dialect).run("1 + 2?").answer
        journal.close()
        return answer


LOOPS: dict[str, Callable[[int], str]] = {
    "bare loop": bare,
    "run, tool(timeout=None)": functools.partial(run, add=add_without_timeout),
    "run": run,
    "start and wait": start,
    "for entry in run": step,
    "run, json": functools.partial(run, dialect="json"),
    "start and wait, json": functools.partial(start, dialect="json"),
    "run, text": functools.partial(run, dialect="text"),
    "start and wait, text": functools.partial(start, dialect="text"),
    "run, SQLite": run_in_sqlite,
    "run, SQLite, json": functools.partial(run_in_sqlite, dialect="json"),
    "run, SQLite, text": functools.partial(run_in_sqlite, dialect="text"),
}


def per_turn(loop: Callable[[int], str], turns: int) -> float:
    """Return the microseconds of CPU per turn, set-up included."""
    gc.collect()
    begun = time.process_time()
    answer = loop(turns)
    spent = time.process_time() - begun
    assert answer == "3", answer
    return spent / turns * 1e6


def best(turns: int, *loops: Callable[[int], str]) -> list[float]:
    """Return the best of several rounds for each loop."""
    rounds: list[list[float]] = []
    end = time.monotonic() + SECONDS
    while len(rounds) < max(3, min(50, 10_000 // turns)) and (not rounds or time.monotonic() < end):
        rounds.append([per_turn(loop, turns) for loop in loops])
    return [min(times) for times in zip(*rounds, strict=True)]


def print_costs(title: str, cases: dict[str, dict[str, Any]], turns: int = 300) -> None:
    """Print what a turn costs with the options of each case, and how much more that is than in the first case."""
    from rich.console import Console
    from rich.table import Table

    costs = best(turns, *(functools.partial(run, **options) for options in cases.values()))
    table = Table(title, "µs per turn", "more than without")
    for name, cost in zip(cases, costs, strict=True):
        table.add_row(name, f"{cost:,.0f}", f"{cost - costs[0]:,.0f}")
    Console().print(table)


def peak_memory(name: str, turns: int) -> float:
    """Return the peak memory of a process that runs one loop once, in MiB."""
    command = [sys.executable, __file__, "--memory", name, str(turns)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) / 1024


def main() -> None:
    if sys.argv[1:2] == ["--memory"]:
        LOOPS[sys.argv[2]](int(sys.argv[3]))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        return
    from rich.console import Console
    from rich.table import Table

    columns = [column for turns in TURNS for column in (f"{turns:,}", "×")]
    table = Table("turns", *columns, "MiB", title="CPU per turn, microseconds; × is times the bare loop")
    figures = {turns: best(turns, *LOOPS.values()) for turns in TURNS}
    for number, name in enumerate(LOOPS):
        row = []
        for turns in TURNS:
            spent = figures[turns][number]
            row += [f"{spent:.1f}", f"{spent / figures[turns][0]:.1f}"]
        table.add_row(name, *row, f"{peak_memory(name, TURNS[-1]):.0f}")
    Console().print(table)
    print("the best of 3 to 50 rounds; MiB is the peak memory of a process that runs 10,000 turns")


if __name__ == "__main__":
    main()
