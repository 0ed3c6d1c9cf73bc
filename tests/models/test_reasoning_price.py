"""Hosts count tokens in different ways; the price is right all the same."""

from __future__ import annotations

from loopback import Loopback, answer, completion

from agentkit import Agent
from agentkit.models.openai import OpenAI
from agentkit.models.prices import Price


def cost(total: int) -> float:
    usage = {"prompt_tokens": 10, "completion_tokens": 50, "completion_tokens_details": {"reasoning_tokens": 40}}
    with Loopback([answer(completion("hi", usage={**usage, "total_tokens": total}))]) as host:
        model = OpenAI("m", base_url=host.url, price=Price(0, 1_000_000))
        return Agent(model, journal=None).run("q").run.usage.cost


def test_reasoning_is_paid_for_even_if_the_host_counts_it_apart() -> None:
    assert (cost(60), cost(100)) == (50, 90)
