"""What each engine costs: lines of its file, model calls for a small task, and CPU of the loop per model call.

The model is free and plays every part (tests/engines/actors.py), so what is left is the engine, the driver, the records
in memory, and the making of an agent, which weighs most where there are few calls. Lanes run in threads, whose
switching is part of the figure.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from agentkit import Agent
from agentkit.engines.registry import ENGINES, find

ROUNDS = 30


def lines_of(name: str) -> tuple[int, int]:
    """Count the lines of an engine's file, and those of its generator."""
    function, path = find(name)
    file = Path(sys.modules[path.partition(":")[0]].__file__ or "")
    source: Any = function.__code__
    last = max(line for _, _, line in source.co_lines() if line)
    return len(file.read_text(encoding="utf-8").splitlines()), last - source.co_firstlineno + 1


def measure(name: str) -> tuple[int, float]:
    """Return the model calls of a run, and the microseconds of CPU for each of them; the best of several rounds."""
    from engines.actors import Actor, look

    best, calls = float("inf"), 0
    for _ in range(ROUNDS):
        model = Actor()
        agent = Agent(model, [look], engine=name, journal="memory")
        start = time.process_time()
        result = agent.run("q")
        spent = time.process_time() - start
        assert result.answer and not result.error, result
        calls = len(model.requests)
        best = min(best, spent / calls * 1e6)
    return calls, best


def main() -> None:
    table = Table(
        "engine", "lines of the file", "of the generator", "model calls", "µs of CPU per model call", title="Engines"
    )
    for name in ENGINES:
        whole, generator = lines_of(name)
        calls, spent = measure(name)
        table.add_row(name, str(whole), str(generator), str(calls), f"{spent:.0f}")
    Console().print(table)


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])  # in the place of this folder, whose engines.py is this file
    main()
