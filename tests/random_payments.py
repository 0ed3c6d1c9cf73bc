"""A world in which runs pay at random, and a book of what was paid: each payment is either the first or was approved.

The book is independent of the ledger. Each result has a serial number; a payment needs no approval if the serial
numbers of all payments that were made so far, in any run of the tree, are on the line of the run that pays.
"""

from __future__ import annotations

import random
import re
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from agentkit import Act, Agent, Call, Reply, Run, load, tool
from agentkit.core.messages import canonical
from agentkit.errors import AgentkitError
from agentkit.journal.memory import MemoryJournal
from agentkit.models.base import Abilities, Request

ENGINES = ("react", "plan_and_execute", "reflexion", "dag")
PLAN = '[{"id": 1, "task": "a"}, {"id": 2, "task": "b", "needs": [1]}, {"id": 3, "task": "c"}]'

Key = tuple[str, bytes]


class World:
    """What was really paid in the tree of a run, and which payments a person has approved."""

    def __init__(self) -> None:
        self.paid: list[int] = []
        self.lock = threading.Lock()
        self.flying: dict[tuple[str, Any], int] = {}
        self.started: dict[tuple[str, Any], Any] = {}
        self.places: dict[int, tuple[int, str, int]] = {}
        self.approved: Counter[Key] = Counter()
        self.wrong: list[str] = []
        self.paying: Run | None = None
        self.gate: threading.Event | None = None
        self.out = threading.Event()
        self.tool = tool(effect="irreversible", name="pay", description="Pay.", timeout=None)(self.pay)

    def agent(self, engine: str, seed: str, journal: Any = None) -> Agent:
        """Return an agent that pays in this world."""
        journal = journal or MemoryJournal()
        return Agent(Whim(seed), [self.tool], engine=engine, journal=journal, budget={"max_model_calls": 60})

    def on_line(self, run: Run, own: Any = None) -> set[int]:
        """Return the serial numbers of the payments that the line of a run accounts for, for a payment at a place.

        One that was left before it came back belongs to the line if its own step has a result, or still waits for one.
        """
        trace, slot = run.trace, run.trace.tree.slot
        entries = trace.line.entries
        came_back = _numbers(list(trace.tree.entries.values()))
        written = {(slot(entry.parent), entry.path, entry.index) for entry in entries}
        written |= {trace.place(pending) for pending in trace.pending} - {own}
        left = {number for number, place in self.places.items() if number not in came_back and place in written}
        return _numbers(entries) | left

    def is_mine(self, run: Run, flight: Any, amount: int) -> bool:
        """Return whether a step that is being performed is a payment of this amount which has no serial number yet."""
        if type(flight.step) is not Act or flight.step.call.arguments != {"amount": amount}:
            return False
        return self.started.get((run.id, flight.place)) is not flight

    def pay(self, amount: int) -> str:
        with self.lock:
            serial = self.count(amount)
        if (gate := self.gate) is not None:
            self.out.set()
            gate.wait(30)
        return f"paid {amount} #{serial}"

    def count(self, amount: int) -> int:
        serial, run = len(self.paid) + 1, self.paying
        assert run is not None
        flights = list(run.state.in_flight.values())
        out = {self.flying.get((run.id, flight.place)) for flight in flights}  # of parallel lanes, not recorded yet
        own = next(flight.place for flight in flights if self.is_mine(run, flight, amount))
        out.discard(self.flying.get((run.id, own)))
        on_line = self.on_line(run, own)
        self.flying[run.id, own] = serial
        self.started[run.id, own] = next(flight for flight in flights if flight.place == own)
        key = run.id, canonical({"amount": amount})
        if not {*self.paid} <= on_line | out:
            if self.approved[key]:
                self.approved[key] -= 1
            else:
                self.wrong.append(
                    f"pay({amount}) in {run.id}: {self.paid} were paid, {sorted(on_line)} are on the line"
                )
        self.paid.append(serial)
        self.places[serial] = own
        return serial


def _numbers(entries: list[Any]) -> set[int]:
    texts = [entry.result.text for entry in entries if entry.kind == "act"]
    return {int(number) for text in texts for number in re.findall(r"#(\d+)", text)}


