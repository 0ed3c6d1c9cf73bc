"""How long `from agentkit import Agent, tool` takes in a fresh Python, and what of it takes longest.

The bytecode is there already, as after an installation with pip; it is kept in a folder of its own, so that the figures
are the same where an environment forbids to write it beside the source.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

from rich.console import Console
from rich.table import Table

STATEMENT = "from agentkit import Agent, tool"
ROUNDS = 11
TIMED = f"import time; t = time.perf_counter(); {STATEMENT}; print(time.perf_counter() - t)"
MOST = 12


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True, env=environment)


def wall(statement: str) -> float:
    """Milliseconds of a whole process."""
    start = time.perf_counter()
    python("-c", statement)
    return (time.perf_counter() - start) * 1e3


def contributors() -> list[tuple[str, float, float]]:
    """The modules that take longest by themselves: name, own and cumulative milliseconds; a bare start's are left out."""
    line = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \|\s+(\S+)")
    before = {name for *_, name in line.findall(python("-X", "importtime", "-c", "pass").stderr)}
    found = line.findall(python("-X", "importtime", "-c", STATEMENT).stderr)
    ours = [(name, int(own) / 1e3, int(all_) / 1e3) for own, all_, name in found if name not in before]
    return sorted(ours, key=lambda row: -row[1])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        python("-c", STATEMENT)  # writes the bytecode
        report()


def report() -> None:
    imports = [float(python("-c", TIMED).stdout) * 1e3 for _ in range(ROUNDS)]
    whole, empty = ([wall(statement) for _ in range(ROUNDS)] for statement in (STATEMENT, "pass"))
    table = Table("", "median", "best", title=f"{STATEMENT}, milliseconds")
    for what, times in (
        ("the import", imports),
        ("the whole process", whole),
        ("a process that imports nothing", empty),
    ):
        table.add_row(what, f"{statistics.median(times):.1f}", f"{min(times):.1f}")
    Console().print(table)
    modules = contributors()
    parts = Table(
        "module", "by itself", "with what it imports", title=f"the slowest of {len(modules)} modules, traced: slower"
    )
    for name, own, all_ in modules[:MOST]:
        parts.add_row(name, f"{own:.1f}", f"{all_:.1f}")
    Console().print(parts)
    print(f"{ROUNDS} fresh processes; the goal is a median under 150 ms for the import")


if __name__ == "__main__":
    main()
