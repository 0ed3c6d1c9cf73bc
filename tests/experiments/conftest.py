"""Agents whose models and tools travel by value, so that a worker needs nothing of the tests."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from agentkit import Agent, Call, Reply, tool
from agentkit.models.base import Abilities


def multiplier(journal, asked=None, *, wrong=(), delay=0.0, **options) -> Agent:
    """Return an agent whose model multiplies the two numbers of a task, and is wrong about some tasks."""

    def model(request):
        import re
        import time

        time.sleep(delay)
        text = request.messages[-1]["content"]
        if asked is not None:
            asked.append(text)
        a, b = map(int, re.findall(r"\d+", text)[:2])
        return Reply(f"FINAL_ANSWER: {a * b + (text in wrong)}")

    return Agent(model, journal=journal, **options)


def payer(journal, file, *, times=4, delay=0.0, effect="irreversible", **options) -> Agent:
    """Return an agent that pays the amount of its task in several parts; each payment is a line of a file."""

    @tool(effect=effect)
    def pay(amount: int, part: int) -> str:
        """Pay a part of an amount."""
        import os
        import time

        with open(file, "a") as out:
            out.write(f"{amount}.{part}\n")
            out.flush()
            os.fsync(out.fileno())
        time.sleep(delay)
        return f"paid {amount}.{part}"

    def model(request):
        import re

        amount = int(re.findall(r"\d+", request.messages[-1 if len(request.messages) == 1 else 0]["content"])[0])
        paid = sum(message["role"] == "tool" for message in request.messages)
        return Reply("", (Call("pay", {"amount": amount, "part": paid}),)) if paid < times else "FINAL_ANSWER: paid"

    model.abilities = Abilities(tools=True)  # type: ignore[attr-defined]
    return Agent(model, [pay], journal=journal, **options)


def right(result, case):
    return result.answer == str(case["expected"])


def products(count: int) -> list[dict]:
    return [{"task": f"What is {n} * 3?", "expected": 3 * n} for n in range(2, 2 + count)]


@pytest.fixture
def make():
    """Functions that make agents, a score and cases: `multiplier`, `payer`, `right`, `products`."""

    def local_right(result, case):  # a local function travels by value
        return result.answer == str(case["expected"])

    return SimpleNamespace(multiplier=multiplier, payer=payer, right=local_right, products=products)
