"""How long a recording takes to be played against today's code: in suites of several sizes, and for longer runs.

The runs have four model calls and two tool calls, or as many turns as the table says. `read` is what reading and
checking the rows takes of it; `differs` is a suite in which the instructions of every recording have changed.
"""

from __future__ import annotations

import json
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from agentkit import Act, Agent, Answer, Call, Chat, Reply, Think, tool
from agentkit.experiments.regression import find, replay
from agentkit.experiments.regression.playing import read

SIZES, TURNS = (10, 100, 1_000), (10, 100, 1_000)


@tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def turns(task: Any, tools: Any = (), count: int = 2) -> Any:
    """Ask and call a tool in turn, then ask twice."""
    chat = Chat.of(task)
    for turn in range(count):
        chat = chat + (yield Think(chat, tools))
        chat = chat + (yield Act(Call("add", {"a": turn, "b": 1}, id=f"c{turn}")))
    for _ in range(2):
        chat = chat + (yield Think(chat, tools))
    return Answer("done", chat)


def agent(**options: Any) -> Agent:
    return Agent(lambda request: Reply("I think."), [add], engine=turns, journal="memory", **options)


def measured(folder: Path, tested: Agent) -> tuple[int, float, float]:
    """Return how many recordings are the same, the milliseconds for each, and the peak of memory in MB."""
    begun = time.process_time()
    found = replay(folder, tested)
    seconds = time.process_time() - begun
    tracemalloc.start()
    replay(folder, tested)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return len(found) - len(found.differing), seconds / len(found) * 1000, peak / 1e6


def main() -> None:
    console = Console()
    suites = Table(
        "recordings", "form", "ms of CPU each", "of that, read", "ms each, differs", "MB at most", title="suites"
    )
    data = [json.dumps(agent(instructions="Be brief.").run(f"Task {n}").run.to_json()) for n in range(max(SIZES))]
    for size in SIZES:
        for form in ("files", "lines"):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                if form == "files":
                    for number, text in enumerate(data[:size]):
                        (folder / f"{number:04}.json").write_text(text)
                else:
                    (folder / "all.jsonl").write_text("\n".join(data[:size]))
                same, ms, peak = measured(folder, agent(instructions="Be brief."))
                begun = time.process_time()
                for recording in find(folder):
                    read(recording.data())
                reading = (time.process_time() - begun) / size * 1000
                different, slower, _ = measured(folder, agent(instructions="Be very brief."))
                assert (same, different) == (size, 0)
            figures = (f"{ms:.2f}", f"{reading:.2f}", f"{slower:.2f}", f"{peak:.1f}")
            suites.add_row(f"{size:,}", form, *figures)
    console.print(suites)
    longer = Table("turns", "ms of CPU", "of that, read", title="one longer run")
    for count in TURNS:
        recorded = agent().using(engine={"count": count}).run("Task").run.to_json()
        begun = time.process_time()
        read(recorded)
        reading = time.process_time() - begun
        begun = time.process_time()
        assert replay(recorded, agent().using(engine={"count": count})).is_same
        longer.add_row(f"{count:,}", f"{(time.process_time() - begun) * 1000:.1f}", f"{reading * 1000:.1f}")
    console.print(longer)


if __name__ == "__main__":
    main()
