"""`run.at(entry)`: the engine as it was at a step, compared with `run.where()` when that step was really pending."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Generator
from typing import Any

import pytest
from engines.actors import Actor
from test_random_verbs import Whim

from agentkit import Agent, All, Answer, Call, Chat, Reply, Run, Think, load, tool
from agentkit.core.steps import After
from agentkit.engines.registry import ENGINES
from agentkit.errors import ModelError, Undecided, UsageError
from agentkit.models import Scripted
from agentkit.models.base import Abilities
from agentkit.stepper.frames import FrameInfo
from agentkit.stepper.stepper import Pending
from agentkit.trace.replay import Replay

AROUNDS: dict[str, Any] = {"self_check": 1, "structured_thinking": True, "window": 3, "warn_cycles": 2, "compact": 100}

performed: list[str] = []


@tool(effect="irreversible")
def send(text: str) -> str:
    """Send a message."""
    performed.append(text)
    return f"sent {text}"


@tool(effect="pure")
def look(query: str = "", city: str = "") -> str:
    """Look something up."""
    performed.append(query)
    return f"found: {query}{city}"


def texts(frames: list[FrameInfo]) -> list[tuple[Any, ...]]:
    """Return frames as texts, which stay as they are when the engine goes on; addresses and ids differ in a replay.

    The list of answers that the lanes of `dag` share is left out: a moment has only those that led to the step.
    """

    def text(value: Any) -> str:
        return re.sub(r" at 0x[0-9a-f]+|\b\d{12,}(?=:)|\banswers=\[.*", "", repr(value))

    return [
        (frame.function, frame.line, frame.lane, frame.around, {name: text(it) for name, it in frame.locals.items()})
        for frame in frames
    ]


def chain(run: Run, pending: Pending) -> list[tuple[Any, ...]]:
    """Return the frames of `run.where()` that led to a pending step."""
    lanes, lane = set(), pending.lane
    while lane is not None:
        lanes.add(lane.path)
        lane = lane.parent
    return texts([frame for frame in run.where() if frame.lane in lanes])


class Recorder:
    """Steps a run, and notes what `run.where()` shows while each step is pending."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.live: dict[int, list[tuple[Any, ...]]] = {}

    def do(self, verb: Callable[[], Any]) -> Any:
        """Do something that performs or answers at most one step."""
        tree = self.run.trace.tree
        known = set(tree.entries)
        before = {(pending.path, pending.index): chain(self.run, pending) for pending in self.run.pending}
        result = verb()
        for entry in [entry for number, entry in tree.entries.items() if number not in known]:
            if entry.original in self.live:
                self.live[entry.id] = self.live[entry.original]
            elif (entry.path, entry.index) in before and not entry.original:
                self.live[entry.id] = before[entry.path, entry.index]
        return result

    def compare(self) -> int:
        """Compare every step of every branch with what was noted; return how many there were."""
        compared = 0
        for line in self.run.branches():
            replay = Replay(self.run.trace)
            for entry in line:
                if entry.id not in self.live:
                    continue
                compared += 1
                moment = self.run.at(entry)
                assert (moment.problem, texts(moment.where())) == ("", self.live[entry.id]), (entry.path, entry.index)
                assert texts(replay.to(line, entry).frames) == self.live[entry.id], "going on is like starting again"
        return compared


def agent(model: Any, engine: str, **options: Any) -> Agent:
    return Agent(
        model, [send, look], engine=engine, journal="memory", budget={"max_model_calls": 60, "ask": False}, **options
    )


@pytest.mark.parametrize("options", [{}, AROUNDS], ids=["plain", "arounds"])
@pytest.mark.parametrize("engine", ENGINES)
def test_each_step_of_each_engine_is_shown_as_it_was_when_it_was_pending(engine: str, options: dict[str, Any]) -> None:
    run = agent(Actor(), engine, **options).start("What is it?", paused=True)
    recorder = Recorder(run)
    while recorder.do(lambda: next(run, None)) and len(run) < 60:
        pass
    assert recorder.compare() == len(run) - 1 > 0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(8))
