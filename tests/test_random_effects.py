"""Random sequences of verbs on runs with an irreversible tool: each effect is either the first one or was approved.

`AGENTKIT_SIZE` is the number of sequences for each engine: 15 by default, 1500 by hand.
"""

from __future__ import annotations

import os
import random

import pytest
from random_payments import AGAIN, ENGINES, VERBS, World, perform

SIZE = int(os.environ.get("AGENTKIT_SIZE", "15"))


def play(engine: str, seed: int) -> tuple[World, list[str]]:
    """Return the world after a random sequence of verbs, and the sequence."""
    dice, world, history = random.Random(f"{engine} {seed}"), World(), list[str]()
    runs = [world.agent(engine, f"{engine} {seed}").start("What now?", paused=True)]
    for _ in range(dice.randrange(8, 30)):
        verb, number = dice.choice(["next", "next", "drive", *VERBS, *AGAIN]), dice.randrange(len(runs))
        history.append(f"{verb} {number}")
        runs = perform(verb, runs, number, dice, world)
    return world, history


@pytest.mark.timeout(0)
@pytest.mark.parametrize("engine", ENGINES)
def test_each_effect_is_the_first_or_was_approved(engine: str) -> None:
    payments = 0
    for seed in range(SIZE):
        world, history = play(engine, seed)
        assert not world.wrong, (seed, world.wrong, history)
        payments += len(world.paid)
    assert payments > SIZE, "the sequences should pay often enough to show something"
