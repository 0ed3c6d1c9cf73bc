"""Metrics of runs: their sums are those of `run.usage`, whatever has failed, was stopped or was done again."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from spans import Collected

from agentkit import Agent, Call, Reply, tool
from agentkit.core.usage import Usage
from agentkit.errors import ModelError
from agentkit.models import Scripted
from agentkit.models.base import Abilities
from agentkit.telemetry import trace

TOOLS = Abilities(tools=True)


@pytest.fixture
def collected() -> Collected:
    return Collected()


@tool(effect="pure")
def look(city: str) -> str:
    """Look at the weather."""
    return f"rain in {city}"


def used(input: int, output: int, cost: float = 0.0) -> Usage:
    return Usage(input=input, output=output, cost=cost)


def test_tokens_and_money_are_those_of_the_run(collected: Collected) -> None:
    call = Call("look", {"city": "Ulm"}, "a")
    model = Scripted(
        [Reply("", (call,), usage=used(70, 5, 0.5)), Reply("done", usage=used(90, 7, 0.25))], abilities=TOOLS
    )
    result = collected.agent(model, [look]).run("q")
    assert collected.tokens() == (160, 12) == (result.usage.input, result.usage.output)
    assert collected.cost() == 0.75 == result.usage.cost
    assert {point.attributes["gen_ai.request.model"] for point in collected.metric("gen_ai.client.token.usage")} == {
        "scripted"
    }


def test_durations_are_in_seconds_by_operation_and_say_what_failed(collected: Collected) -> None:
    @tool(effect="pure")
    def fail(city: str) -> str:
        """Fail."""
        raise LookupError("no")

    calls = tuple(Call(name, {"city": "Ulm"}, name) for name in ("look", "fail", "invented\n"))
    agent = collected.agent(Scripted([Reply("", calls), "done"], abilities=TOOLS), [look, fail])
    agent.run("q")
    found = {
        (point.attributes["gen_ai.tool.name"], point.attributes.get("error.type")): point.count
        for point in collected.metric("gen_ai.execute_tool.duration")
    }
    assert found == {("look", None): 1, ("fail", "LookupError"): 1, ("unknown", "tool_error"): 1}
    (asked,) = collected.metric("gen_ai.client.operation.duration")
    assert asked.count == 2 and 0 < asked.sum < 60
    (driven,) = collected.metric("gen_ai.invoke_agent.duration")
    assert driven.count == 1 and driven.sum >= asked.sum and driven.explicit_bounds[0] == 0.01
    assert dict(driven.attributes) == {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop"}


def test_what_a_failed_call_has_used_counts(collected: Collected) -> None:
    failure = ModelError("cut off")
    failure.usage = used(30, 2, 0.1)
    run = collected.agent(Scripted([failure, Reply("done", usage=used(40, 3))])).run("q").run
    run.drive()
    assert collected.tokens() == (70, 5) == (run.usage.input, run.usage.output)
    assert collected.cost() == pytest.approx(run.usage.cost) == 0.1


def test_what_a_stopped_call_is_estimated_to_have_used_counts(collected: Collected) -> None:
    begun = threading.Event()

    async def model(request: Any) -> Reply:
        begun.set()
        await asyncio.sleep(60)
        raise AssertionError

    run = collected.agent(model).start("a task of some length")
    assert begun.wait(30)
    run.stop()
    run.wait()
    assert run.usage.input > 0
    assert collected.tokens() == (run.usage.input, run.usage.output)


def test_undone_steps_and_those_of_forks_and_samples_count_once(collected: Collected) -> None:
    replies = [Reply(f"answer {number}", usage=used(10, 1)) for number in range(9)]
    run = collected.agent(Scripted(replies)).run("q").run
    run.undo()
    run.undo()
    run.drive()
    fork = run.fork(0)
    fork.drive()
    assert run.usage.input == 20
    assert collected.tokens() == (30, 3)
    run.resample(1, times=2).go()
    assert run.usage.input == 40
    assert collected.tokens() == (50, 5)


def test_no_metric_has_the_id_of_a_run(collected: Collected) -> None:
    run = collected.agent(Scripted(["done"])).run("q", session="mine").run
    names = ("gen_ai.client.operation.duration", "gen_ai.invoke_agent.duration")
    values = [value for name in names for point in collected.metric(name) for value in point.attributes.values()]
    assert len(values) > 3
    assert run.id not in values and "mine" not in values


def test_metrics_need_no_tracer_provider() -> None:
    collected = Collected()
    agent = Agent(
        Scripted([Reply("done", usage=used(10, 1))]), journal="memory", within=[trace(meter_provider=collected.meters)]
    )
    agent.run("q")
    assert collected.tokens() == (10, 1)
