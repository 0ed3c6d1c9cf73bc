"""Random sequences of verbs on traced runs: every span ends, its parent is right, and the tokens add up.

`AGENTKIT_SIZE` sets how many sequences are tried for each engine.
"""

from __future__ import annotations

import os
import random

import pytest
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from spans import CALLS, Collected, check
from test_random_verbs import VERBS, Whim, look, send

from agentkit import Reply
from agentkit.core.usage import Usage
from agentkit.engines.registry import ENGINES
from agentkit.errors import ModelError, UsageError
from agentkit.models.base import Request

SEEDS = range(int(os.environ.get("AGENTKIT_SIZE", "4")))


class Counted(Whim):
    """A model that does anything, fails at times, and says what it has used."""

    def __call__(self, request: Request) -> Reply:
        throw = self.dice.random()
        if throw < 0.1:
            failure = ModelError("not now")
            failure.usage = Usage(input=3, cost=0.001)
            raise failure
        reply = super().__call__(request)
        reply.usage = Usage(input=self.dice.randrange(1, 99), output=self.dice.randrange(9), cost=0.01)
        return reply


class Open(SpanProcessor):
    """A processor that knows which spans have begun and not ended."""

    def __init__(self) -> None:
        self.spans: set[int] = set()

    def on_start(self, span: Span, parent_context: object = None) -> None:
        self.spans.add(span.context.span_id)

    def on_end(self, span: ReadableSpan) -> None:
        self.spans.remove(span.context.span_id)  # raises if it ended twice


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", SEEDS)
def test_after_any_verbs_all_spans_have_ended_in_their_parents_and_the_tokens_add_up(engine: str, seed: int) -> None:
    dice = random.Random(f"{engine} {seed}")
    collected, unended = Collected(), Open()
    collected.provider.add_span_processor(unended)
    agent = collected.agent(Counted(seed), [send, look], engine=engine, budget={"max_model_calls": 40, "ask": False})
    run = agent.start("What now?", paused=True)
    runs, history = [run], list[str]()
    for _ in range(dice.randrange(5, 20)):
        verb = dice.choice(["next", "next", "drive", *VERBS])
        history.append(verb)
        try:
            result = VERBS[verb](run, dice.randrange(len(run)))
        except (UsageError, ModelError):
            continue
        finally:
            assert not unended.spans, history
        if verb == "fork":
            run = result
            runs.append(run)
    begun = [row for row in run.rows() if getattr(row, "kind", "") == "traced"]
    check(collected, rests=len(begun))
    totals = [run.usage for run in runs]
    assert collected.tokens() == (sum(used.input for used in totals), sum(used.output for used in totals)), history
    assert collected.cost() == pytest.approx(sum(used.cost for used in totals))
    made = [span for span in collected.spans if span.name.split()[0] in CALLS]
    tokens = sum(span.attributes.get("gen_ai.usage.input_tokens", 0) for span in made)
    assert tokens == sum(used.input for used in totals)
    roots = collected.named("invoke_agent")
    assert tokens == sum(root.attributes["gen_ai.usage.input_tokens"] for root in roots)
