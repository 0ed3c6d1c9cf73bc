"""Kill real runs with SIGKILL, damage their files, open them again, and print what was lost and what was told.

    python damage_matrix.py FOLDER KIND FILE COUNT SEED     # KIND: flip, cut, delete or "" (none); FILE: "" or -wal
    python damage_matrix.py FOLDER kills "" COUNT SEED      # kill a process that uses one journal, again and again

Each case forks a child (this process has no thread), which performs a run with calls of an irreversible and a pure tool
and reports each row that is on the disk by a pipe. It is killed at a random row or moment or after the end of the run,
or between a row and its head, or it closes the journal. Then the file is damaged, and another child looks at the run, verifies it and resumes it. One
JSON object per case is printed: `lost` is how many of the synced rows are not as they were, `told` what a person reads.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from agentkit import Agent, Call, Loop, Reply, tool
from agentkit.errors import AgentkitError
from agentkit.journal import open_journal, verify
from agentkit.journal.entries import Note, Row, RunInfo
from agentkit.journal.heads import Head, Heads
from agentkit.journal.read_only import ReadOnlyJournal
from agentkit.journal.sqlite import SqliteJournal
from agentkit.models.base import Abilities, Request

TURNS = 12


@tool(effect="irreversible")
def pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"


@tool(effect="pure")
def look(amount: int) -> str:
    """Look at an amount."""
    return f"an amount of {amount}" + "." * 500


class Model:
    """A model that asks for a call in each turn, and then answers."""

    name = "turns"
    abilities = Abilities(tools=True)

    def __init__(self) -> None:
        self.turn = 0

    def __call__(self, request: Request) -> Reply:
        self.turn += 1
        if self.turn > TURNS:
            return Reply("done")
        call = Call("pay" if self.turn % 3 else "look", {"amount": self.turn}, f"call-{self.turn}")
        return Reply(f"turn {self.turn}" + " and some words" * 20, (call,))


def agent(journal: Any) -> Agent:
    return Agent(Model(), [pay, look], journal=journal, engine=Loop("react", max_iterations=TURNS + 1))


class Reporting:
    """A journal that reports each row that is on the disk, and kills its process at one of them."""

    def __init__(self, journal: Any, pipe: int, last: int) -> None:
        self.journal, self.pipe, self.last = journal, pipe, last

    def __getattr__(self, name: str) -> Any:
        return getattr(self.journal, name)

    def append(self, row: Row, *, sync: bool = True) -> int:
        number = self.journal.append(row, sync=sync)
        if sync:
            os.write(self.pipe, f"{number}\n".encode())
        if number == self.last:
            os.kill(os.getpid(), signal.SIGKILL)
        return number


class Deadly(Heads):
    """Heads whose process is killed after row `last` was synced and before it is written here."""

    def __init__(self, path: Path, last: int) -> None:
        super().__init__(path)
        self.last = last

    def advance(self, tree: str, head: Head) -> None:
        if head.number >= self.last:
            os.kill(os.getpid(), signal.SIGKILL)
        super().advance(tree, head)


def perform(path: Path, pipe: int, how: str, last: int) -> None:
    """Run to the end, or to row `last`; then close the journal, or die with the run ended and the journal open."""
    opened: Any = open_journal(path)
    if how == "before a head":
        opened._heads = Deadly(path, last)
    journal: Any = Reporting(opened, pipe, last if how == "at a row" else 0)
    agent(journal).run("pay and look")
    if how == "closed":
        journal.close()
    os.kill(os.getpid(), signal.SIGKILL)


def check(path: Path, before: list[str], synced: int) -> dict[str, Any]:
    """Return what is lost of the rows that were synced, and what a person is told in each way to open the run."""
    told: dict[str, str] = {}
    rows: list[str] = []

    def ask(way: str, question: Any) -> None:
        try:
            told[way] = question() or ""
        except AgentkitError as error:
            told[way] = f"{type(error).__name__}: {error}"
            rows.extend(map(repr, getattr(error, "sound", ())))

    def look() -> str:
        journal: Any = open_journal(path, read_only=True)
        (info,) = journal.runs()
        rows.extend(map(repr, journal.rows(info.run)))
        text: str = journal.lost(info.run)
        return text

    def resume() -> str:
        journal: Any = open_journal(path)
        run = agent(journal).resume(journal.runs()[0].run)
        return run.read_only or run.hold

    ask("look", look)
    ask("verify", lambda: "; ".join(v.text for v in verify(journal=path) if not v.is_sound))
    ask("resume", resume)
    lost = sum(rows[number : number + 1] != [before[number]] for number in range(synced))
    return {"rows": len(before), "synced": synced, "lost": lost, "told": told}


def damage(file: Path, kind: str, chance: random.Random) -> None:
    if kind == "delete":
        file.unlink()
        return
    data = bytearray(file.read_bytes())
    if kind == "cut":
        del data[chance.randrange(len(data)) :]
    else:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    file.write_bytes(data)


def in_child(function: Any) -> int:
    """Start a child process that runs a function, and return its number."""
    child = os.fork()
    if child == 0:
        try:
            function()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return child


def case(folder: Path, kind: str, end: str, chance: random.Random) -> None:
    """Run one case, and print it."""
    path = folder / "journal" / "runs.db"
    path.parent.mkdir(parents=True)
    reading, writing = os.pipe()
    how = chance.choice(("at a row", "before a head", "at a moment", "at the end", "closed"))
    if how == "closed" and (end or not kind):
        how = "at a row"
    last = chance.randrange(2, 3 * TURNS)
    child = in_child(lambda: perform(path, writing, how, last))
    os.close(writing)
    with os.fdopen(reading) as lines:
        numbers = [int(lines.readline())]
        if how == "at a moment":
            time.sleep(chance.uniform(0, 0.15))
            os.kill(child, signal.SIGKILL)
        numbers += [int(line) for line in lines]
    os.waitpid(child, 0)
    before = [repr(row) for row in read(shutil.copytree(path.parent, folder / "copy") / "runs.db")]
    assert len(before) >= numbers[-1], "a row that was synced did not survive the kill"
    if kind:
        damage(path.with_name(path.name + end), kind, chance)
    about = {"kind": kind, "end": end, "how": how}
    child = in_child(lambda: print(json.dumps(about | check(path, before, numbers[-1])), flush=True))
    assert os.waitpid(child, 0)[1] == 0, about
    shutil.rmtree(folder)


def live(path: Path, pipe: int, chance: random.Random) -> None:
    """Create, continue and delete runs for ever, and report each row that is on the disk, and what was deleted."""
    journal = SqliteJournal(path)

    def report(kind: str, run: str, number: int = 0) -> None:
        os.write(pipe, f"{kind} {run} {number}\n".encode())

    for number in itertools.count():
        runs = [info.run for info in journal.runs()]
        run = chance.choice(runs) if runs and chance.random() < 0.5 else f"{os.getpid()}-{number}"
        if run in runs:
            journal.claim(run)
        else:
            tree = chance.choice([run, *runs])
            tree = next((info.tree for info in journal.runs() if info.run == tree), run)
            journal.create(RunInfo(run, tree, "", "", "", "running", 0, 0.0, time.time()))
        for _ in range(chance.randrange(4)):
            report("row", run, journal.append(Note("status", {"text": "x" * chance.randrange(3000)}, run=run)))
        journal.set_status(run, "paused")
        if chance.random() < 0.8:
            journal.release(run)
        else:
            journal.close()
            journal = SqliteJournal(path)
        if chance.random() < 0.3:
            report("delete", run)
            journal.delete(run)


def kills(folder: Path, count: int, seed: int) -> None:
    """Kill a process that creates, continues and deletes runs, again and again on one journal; print each alarm."""
    path, chance, synced = folder / "runs.db", random.Random(seed), dict[str, int]()
    looked = ReadOnlyJournal(path)
    for number in range(count):
        reading, writing = os.pipe()
        child = in_child(lambda: live(path, writing, random.Random(f"{seed} {number}")))  # noqa: B023
        os.close(writing)
        time.sleep(chance.uniform(0.02, 0.2))
        os.kill(child, signal.SIGKILL)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL, "the process ended before it was killed"
        with os.fdopen(reading) as lines:
            for kind, run, row in map(str.split, lines):
                if kind == "row":
                    synced[run] = int(row)
                else:
                    synced.pop(run, None)
        listed = {info.run: info.status for info in looked.runs()}
        told = {run: status for run, status in listed.items() if status in ("damaged", "lost")}
        told |= {run: text for run in listed if (text := looked.lost(run))}
        lost = [run for run, row in synced.items() if run not in listed or len(looked.rows(run)) < row]
        print(json.dumps({"kills": number, "runs": len(listed), "told": told, "lost": lost}), flush=True)


def read(path: Path) -> list[Row]:
    journal: Any = open_journal(path, read_only=True)
    rows: list[Row] = journal.rows(journal.runs()[0].run)
    return rows


def main() -> None:
    folder, kind, end, count, seed = Path(sys.argv[1]), *sys.argv[2:4], *map(int, sys.argv[4:6])
    if kind == "kills":
        return kills(folder, count, seed)
    for number in range(count):
        case(folder / f"{number}", kind, end, random.Random(f"{seed} {kind} {end} {number}"))


if __name__ == "__main__":
    main()
