"""Kill processes that pay at random with SIGKILL, open their runs again, and print what was lost, repeated or wrong.

Each case runs in children of this process (forked before anything has a thread). The first child performs random verbs
on a run of an engine and its forks, and kills itself: before a row is written, after it, or after a payment. The second
opens all runs again, compares their rows with what the first one wrote, performs more verbs, and brings them to their
end. What was paid is in a file of its own, which is written with fsync. Prints one JSON object per case.

    python tests/kill_matrix.py FOLDER SIZE [postgresql://...]
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from crash_matrix import die, in_child, lines, note
from random_payments import AGAIN, ENGINES, VERBS, World, perform

from agentkit import Run
from agentkit.core.messages import canonical
from agentkit.core.steps import Act
from agentkit.errors import JournalInUse
from agentkit.journal import open_journal
from agentkit.journal.entries import Entry, Row
from agentkit.trace.ledger import PastCall

POINTS = ("before row", "after row", "after payment")
FIRST = ["next", "next", "drive", *(verb for verb in (*VERBS, *AGAIN) if verb != "load")]


class Recorded(World):
    """A world whose payments are in a file; after payment `last`, the process dies."""

    def __init__(self, path: Path, last: int = 0) -> None:
        super().__init__()
        self.path, self.last = path, last
        self.places = {number: tuple(place) for number, place in map(json.loads, lines(path))}
        self.paid = list(self.places)

    def count(self, amount: int) -> int:
        serial = super().count(amount)
        note(self.path, json.dumps([serial, self.places[serial]]))
        if serial == self.last:
            die()
        return serial


class Deadly:
    """A journal that logs each row that it has written, and dies before or after a certain one."""

    def __init__(self, journal: Any, log: Path, point: str, last: int) -> None:
        self.journal, self.log, self.point, self.left = journal, log, point, last

    def __getattr__(self, name: str) -> Any:
        return getattr(self.journal, name)

    def append(self, row: Row, *, sync: bool = True) -> int:
        self.left -= 1
        if self.left == 0 and self.point == "before row":
            die()
        number: int = self.journal.append(row, sync=sync)
        note(self.log, f"{number} {row.run} {row.kind}")
        if self.left == 0 and self.point == "after row":
            die()
        return number


def first(home: Path, engine: str, seed: str, point: str, last: int) -> None:
    world = Recorded(home / "paid", last if point == "after payment" else 0)
    journal: Any = Deadly(open_journal(place(home)), home / "rows", point, last)
    dice = random.Random(seed)
    runs = [world.agent(engine, seed, journal).start("What now?", paused=True)]
    for _ in range(dice.randrange(8, 30)):
        runs = perform(dice.choice(FIRST), runs, dice.randrange(len(runs)), dice, world)


def second(home: Path, engine: str, seed: str) -> None:
    world, journal = Recorded(home / "paid"), open_journal(place(home))
    assert journal is not None
    dice, agent, needless, asked = random.Random(f"{seed} again"), world.agent(engine, seed, journal), 0, 0
    names = [info.run for info in journal.runs() if info.status != "not begun"]
    written = lines(home / "rows")
    rows = {row.id: f"{row.id} {row.run} {row.kind}" for name in names for row in journal.rows(name)}
    lost = [line for line in written if rows.get(int(line.split()[0])) != line]
    runs = [soon(lambda name=name: agent.resume(name)) for name in names]
    for _ in range(dice.randrange(0, 6)):
        runs = perform(dice.choice(FIRST), runs, dice.randrange(len(runs)), dice, world) if runs else runs
    for run in runs:
        world.paying = run
        for _ in range(40):
            run.drive()
            if not run.waiting:
                break
            pending, verdict = run.waiting[0]
            if verdict.past is not None:
                asked += 1
                needless += not is_doubtful(run, verdict.past, world)
            decide(run, pending.step, dice, world)
    report = {"lost": lost, "wrong": world.wrong, "asked": asked, "needless": needless, "runs": len(runs)}
    (home / "report").write_text(json.dumps(report))


def place(home: Path) -> str:
    """Return the URL of the journal on PostgreSQL of all cases, or the file of one case."""
    return sys.argv[3] if len(sys.argv) > 3 else str(home / "runs.db")


def soon(open_run: Callable[[], Run]) -> Run:
    """Open a run when the server has noticed that its process was killed."""
    end = time.monotonic() + 60
    while True:
        try:
            return open_run()
        except JournalInUse:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def is_doubtful(run: Run, past: PastCall, world: World) -> bool:
    """Return whether there is a reason to ask: a payment that is not on the line, or a call that never ended."""
    if not {*world.paid} <= world.on_line(run):
        return True
    slot, begun = run.trace.tree.slot, dict[Any, int]()
    for row in run.rows():
        if isinstance(row, Entry):
            ended = begun.pop((row.run, slot(row.parent), row.path, row.index), 0) if row.kind == "act" else 0
            if ended == past.begun.id and row.author == "tool":
                return False
        elif row.kind == "call":
            begun[row.run, row.data["parent"], row.data["path"], row.data["index"]] = row.id
    return True


def decide(run: Run, step: Any, dice: random.Random, world: World) -> None:
    choice = dice.choice(["approve", "reject", "respond"])
    if choice == "approve" and type(step) is Act:
        world.approved[run.id, canonical(step.call.arguments)] += 1
        run.approve()
    elif choice == "reject" and type(step) is Act:
        run.reject("No.")
    else:
        run.respond("by hand")


def empty(url: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS agentkit CASCADE")


def case(home: Path, engine: str, number: int) -> dict[str, Any] | None:
    """Return what came of one case; None if the process ended before it could be killed."""
    seed, home = f"{engine} {number}", home / f"{engine}-{number}"
    home.mkdir()
    if len(sys.argv) > 3:
        empty(sys.argv[3])
    dice = random.Random(f"kill {seed}")
    point = dice.choice(POINTS)
    last = dice.randrange(1, 5) if point == "after payment" else dice.randrange(2, 40)
    if in_child(first, home, engine, seed, point, last) == 0:
        return None
    in_child(second, home, engine, seed)
    report = json.loads((home / "report").read_text())
    return {"engine": engine, "number": number, "point": point, "last": last, **report}


def main() -> None:
    home, size = Path(sys.argv[1]), int(sys.argv[2])
    for engine in ENGINES:
        killed = number = 0
        while killed < size:
            done = case(home, engine, number)
            number += 1
            if done is not None:
                killed += 1
                print(json.dumps(done), flush=True)


if __name__ == "__main__":
    main()