def test_moments_stay_true_after_edits_undos_rewinds_and_forks(engine: str, seed: int) -> None:
    dice = random.Random(f"{engine} {seed}")
    run = agent(Whim(seed), engine).start("What now?", paused=True)
    recorder = Recorder(run)
    verbs: list[Callable[[Run, int], Any]] = [
        *[lambda run, entry: next(run, None)] * 6,
        lambda run, entry: next(run, None) if not run.pending else run.edit(run.pending[-1], text="by hand"),
        lambda run, entry: run.edit(entry, text="edited"),
        lambda run, entry: run.undo(),
        lambda run, entry: run.redo(),
        lambda run, entry: run.rewind(entry),
        lambda run, entry: run.inject("hey"),
        lambda run, entry: run.approve(),
        lambda run, entry: run.reject("no"),
        lambda run, entry: run.fork(entry),
    ]
    for _ in range(30):
        verb, entry = dice.choice(verbs), dice.randrange(len(run))
        try:
            result = recorder.do(functools.partial(verb, run, entry))
        except (UsageError, ModelError, Undecided):
            continue
        if isinstance(result, Run):
            run = recorder.run = result
    recorder.compare()


def test_looking_at_the_past_performs_nothing_and_records_nothing() -> None:
    model, events = Actor(), []
    run = agent(model, "dag").start("What is it?", paused=True)
    run.drive()
    run.on_event(events.append)
    before = len(model.requests), len(performed), run.rows(), run.usage, run.entries, run.status, run.where()
    for entry in run.entries:
        assert run.at(entry).problem == ""
    after = len(model.requests), len(performed), run.rows(), run.usage, run.entries, run.status, run.where()
    assert (before, events) == (after, [])


def weather_run() -> Run:
    call = Reply("I look", (Call("look", {"query": "it"}, "c1"),))
    return Agent(Scripted([call, "Rain."], abilities=Abilities(tools=True)), [look]).start("Weather?", paused=True)


def test_a_moment_names_what_has_changed_since_the_step_before() -> None:
    run = weather_run()
    run.drive()
    assert {change.name for change in run.at(2).changes} == {"chat", "thought", "iterations"}
    (iterations,) = [change for change in run.at(2).changes if change.name == "iterations"]
    assert (iterations.function, iterations.before, iterations.now) == ("react", "0", "1")
    assert run.at(1).changes == () and run.at(0).where() == []
    assert "iterations: 0 → 1" in repr(run.at(2))


def test_a_moment_stays_as_it_is_when_another_one_is_looked_at() -> None:
    run = weather_run()
    run.drive()
    first = run.at(1)
    before = texts(first.where())
    run.at(3)
    run.undo()
    assert texts(first.where()) == before


def test_an_entry_of_another_branch_is_shown_on_its_own_branch() -> None:
    run = weather_run()
    run.drive()
    answer = run[3]
    run.edit(2, text="snow")
    assert run.at(answer).problem == "" and run.at(answer).entry is answer


def test_an_entry_must_exist() -> None:
    with pytest.raises(UsageError, match="there is no entry 7"):
        weather_run().at(7)


Lane = Generator[Any, Any, Any]


def lane(name: str, steps: int) -> Lane:
    for number in range(steps):
        reply = yield Think(Chat.of(f"{name} {number}"), role=name)
    return reply.text


def out_of_order(task: Any) -> Lane:
    """Start a part that needs a later one, and only two at a time."""
    results = yield All([After((1,), lambda it: lane(f"after {it}", 2)), lane("b", 2), lane("c", 3), lane("d", 1)], 2)
    return Answer(" ".join(results), task)


def test_lanes_that_wait_for_others_are_shown_at_each_step() -> None:
    run = Agent(Scripted(["1", "2", "3", "4", "5", "6", "7", "8"]), engine=out_of_order).start("Go", paused=True)
    recorder = Recorder(run)
    while recorder.do(lambda: next(run, None)):
        pass
    assert recorder.compare() == len(run) - 1 == 9


def test_an_engine_that_has_changed_says_so_in_place_of_its_variables() -> None:
    changed = False

    def engine(task: Any) -> Lane:
        yield Think(task, role="thought")
        reply = yield Think(task, role="revise" if changed else "thought")
        return Answer(reply.text, task)

    run = Agent(Scripted(["a", "b"]), engine=engine).start("Go", paused=True)
    run.drive()
    changed = True
    assert run.at(1).problem == ""
    assert run.at(2).where() == []
    assert run.at(2).problem.startswith("the engine now asks for think (revise)")


def test_an_engine_that_fails_or_is_missing_says_so_in_place_of_its_variables() -> None:
    fails = False

    def engine(task: Any) -> Lane:
        reply = yield Think(task)
        if fails:
            raise ValueError("broken")
        reply = yield Think(task)
        return Answer(reply.text, task)

    run = Agent(Scripted(["a", "b"]), engine=engine).start("Go", paused=True)
    run.drive()
    fails = True
    assert "broken" in run.at(2).problem
    opened = load(run.to_json())
    assert opened.read_only and "not available here" in opened.at(1).problem
