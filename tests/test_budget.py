"""A budget: it warns, is checked before every call, is never exceeded by lanes, and asks in a notebook."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from splitting import split

from agentkit import Act, Agent, All, Answer, Call, Chat, Loop, Reply, Think, Usage, tool
from agentkit.core.steps import capped
from agentkit.engines.react import react
from agentkit.errors import ModelError, Undecided, Unknown, UsageError
from agentkit.gates.budget import Meter
from agentkit.gates.limits import Budget
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted


@tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def calls(turns: int, usage: Usage | None = None, width: int = 1) -> list[Any]:
    asked = [tuple(Call("add", {"a": n, "b": k}, f"c{n}.{k}") for k in range(width)) for n in range(turns)]
    return [*(Reply("I add", calls, usage=usage) for calls in asked), Reply("done", usage=usage)]


def agent(replies: list[Any], **options: Any) -> Agent:
    model = Scripted(replies, abilities=Abilities(tools=True))
    return Agent(model, [add], journal="memory", **split(options, Loop("react", max_iterations=50)))


def events(run: Any, kind: str) -> list[dict[str, Any]]:
    return [event.data for event in run.events() if event.kind == kind]


def test_at_85_of_100_tokens_there_is_a_warning_and_at_the_limit_the_run_ends_with_what_it_has_done() -> None:
    result = agent(calls(9, Usage(40, 45)), budget={"max_tokens": 100}).run("q")
    assert (result.reason, result.interrupted, result.step_count) == ("budget:max_tokens", True, 2)
    assert [data["text"] for data in events(result.run, "budget_warning")] == ["tokens at 85%"]
    assert result.answer.startswith("I reached the token budget (170 of 100)")
    assert "Step 1: called add(a=0, b=0) → 0\nStep 2: called add(a=1, b=0) → 1" in result.answer
    (exceeded,) = events(result.run, "budget_exceeded")
    assert (exceeded["limit"], exceeded["max"], exceeded["spent"]) == ("max_tokens", 100, 170)


def test_at_80_percent_there_is_one_warning_and_below_that_none() -> None:
    for used, warnings in ((79, []), (80, ["tokens at 80%"])):
        result = agent([*calls(1, Usage(used, 0))[:1], "done"], budget={"max_tokens": 100}).run("q")
        assert (result.answer, [data["text"] for data in events(result.run, "budget_warning")]) == ("done", warnings)


@pytest.mark.parametrize(
    ("limit", "most", "model_calls"),
    [
        ("max_input_tokens", 100, 3),
        ("max_output_tokens", 9, 2),
        ("max_cost", 0.5, 2),
        ("max_model_calls", 4, 4),
        ("max_iterations", 3, 3),
        ("max_tool_calls", 2, 3),
    ],
)
def test_each_limit_ends_the_run_and_is_named(limit: str, most: float, model_calls: int) -> None:
    result = agent(calls(9, Usage(40, 5, cost=0.25)), budget={limit: most}).run("q")
    assert (result.reason, result.step_count) == (f"budget:{limit}", model_calls)
    assert result.answer.startswith("I reached the")


def test_time_counts_only_while_a_step_is_being_performed() -> None:
    run = agent(calls(2), budget={"max_seconds": 1_000}).start("q", paused=True)
    next(run)
    threading.Event().wait(0.05)
    next(run)
    first, second = run.entries[1:]
    spent = Meter().read(run.state)["max_seconds"]
    assert spent == pytest.approx(first.ended - first.started + second.ended - second.started)
    assert second.started - first.ended >= 0.05, "the time in which the run was paused is not among them"


def test_a_run_ends_when_its_time_is_used_up() -> None:
    def slow(request: Any) -> Reply:
        threading.Event().wait(0.02)
        return calls(1)[0]

    assert agent([slow] * 9, budget={"max_seconds": 0.01}).run("q").reason == "budget:max_seconds"


def test_a_run_within_its_budget_is_the_same_as_without() -> None:
    result = agent(calls(3, Usage(1, 1)), budget=Budget(max_tokens=1_000, max_model_calls=50)).run("q")
    assert (result.answer, result.reason) == ("done", "")
    assert not events(result.run, "budget_warning")


# -- asking a person ---------------------------------------------------------------------------------------------------


def test_in_a_notebook_the_run_waits_and_an_approval_allows_as_much_again() -> None:
    run = agent(calls(4), budget={"max_model_calls": 2, "ask": True}).start("q", paused=True)
    run.drive()
    assert run.status == "waiting" and "model call budget is used up (2 of 2)" in run.waiting[0][1].why
    run.approve()
    run.drive()
    assert run.status == "waiting" and "(4 of 4)" in run.waiting[0][1].why
    run.approve()
    assert run.drive().answer == "done" and run.result.step_count == 5
    assert [data["to"] for data in events(run, "budget_extended")] == [4, 6]


def test_if_more_is_rejected_the_run_ends_with_what_it_has_done() -> None:
    run = agent(calls(4), budget={"max_model_calls": 2, "ask": True}).start("q", paused=True)
    run.drive()
    run.reject("too dear")
    assert run.status == "done" and run.result.reason == "budget:max_model_calls"
    assert run.answer is not None and "Step 2: called add" in run.answer


def test_a_tool_call_over_the_limit_also_waits_and_no_remembered_approval_lets_it_pass() -> None:
    run = agent(calls(3), budget={"max_tool_calls": 1, "ask": True}, approve=True).start("q", paused=True)
    run.drive()
    run.approve(remember=True)
    run.drive()
    assert "tool call budget" in run.waiting[0][1].why and run.result.tool_calls_count == 1
    run.approve()
    run.drive()
    assert run.result.tool_calls_count == 2


def test_run_never_asks_because_nobody_is_there() -> None:
    assert agent(calls(4), budget={"max_model_calls": 2, "ask": True}).run("q").reason == "budget:max_model_calls"


def test_extensions_and_spending_survive_a_resume(tmp_path: Any) -> None:
    model = Scripted(calls(9), abilities=Abilities(tools=True))
    own = Agent(model, [add], journal=str(tmp_path / "runs.db"), budget={"max_model_calls": 2, "ask": True})
    run = own.start("q", paused=True)
    run.drive()
    run.approve()
    next(run)
    run.close()
    again = own.resume(run.id)
    again.drive()
    assert again.status == "waiting" and "(4 of 4)" in again.waiting[0][1].why
    assert [data["limit"] for data in events(again, "budget_exceeded")] == ["max_model_calls"] * 2


def test_an_ended_run_is_still_ended_after_a_resume(tmp_path: Any) -> None:
    model = Scripted(calls(9), abilities=Abilities(tools=True))
    own = Agent(model, [add], journal=str(tmp_path / "runs.db"), budget={"max_model_calls": 2})
    result = own.run("q")
    result.run.close()
    again = own.resume(result.run.id)
    assert again.status == "done" and again.answer == result.answer and again.result.reason == "budget:max_model_calls"


# -- lanes and nesting -------------------------------------------------------------------------------------------------


def fan(task: Any, *, width: int = 8) -> Any:
    replies = yield All(tuple(Think(Chat.of(f"{task} {n}")) for n in range(width)))
    text = ", ".join(reply.text for reply in replies)
    return Answer(text, Chat.of(task))


class Together:
    """A model that answers as soon as it has `width` requests at the same time."""

    name = "together"
    abilities = Abilities()

    def __init__(self, usage: Usage, width: int = 1) -> None:
        self.usage, self.calls = usage, 0
        self._barrier = threading.Barrier(width, timeout=30)
        self._lock = threading.Lock()

    def __call__(self, request: Any) -> Reply:
        with self._lock:
            self.calls += 1
        self._barrier.wait()
        return Reply("x", usage=self.usage)


@pytest.mark.parametrize("play", [False, True])
def test_lanes_together_cannot_overspend(play: bool) -> None:
    model = Together(Usage(10, 10), width=5)
    own = Agent(model, engine=fan, journal="memory", budget={"max_model_calls": 5, "ask": False})
    run = own.start("q", paused=True)
    result = run.play().wait() if play else run.drive()
    assert (model.calls, result.reason) == (5, "budget:max_model_calls")


def test_lanes_reserve_tokens_and_money_before_the_price_is_known() -> None:
    tokens = Together(Usage(300, 300))
    result = Agent(tokens, engine=fan, journal="memory", budget={"max_tokens": 1_200}).run("q")
    assert result.reason == "budget:max_tokens" and result.usage.total == 1_200
    money = Together(Usage(300, 300, cost=1.0))
    result = Agent(money, engine=fan, journal="memory", budget={"max_cost": 3}).run("q")
    assert result.reason == "budget:max_cost" and result.usage.cost == 3


def test_a_sufficient_budget_delays_no_lane() -> None:
    model = Together(Usage(10, 10), width=8)
    result = Agent(model, engine=fan, journal="memory", budget={"max_model_calls": 100, "max_tokens": 100_000}).run("q")
    assert result.answer.count("x") == 8


def outer(task: Any, *, tools: tuple[Any, ...] = ()) -> Any:
    first = yield from capped(react(task, tools=tools), max_model_calls=2)
    second = yield from capped(react(task, tools=tools), max_model_calls=2)
    last = yield Think(Chat.of(f"sum up: {first.text} | {second.text}"), role="synthesize")
    return Answer(last.text, Chat.of(task))


def test_a_nested_cap_ends_the_nested_engine_with_what_it_has_done_and_the_outer_one_continues() -> None:
    model = Scripted([*calls(2)[:2], *calls(2)[:2], "all in all"], abilities=Abilities(tools=True))
    result = Agent(model, [add], engine=outer, journal="memory").run("q")
    assert (result.answer, result.interrupted, result.step_count) == ("all in all", False, 5)
    asked = model.requests[-1]["messages"][-1]["content"]
    assert asked.count("I reached the model call budget (2 of 2)") == 2 and "Step 1: called add" in asked


def test_the_smaller_of_a_nested_cap_and_the_rest_of_the_outer_budget_counts() -> None:
    model = Scripted([*calls(2)[:2], *calls(2)[:2]], abilities=Abilities(tools=True))
    result = Agent(model, [add], engine=outer, journal="memory", budget={"max_model_calls": 3}).run("q")
    assert (result.reason, model.calls) == ("budget:max_model_calls", 3)


def test_the_calls_of_arounds_are_counted() -> None:
    result = agent([*calls(2)[:2], "fine so far", "never asked"], self_check=1, budget={"max_model_calls": 2}).run("q")
    assert result.step_count == 2 and result.reason == "budget:max_model_calls"


def test_a_cap_counts_parallel_calls(tmp_path: Any) -> None:
    result = agent(calls(3, width=4), budget={"max_tool_calls": 6}).run("q")
    assert (result.tool_calls_count, result.reason) == (6, "budget:max_tool_calls")


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [name for name in Budget.__dataclass_fields__ if name != "ask"])
@pytest.mark.parametrize("value", [0, -1, True, "3", float("nan")])
def test_a_limit_out_of_range_is_a_value_error_that_names_it(limit: str, value: Any) -> None:
    with pytest.raises(ValueError, match=limit):
        Agent("offline", budget={limit: value})


def test_an_unknown_limit_suggests_the_nearest_and_an_invalid_budget_is_refused() -> None:
    with pytest.raises(Unknown, match="max_tokens"):
        Agent("offline", budget={"max_token": 3})
    with pytest.raises(ValueError, match="budget must be a Budget or a dict, not 3"):
        Agent("offline", budget=3)


def test_only_a_step_that_waits_can_be_approved() -> None:
    run = agent(calls(1), budget={"max_model_calls": 5, "ask": True}).start("q", paused=True)
    with pytest.raises(UsageError):
        run.approve()
    assert Act  # the first pending step is a thought, which does not wait for a decision


def test_single_steps_reach_the_same_limit() -> None:
    run = agent(calls(9), budget={"max_model_calls": 2, "ask": False}).start("q", paused=True)
    kinds = [entry.kind for entry in run]
    assert kinds == ["think", "act", "think", "act"] and run.status == "done"
    assert run.result.reason == "budget:max_model_calls"


def test_lanes_that_are_stepped_one_by_one_also_respect_it() -> None:
    model = Together(Usage(1, 1))
    run = Agent(model, engine=fan, journal="memory", budget={"max_model_calls": 3, "ask": True}).start("q", paused=True)
    for _ in range(3):
        next(run)
    run.drive()
    assert model.calls == 3 and run.status == "waiting"
    run.approve()
    run.drive()
    run.approve()
    assert run.drive().answer == ", ".join("x" * 8) and model.calls == 8


def test_a_fork_has_a_fresh_budget_and_an_undo_restores_nothing() -> None:
    run = agent(calls(9), budget={"max_model_calls": 2, "ask": True}).start("q", paused=True)
    run.drive()
    run.undo().undo()
    with pytest.raises(Undecided, match="used up"):
        next(run)
    other = run.fork()
    assert next(other).kind == "think"


def test_if_several_lanes_wait_for_more_one_rejection_ends_the_run() -> None:
    model = Together(Usage(1, 1))
    run = Agent(model, engine=fan, journal="memory", budget={"max_model_calls": 3, "ask": True}).start("q", paused=True)
    run.drive()
    assert len(run.waiting) == 5
    run.reject()
    assert run.status == "done" and run.waiting == [] and run.result.reason == "budget:max_model_calls"


def test_the_usage_of_failed_calls_counts_before_the_next_one() -> None:
    failed = ModelError("broke off")
    failed.usage = Usage(60, 0)
    run = agent([failed, failed, "done"], budget={"max_tokens": 100, "ask": False}).start("q", paused=True)
    for _ in range(2):
        with pytest.raises(ModelError):
            next(run)
    assert (run.usage.total, run.drive().reason) == (120, "budget:max_tokens")


def test_an_extension_with_other_arguments_is_for_the_call_with_these_arguments() -> None:
    asked = Reply("", (Call("add", {"a": 90, "b": 0}, "1"),))
    run = agent([*calls(1)[:1], asked, "done"], budget={"max_tool_calls": 1, "ask": True}).start("q", paused=True)
    run.drive()
    run.approve(arguments={"a": 9, "b": 0})
    assert run.drive().answer == "done" and run[4].result.text == "9"


@pytest.mark.parametrize("remember", [False, True])
def test_approving_two_calls_does_not_approve_more_calls_than_the_budget_has(remember: bool) -> None:
    run = agent(calls(1, width=2), approve=["add"], budget={"max_tool_calls": 1, "ask": True}).start("q", paused=True)
    run.drive()
    run.approve(remember=remember)
    if not remember:
        run.approve()
    run.drive()
    assert run.state.spent.tool_calls == 1 and "budget is used up" in run.waiting[0][1].why
    run.approve()
    assert run.drive().answer == "done" and run.state.spent.tool_calls == 2
