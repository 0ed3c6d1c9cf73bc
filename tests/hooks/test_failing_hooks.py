"""A hook that raises, hangs or returns nonsense means no: nothing is performed, in whatever way the run is driven."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest
from hooks.failing_hooks import FAILING, NOT_BEFORE_A_TOOL

from agentkit import Act, Agent, All, Answer, Call, Chat, Reply, Run, Status, Think, tool
from agentkit.errors import HookRefused
from agentkit.hooks import guardrail, hook
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

PAID: list[int] = []
TIMEOUT = 0.2


@tool(effect="irreversible")
def pay(amount: int) -> str:
    """Pay an amount."""
    PAID.append(amount)
    return f"paid {amount}"


@pytest.fixture(autouse=True)
def nothing_paid() -> None:
    PAID.clear()


def failing(names: Any = FAILING) -> Any:
    return pytest.mark.parametrize("function", [pytest.param(names[name], id=name) for name in names])


def model() -> Scripted:
    paying = Reply("I pay.", (Call("pay", {"amount": 50}, "c1"),))
    return Scripted([paying, "done", *["more"] * 30], abilities=Abilities(tools=True))


def run_it(agent: Agent) -> Run:
    return agent.run("pay").run


def step_it(agent: Agent) -> Run:
    run = agent.start("pay", paused=True)
    for _ in range(8):
        try:
            next(run)
        except Exception:
            break
    return run


def lanes(task: Any, tools: Any = ()) -> Generator[Any, Any, Answer]:
    """Pay three times at once."""
    results = yield All(tuple(Act(Call("pay", {"amount": n}, f"c{n}")) for n in range(3)))
    return Answer(" ".join(message.text for message in results), Chat.of(task))


@pytest.mark.parametrize("drive", [run_it, step_it])
@failing({**FAILING, **NOT_BEFORE_A_TOOL})
def test_no_tool_is_called_if_the_hook_before_it_fails(
    function: Callable[..., Any], drive: Callable[[Agent], Run]
) -> None:
    check = hook("before", tool="p*", timeout=TIMEOUT, name="check")(function)
    run = drive(Agent(model(), [pay], journal="memory", hooks=[check]))
    assert PAID == []
    assert [row for row in run.rows() if getattr(row, "kind", "") == "call" and "check" in row.data] == []  # type: ignore[union-attr]
    acts = [entry for entry in run.entries if entry.kind in ("act", "end")]
    assert len(acts) == 1 and ("check" in acts[0].reason or "was not run" in acts[0].result.text)


@failing()
def test_no_tool_is_called_in_parallel_lanes_if_the_hook_fails(function: Callable[..., Any]) -> None:
    check = hook("before", timeout=TIMEOUT, name="check")(function)
    result = Agent("offline", [pay], engine=lanes, journal="memory", hooks=[check]).run("pay")
    assert PAID == [] and result.answer.count("was not run: hook 'check': ") == 3


@failing()
def test_no_model_is_asked_if_the_hook_before_it_fails(function: Callable[..., Any]) -> None:
    asked = model()
    check = hook("before", "model", timeout=TIMEOUT, name="check")(function)
    result = Agent(asked, [pay], journal="memory", hooks=[check]).run("pay")
    assert asked.requests == [] and result.answer == ""
    assert isinstance(result.error, HookRefused) and "hook 'check': it" in str(result.error)
    assert result.run.status == Status.FAILED


@failing()
def test_a_reply_is_not_used_if_the_hook_after_the_model_fails(function: Callable[..., Any]) -> None:
    asked = model()
    check = hook("after", "model", timeout=TIMEOUT, name="check")(function)
    result = Agent(asked, [pay], journal="memory", hooks=[check]).run("pay")
    assert PAID == [] and len(asked.requests) == 1 and isinstance(result.error, HookRefused)
    assert [entry.kind for entry in result.run.entries] == ["begin"] and result.usage.calls == 1


@failing()
def test_a_result_is_withheld_if_the_hook_after_the_tool_fails(function: Callable[..., Any]) -> None:
    asked = model()
    check = hook("after", timeout=TIMEOUT, name="check")(function)
    result = Agent(asked, [pay], journal="memory", hooks=[check]).run("pay")
    assert PAID == [50] and result.answer == "done"  # it has run: that cannot be taken back, and the model knows it
    assert "paid 50" not in str(asked.requests) and "has run, but its result is withheld" in str(asked.requests)
    assert "paid 50" not in str([entry.result for entry in result.run.entries])


@failing()
def test_a_run_does_not_begin_if_the_hook_before_it_fails(function: Callable[..., Any]) -> None:
    asked = model()
    check = hook("before", "run", timeout=TIMEOUT, name="check")(function)
    result = Agent(asked, [pay], journal="memory", hooks=[check]).run("pay")
    assert asked.requests == [] and PAID == [] and isinstance(result.error, HookRefused)


@failing()
def test_a_run_has_no_answer_if_the_hook_after_it_fails(function: Callable[..., Any]) -> None:
    check = hook("after", "run", timeout=TIMEOUT, name="check")(function)
    result = Agent(model(), [pay], journal="memory", hooks=[check]).run("pay")
    assert result.answer == "" and isinstance(result.error, HookRefused) and result.run.answer is None


@pytest.mark.parametrize("checks", ["input", "output", "reply", "tool_result"])
@failing({name: function for name, function in FAILING.items() if "without" not in name})
def test_a_guardrail_that_fails_trips(function: Callable[..., Any], checks: Any) -> None:
    asked = model()
    check = guardrail(checks, timeout=TIMEOUT, name="check")(function)
    result = Agent(asked, [pay], journal="memory", guardrails=[check]).run("pay")
    tripped = [event for event in result.run.events() if event.kind == "tripped"]
    assert [event.data["guardrail"] for event in tripped] == ["check"] and tripped[0].data["checks"] == checks
    assert result.answer == "done" if checks == "tool_result" else result.reason == "guardrail:check"
    assert "paid 50" not in str(asked.requests) or checks == "output"


def test_there_are_enough_ways_to_fail() -> None:
    assert len(FAILING) >= 40


def test_a_hook_that_hangs_does_not_hold_up_another_run() -> None:
    never = hook("before", "model", timeout=30)(FAILING["hangs"])
    held = Agent(model(), [pay], journal="memory", hooks=[never]).start("pay")
    assert Agent(model(), [pay], journal="memory").run("pay").answer == "done"
    held.stop()
    assert held.wait(5).answer == "" and held.status == Status.STOPPED


def test_the_think_of_a_hook_is_the_step_itself() -> None:
    seen: list[Any] = []
    look = hook("before", "model")(seen.append)
    Agent(model(), [pay], journal="memory", hooks=[look]).run("pay")
    assert [type(step) for step in seen] == [Think, Think]
