"""Random verbs on runs with hooks that decide at random: no call is performed that no hook has let pass."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from test_random_verbs import VERBS, Whim, look, matches_its_rows

from agentkit import Agent, tool
from agentkit.engines.registry import ENGINES
from agentkit.errors import HookRefused, ModelError, UsageError
from agentkit.hooks import allow, ask, change, deny, finish, guardrail, hook

SIZE = int(os.environ.get("AGENTKIT_SIZE", "3"))
"""How many seeds are tried for each engine."""

SENT: list[str] = []


@tool(effect="irreversible")
def send(text: str) -> str:
    """Send a message."""
    SENT.append(text)
    return f"sent {text}"


def hooks_of(dice: random.Random) -> list[Any]:
    """Return hooks that decide at random; only a call that `checked` has changed may be performed."""

    @hook("before", tool="send", timeout=30)
    def checked(call: Any) -> Any:
        throw = dice.random()
        if throw < 0.15:
            raise RuntimeError("down")
        if throw < 0.3:
            return deny("no")
        if throw < 0.35:
            return finish("enough", "enough")
        if throw < 0.4:
            return "nonsense"
        return change(arguments={"text": f"checked {call.arguments['text'].removeprefix('checked ')}"})

    @hook("before", tool="send", priority=1)
    def asked(call: Any) -> Any:
        return ask("sure?") if dice.random() < 0.3 else None

    @hook("after")
    def told(call: Any, message: Any) -> Any:
        return dice.choice([None, allow("noted"), change(result="changed"), deny("withheld")])

    @hook("before", "model")
    def slowed(step: Any) -> Any:
        return dice.choice([None, None, None, allow("go on"), deny("not now")])

    @hook("after", "run", most=2)
    def more(answer: str) -> Any:
        return dice.choice([None, "more", change(result="another answer")])

    return [checked, asked, told, slowed, more]


@guardrail("reply", action="hold")
def calm(text: str) -> str | None:
    """Hold replies that end with 7."""
    return "it ends with 7" if text.endswith("7") else None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(SIZE))
def test_no_call_is_performed_that_no_hook_has_let_pass(engine: str, seed: int) -> None:
    SENT.clear()
    dice = random.Random(f"{engine} {seed}")
    options: Any = {"hooks": hooks_of(random.Random(seed)), "guardrails": [calm]}
    agent = Agent(
        *(Whim(seed), [send, look]),
        engine=engine,
        journal="memory",
        budget={"max_model_calls": 40, "ask": False},
        **options,
    )
    run, history = agent.start("What now?", paused=True), []
    for _ in range(dice.randrange(8, 30)):
        verb = dice.choice(["next", "next", "drive", "approve", *VERBS])
        history.append(verb)
        try:
            result = VERBS[verb](run, dice.randrange(len(run)))
        except (UsageError, ModelError, HookRefused):
            continue
        if verb == "fork":
            run = result
        assert repr(run) and run._repr_html_() and run.branches() and run.result and list(run.events())
        assert matches_its_rows(run), history
    assert all(text.startswith("checked ") for text in SENT), history
