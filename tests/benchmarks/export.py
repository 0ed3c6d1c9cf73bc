"""What an export costs: 1,000 entries to a notebook and back, to HTML and Markdown, and how large each becomes.

Two traces: one with the texts of an ordinary run, about 200 characters each, and one in which every observation has
20,000 characters, so that folding and cutting show. `import nbformat` (most of a second) is not in the figures.
"""

from __future__ import annotations

import importlib
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from agentkit import Agent, Call, Loop, Reply, Run, tool
from agentkit.export import adopt, data_of_notebook, html, markdown, rows_of, to_html, to_json, to_markdown, to_notebook
from agentkit.journal import MemoryJournal
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

ENTRIES = 1_000
WORDS = "the quick brown fox jumps over the lazy dog and runs into the forest before the rain begins again "


@tool(effect="pure", timeout=None)
def look(page: int, topic: str) -> str:
    """Look a page up."""
    return observed[page % len(observed)]


observed: list[str] = []


def run_of(characters: int) -> Run:
    """A run of as many entries as are wanted, whose observations have so many characters."""
    observed[:] = [(f"{n}: " + WORDS * (characters // len(WORDS) + 1))[:characters] for n in range(100)]
    turns = (ENTRIES - 2) // 2
    replies = [Reply(f"{n}. {WORDS * 2}", (Call("look", {"page": n, "topic": WORDS}, f"c{n}"),)) for n in range(turns)]
    model = Scripted([*replies, "done"], abilities=Abilities(tools=True))
    run = Agent(model, [look], journal=MemoryJournal(), engine=Loop("react", max_iterations=turns + 1)).start(
        "Look everything up.", paused=True
    )
    run.drive()
    return run


def measured(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the best time of three rounds, in seconds, and what the work returned."""
    times, result = [], None
    for _ in range(3):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def rows(run: Run, folder: Path) -> list[tuple[str, float, int]]:
    """Return a line of the table for each format: what, seconds, bytes."""
    path = folder / "run.ipynb"
    data = json.loads(json.dumps(to_json(run)))
    jobs: list[tuple[str, Callable[[], Any]]] = [
        ("to_json", lambda: json.dumps(to_json(run))),
        ("to_notebook, validated and written", lambda: str(to_notebook(run, path).nbformat)),
        ("data_of_notebook, verified", lambda: json.dumps(data_of_notebook(path))),
        ("rows_of", lambda: str(len(rows_of(data)))),
        ("adopt and resume", lambda: repr(resumed(run, data))),
        ("html.run (a repr)", lambda: html.run(run)),
        ("markdown.run (a repr)", lambda: markdown.run(run)),
        ("to_html, whole", lambda: to_html(run)),
        ("to_markdown, whole", lambda: to_markdown(run)),
    ]
    found = []
    for name, job in jobs:
        seconds, text = measured(job)
        found.append((name, seconds, path.stat().st_size if "written" in name else len(text.encode())))
    return found


def resumed(run: Run, data: dict[str, Any]) -> Run:
    journal = MemoryJournal()
    return run.agent.using(journal=journal).resume(adopt(data, journal))


def main() -> None:
    importlib.import_module("nbformat")
    for title, characters in (("observations of 200 characters", 200), ("observations of 20,000 characters", 20_000)):
        run = run_of(characters)
        table = Table("what", "ms", "kB", title=f"{len(run)} entries, {title}")
        with tempfile.TemporaryDirectory() as folder:
            for name, seconds, size in rows(run, Path(folder)):
                table.add_row(name, f"{seconds * 1000:,.0f}", f"{size / 1000:,.0f}" if size > 1000 else "")
        Console().print(table)
    print("the best of 3 rounds; the goal for a notebook of 1,000 entries is less than 500 ms")


if __name__ == "__main__":
    main()