class Whim:
    """A model that mostly pays the same amounts at the same places, so that calls are repeated."""

    name = "whim"
    abilities = Abilities(tools=True)

    def __init__(self, seed: str) -> None:
        self.seed, self.calls = seed, 0

    def __call__(self, request: Request) -> Reply:
        self.calls += 1
        paid = sum(message.role == "tool" for message in request.chat)
        dice = random.Random(f"{self.seed} {paid} {len(request.chat)} {self.calls if self.calls % 5 == 0 else 0}")
        if request.role == "plan":
            return Reply(dice.choice(["1. pay\n2. pay more", PLAN]))
        if request.role in ("evaluate", "judge"):
            return Reply(dice.choice(["SATISFACTORY", "UNSATISFACTORY: more"]))
        if not request.tools or paid > 4 or dice.random() < 0.2:
            return Reply(f"answer {paid}")
        number = dice.choice([1, 1, 1, 2])
        calls = [Call("pay", {"amount": dice.choice([5, 5, 7])}, f"{paid}.{n}") for n in range(number)]
        return Reply("", tuple(calls))


def pick(run: Run, dice: random.Random) -> int:
    return dice.randrange(len(run))


def approve(run: Run, dice: random.Random, world: World) -> None:
    pending = [waiting for waiting, _ in run.waiting] or run.pending
    which = dice.randrange(len(pending) or 1)
    run.approve(which)
    if type(step := pending[which].step) is Act:
        world.approved[run.id, canonical(step.call.arguments)] += 1


def leave(run: Run, dice: random.Random, world: World) -> None:
    """Change the line while a payment is being made, and let the payment end afterwards."""
    world.gate, world.out = threading.Event(), threading.Event()
    try:
        run.play()
        while not world.out.wait(0.01) and run.control.running:
            pass
        verb = dice.choice(["edit", "undo", "rewind"])
        {"edit": edit, "undo": lambda run, dice, world: run.undo(), "rewind": rewind}[verb](run, dice, world)
    finally:
        gate, world.gate = world.gate, None
        run.pause()
        gate.set()
        run.wait()


def edit(run: Run, dice: random.Random, world: World) -> None:
    entry = run[pick(run, dice)]
    if entry.kind == "act":
        run.edit(entry, text=f"{entry.result.text} (edited)")
    else:
        run.edit(entry, text="edited")


def edit_arguments(run: Run, dice: random.Random, world: World) -> None:
    actions = [entry for entry in run.entries if entry.kind == "act"]
    run.edit(dice.choice(actions or run.entries), arguments={"amount": dice.choice([5, 6])})


def rewind(run: Run, dice: random.Random, world: World) -> None:
    lines = run.branches()
    run.rewind(dice.choice(dice.choice(lines)))


VERBS: dict[str, Callable[[Run, random.Random, World], Any]] = {
    "next": lambda run, dice, world: next(run, None),
    "drive": lambda run, dice, world: run.drive(),
    "step_over": lambda run, dice, world: run.step_over(),
    "undo": lambda run, dice, world: run.undo(),
    "redo": lambda run, dice, world: run.redo(),
    "rewind": rewind,
    "edit": edit,
    "edit arguments": edit_arguments,
    "inject": lambda run, dice, world: run.inject("Go on."),
    "break": lambda run, dice, world: run.break_at(tool="pay"),
    "unbreak": lambda run, dice, world: run.unbreak(),
    "approve": approve,
    "reuse": lambda run, dice, world: run.reuse(),
    "reject": lambda run, dice, world: run.reject("No."),
    "respond": lambda run, dice, world: run.respond("by hand"),
    "leave": leave,
}
AGAIN: dict[str, Callable[[Run, random.Random], Run]] = {
    "fork": lambda run, dice: run.fork(pick(run, dice)),
    "resume": lambda run, dice: run.agent.resume(run.id),
    "load": lambda run, dice: load(run.to_json(), run.agent),
}


def perform(verb: str, runs: list[Run], number: int, dice: random.Random, world: World) -> list[Run]:
    """Perform a verb on one of several runs of a tree, and return the runs afterwards."""
    run = world.paying = runs[number]
    try:
        if verb in VERBS:
            VERBS[verb](run, dice, world)
            return runs
        opened = AGAIN[verb](run, dice)
    except AgentkitError:
        return runs
    if verb == "load":
        return [opened]  # the copy has a tree of its own, which continues without the others
    return [*runs, opened] if verb == "fork" else [*runs[:number], opened, *runs[number + 1 :]]
