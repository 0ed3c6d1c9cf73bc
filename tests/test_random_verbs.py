"""Random sequences of verbs on runs of every engine: nothing breaks, and the rows always lead to the same position."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from agentkit import Agent, Call, Reply, Run, load, tool
from agentkit.engines.registry import ENGINES
from agentkit.errors import ModelError, UsageError
from agentkit.models.base import Abilities, Request
from agentkit.trace.trace import Trace

PLANS = ("1. look\n2. send", '[{"id": 1, "task": "a"}, {"id": 2, "task": "b", "needs": [1]}, {"id": 3, "task": "c"}]')


@tool(effect="irreversible")
def send(text: str) -> str:
    """Send a message."""
    return f"sent {text}"


@tool(effect="pure")
def look(city: str) -> str:
    """Look at the weather."""
    return f"rain in {city}"


class Whim:
    """A model that does anything that the engines expect, at random."""

    name = "whim"
    abilities = Abilities(tools=True)

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.calls = 0

    def __call__(self, request: Request) -> Reply:
        self.calls += 1
        number, throw = str(self.calls), self.dice.random()
        if request.role == "plan":
            return Reply(self.dice.choice(PLANS))
        if request.role in ("evaluate", "judge"):
            return Reply(self.dice.choice(["SATISFACTORY", "UNSATISFACTORY: more", "7 of 10", "2 of 10"]))
        if not request.tools or throw > 0.5:
            return Reply(f"answer {number}")
        first = Call("look", {"city": number}, f"a{number}")
        return Reply("", (first,) if throw < 0.3 else (first, Call("send", {"text": number}, f"b{number}")))


def loads_the_same(run: Run, entry: int) -> None:
    loaded = load(run.to_json(), run.agent)
    assert [repr(entry) for entry in loaded.entries] == [repr(entry) for entry in run.entries]


def looks_the_same(run: Run, entry: int) -> None:
    before = run.rows()
    looked = run.agent.look(run)
    assert [repr(entry) for entry in looked.entries] == [repr(entry) for entry in run.entries]
    assert (looked.answer, looked.trace.difference, run.rows()) == (run.answer, run.trace.difference, before)


VERBS: dict[str, Callable[[Run, int], Any]] = {
    "next": lambda run, entry: next(run, None),
    "step_over": lambda run, entry: run.step_over(),
    "drive": lambda run, entry: run.drive(),
    "edit": lambda run, entry: run.edit(entry, text="edited"),
    "undo": lambda run, entry: run.undo(),
    "redo": lambda run, entry: run.redo(),
    "rewind": lambda run, entry: run.rewind(entry),
    "inject": lambda run, entry: run.inject("hey"),
    "fork": lambda run, entry: run.fork(entry),
    "approve": lambda run, entry: run.approve(),
    "reject": lambda run, entry: run.reject("no"),
    "respond": lambda run, entry: run.respond("by hand"),
    "load": loads_the_same,
    "look": looks_the_same,
}


def matches_its_rows(run: Run) -> bool:
    """Return whether reading the rows again leads to the same line and the same pending steps."""
    trace = Trace(run.id, run.agent._maker(run.task), run.agent.arounds)
    trace.load(run.agent.journal.rows(run.id))  # type: ignore[union-attr]
    trace.rebuild()
    assert trace.difference == run.trace.difference
    return [entry.id for entry in trace.line] == [entry.id for entry in run.entries] and [
        (pending.path, pending.index) for pending in trace.pending
    ] == [(pending.path, pending.index) for pending in run.pending]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(12))
def test_after_any_verbs_a_run_can_be_shown_and_matches_its_rows(engine: str, seed: int) -> None:
    dice = random.Random(f"{engine} {seed}")
    agent = Agent(
        Whim(seed), [send, look], engine=engine, journal="memory", budget={"max_model_calls": 40, "ask": False}
    )
    run = agent.start("What now?", paused=True)
    history = []
    for _ in range(dice.randrange(5, 25)):
        verb = dice.choice(["next", "next", *VERBS])
        history.append(verb)
        try:
            result = VERBS[verb](run, dice.randrange(len(run)))
        except (UsageError, ModelError):
            continue
        if verb == "fork":
            run = result
        assert repr(run) and run._repr_html_() and run.branches() and run.result
        assert run.where() is not None and list(run.events())
        assert matches_its_rows(run), history
