"""Runs of random verbs and hostile recordings, played against today's code: the same, or told why not."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
from crafted_recordings import crafted, tools
from test_random_verbs import VERBS, Whim, look, send

from agentkit import Agent
from agentkit.engines.registry import ENGINES
from agentkit.errors import ModelError, UsageError
from agentkit.experiments.regression import find, replay, update

SIZE = int(os.environ.get("AGENTKIT_SIZE", "3"))
"""How many runs of each engine are played; 100 or more by hand."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(SIZE))
def test_after_any_verbs_a_run_is_the_same_as_its_recording(engine: str, seed: int) -> None:
    dice = random.Random(f"played {engine} {seed}")
    agent = Agent(
        Whim(seed), [send, look], engine=engine, journal="memory", budget={"max_model_calls": 40, "ask": False}
    )
    run = agent.start("What now?", paused=True)
    history = []
    for _ in range(dice.randrange(5, 25)):
        verb = dice.choice(["next", "next", *(verb for verb in VERBS if verb not in ("load", "look"))])
        history.append(verb)
        try:
            result = VERBS[verb](run, dice.randrange(len(run)))
        except (UsageError, ModelError):
            continue
        run = result if verb == "fork" else run
    for tested in (agent, None):
        [played] = replay(run.to_json(), tested)
        if tested is None and "does not say what" in played.problem:
            continue  # the engine describes its tools in words only
        assert played.status == "same", (history, played)
        today, then = played.today.entries, run.entries
        assert [(e.kind, e.path, e.index) for e in today] == [(e.kind, e.path, e.index) for e in then], history


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(SIZE))
def test_a_change_is_noticed_at_the_first_request_and_gone_after_an_update(
    engine: str, seed: int, tmp_path: Path
) -> None:
    options = {"engine": engine, "journal": "memory", "budget": {"max_model_calls": 40, "ask": False}}
    before = Agent(Whim(seed), [look], instructions="Be brief.", **options)
    after = Agent(Whim(seed), [look], instructions="Be very brief.", **options)
    before.run("What now?").run.to_json(tmp_path / "one.json")
    [result] = replay(tmp_path, after)
    assert result.difference is not None and (result.difference.entry, result.difference.what) == (1, "the request")
    changed, problem = update(find(tmp_path)[0], after)
    assert changed, problem
    assert replay(tmp_path, after).is_same and not replay(tmp_path, before).is_same


def test_a_crafted_recording_is_a_result_whatever_is_in_it() -> None:
    played = 0
    for file in crafted(100 * SIZE):
        if file.door != "load":
            continue
        try:
            data = json.loads(file.content)
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict):
            for agent in (None, Agent("offline", tools(), engine=file.engine, journal="memory")):
                found = replay(data, agent)
                assert repr(found) and found.to_markdown() and found._repr_html_()
                played += found[0].status != "cannot be played"
    assert played
