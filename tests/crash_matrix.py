"""Kill a real run with SIGKILL at every dangerous point, resume it, and print what was lost, repeated or wrong.

Each case runs in children of this process (forked before anything has a thread). The first child is killed by itself:
before the record that a call begins, after it, after the tool's effect, or after the result is on the disk. The second
resumes the run from the database and brings it to its end; where it is asked about an unknown effect, it looks into the
file of effects, as a person would. Prints one JSON object per case.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from recordings import key_of, native_model, native_results, native_tools

from agentkit import Loop
from agentkit.agent.agent import Agent
from agentkit.core.messages import message_from_dict
from agentkit.journal import open_journal
from agentkit.journal.entries import Entry, Note

POINTS = ("before begun", "after begun", "after effect", "after commit")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def note(path: Path, line: str) -> None:
    """Append a line, and make sure that it is on the disk."""
    with path.open("a") as file:
        file.write(f"{line}\n")
        file.flush()
        os.fsync(file.fileno())


class Deadly:
    """A journal that kills its process before or after the rows of one call; otherwise it is the real journal."""

    def __init__(self, journal: Any, point: str, which: int) -> None:
        self.journal, self.point, self.left = journal, point, which

    def __getattr__(self, name: str) -> Any:
        return getattr(self.journal, name)

    def append(self, row: Any, *, sync: bool = True) -> int:
        begins = isinstance(row, Note) and row.kind == "call"
        commits = isinstance(row, Entry) and row.kind == "act"
        if begins and self.left == 0 and self.point == "before begun":
            die()
        number = self.journal.append(row, sync=sync)
        if begins:
            if self.left == 0 and self.point == "after begun":
                die()
            self.left -= 1
        if commits and self.left < 0 and self.point == "after commit":
            die()
        return number


def agent(run: dict[str, Any], home: Path, point: str = "", which: int = -1) -> Agent:
    effects, one_at_a_time = home / "effects", threading.Lock()

    def effect(key: str) -> None:
        with one_at_a_time:
            note(effects, key)
            if point == "after effect" and len(lines(effects)) == which + 1:
                die()

    journal: Any = open_journal(str(home / "runs.db"))
    if point:
        journal = Deadly(journal, point, which)
    tools = native_tools(run, effect)
    return Agent(
        native_model(run, lambda: note(home / "models", "call")),
        tools,
        journal=journal,
        engine=Loop("react", max_iterations=20),
    )


def first(run: dict[str, Any], home: Path, point: str, which: int) -> None:
    agent(run, home, point, which).start([message_from_dict(m) for m in run["messages"]], paused=True).drive()


def second(run: dict[str, Any], home: Path) -> None:
    mine = agent(run, home)
    journal = mine.journal
    assert journal is not None
    held = mine.resume(journal.runs()[0].run)
    recorded = sum(entry.kind == "act" for entry in held.entries)
    asked = 0
    held.drive()
    while held.waiting:
        asked += 1
        call = held.waiting[0][0].step.call  # type: ignore[union-attr]
        key = key_of(call.name, call.arguments)
        if Counter(lines(home / "effects"))[key] > traced(held, key):
            held.respond(native_results(run)[key])
        else:
            held.approve()
        held.drive()
    (home / "report").write_text(json.dumps({"answer": held.answer, "asked": asked, "recorded": recorded}))


def traced(held: Any, key: str) -> int:
    """Return how often the trace contains this call."""
    calls = [entry.step.call for entry in held.entries if entry.kind == "act"]
    return sum(key_of(call.name, call.arguments) == key for call in calls)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def in_child(function: Any, *arguments: Any) -> int:
    """Run a function in a child process, and return the signal that ended it, or 0."""
    child = os.fork()
    if child == 0:
        try:
            function(*arguments)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the child raised"
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def case(run: dict[str, Any], home: Path, point: str, which: int) -> dict[str, Any]:
    home.mkdir()
    killed = in_child(first, run, home, point, which)
    before = len(lines(home / "models"))
    in_child(second, run, home)
    report = json.loads((home / "report").read_text())
    models, effects = len(lines(home / "models")), len(lines(home / "effects"))
    return {
        "id": run["id"],
        "point": point,
        "which": which,
        "killed": killed,
        "models": models,
        "before": before,
        "effects": effects,
        **report,
    }


def main() -> None:
    source, home = Path(sys.argv[1]), Path(sys.argv[2])
    for number, line in enumerate(source.read_text(encoding="utf-8").split("\n")[:-1]):
        run = json.loads(line)
        for which in range(run["expected"]["n_tool_calls"]):
            for point in POINTS:
                print(json.dumps(case(run, home / f"{number}-{which}-{point[:8]}", point, which)), flush=True)


if __name__ == "__main__":
    main()
