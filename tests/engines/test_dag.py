"""A plan as a graph: parallel steps with a limit, skipped dependents, time limits, models for steps, replanning."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from splitting import split

from agentkit import Agent, Call, Loop, Reply, Run, tool
from agentkit.around.nudge import GO_ON
from agentkit.models.base import Abilities, Request
from agentkit.models.scripted import Scripted

YES = "ACHIEVED: yes\nCONFIDENCE: 0.9\nANSWER: 42"
NO = "ACHIEVED: no\nCONFIDENCE: 0.2\nANSWER: the year is missing"


class Planned:
    """A model with given plans and judgements; `steps` contains the reply to a step, by a word of its task."""

    name = "planned"

    def __init__(self, plans: list[str], judgements: list[str], **steps: Any) -> None:
        self.plans, self.judgements, self.steps = iter(plans), iter(judgements), steps
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> Any:
        self.requests.append(request)
        if request.role == "plan":
            return next(self.plans)
        if request.role == "analyze":
            return next(self.judgements)
        step = request.chat[-1].text.partition(" and nothing else: ")[2].partition("\n")[0]
        reply = self.steps.get(step, "done")
        return reply(request) if callable(reply) else reply

    def roles(self) -> list[str]:
        return [request.role for request in self.requests]


def run_of(model: Any, **options: Any) -> Run:
    run = Agent(model, journal="memory", **split(options, "dag")).start("q", paused=True)
    run.drive()
    return run


def states(run: Run) -> dict[int, str]:
    step = next(e.step for e in reversed(run.entries) if e.step is not None and e.step.role == "analyze")
    return dict(step.tags["plan_states"])


def test_independent_steps_reach_the_model_at_the_same_time_up_to_the_limit() -> None:
    barrier, now, most = threading.Barrier(2), [], []
    lock = threading.Lock()

    def meet(request: Request) -> str:
        with lock:
            now.append(1)
            most.append(len(now))
        barrier.wait(timeout=20)
        with lock:
            now.pop()
        return "met"

    model = Planned(["1. a\n2. a\n3. a\n4. a\n5. b [after: 1, 4]"], [YES], a=meet)
    run = run_of(model, max_parallel=2)
    assert run.answer == "42" and max(most) == 2 and model.roles().count("thought") == 5
    assert "Step 1 (a): met\nStep 4 (a): met" in model.requests[-2].chat[-1].text


def test_steps_that_depend_on_a_failed_step_are_skipped_and_say_why() -> None:
    model = Planned(["1. a\n2. b [after: 1]\n3. c [after: 2]\n4. d"], [YES], a="FAILED: no such thing")
    run = run_of(model)
    judged = model.requests[-1].chat[-1].text
    assert "Step 2 (b): SKIPPED: it needs step 1, which failed" in judged
    assert "Step 3 (c): SKIPPED: it needs step 2, which was skipped" in judged and "Step 4 (d): done" in judged
    assert states(run) == {1: "failed", 2: "skipped", 3: "skipped", 4: "done"}


@pytest.mark.parametrize(
    ("plan", "message"),
    [("1. a [after: 2]\n2. b [after: 1]", "1 needs 2, 2 needs 1"), ("1. a [after: 1]", "step 1 needs itself")],
)
def test_a_circular_plan_is_an_error_that_names_the_steps_and_causes_a_new_plan(plan: str, message: str) -> None:
    model = Planned([plan, "1. a"], [YES])
    assert run_of(model).answer == "42" and message in model.requests[1].chat[-1].text
    hopeless = run_of(Planned([plan] * 4, []))
    assert message in (hopeless.answer or "") and hopeless.result.reason == "max_replans" and not hopeless.result.error


def test_it_plans_again_at_most_three_times_with_what_is_known() -> None:
    model = Planned(["1. a"] * 4, [NO] * 4, a="A")
    run = run_of(model)
    assert run.answer == "the year is missing" and run.result.reason == "max_replans"
    assert model.roles().count("plan") == 4 and "Step 1 (a): A" in model.requests[3].chat[-1].text
    model = Planned(["1. a"] * 2, ["ACHIEVED: yes\nCONFIDENCE: 0.3\nANSWER: perhaps", YES])
    assert run_of(model).answer == "42" and model.roles().count("plan") == 2


@pytest.mark.parametrize(
    ("judgement", "answer", "rounds"),
    [
        (
            "ACHIEVED: yes\nCONFIDENCE: 0.9\nANSWER: Its rating: 1/10, 3 out of 10 at best.",
            "Its rating: 1/10, 3 out of 10 at best.",
            1,
        ),
        ("ANSWER: Oslo\nACHIEVED: yes\nCONFIDENCE: 90%", "Oslo", 1),
        ("**ACHIEVED:** yes\n**CONFIDENCE:** high\n**ANSWER:**\nOslo\n\nand Rome", "Oslo\n\nand Rome", 1),
        ("ACHIEVED: false\nCONFIDENCE: 1\nANSWER: Oslo", "42", 2),
        ("ACHIEVED: **no**\nCONFIDENCE: **1**\nANSWER: Oslo", "42", 2),
        ("ACHIEVED: no, the score: 9/10 is missing\nANSWER: Oslo", "42", 2),
    ],
)
def test_each_part_of_the_analysis_is_read_separately(judgement: str, answer: str, rounds: int) -> None:
    model = Planned(["1. a", "1. b"], [judgement, YES])
    assert (run_of(model).answer, model.roles().count("plan")) == (answer, rounds)


def test_a_step_is_told_its_task_without_the_notes_of_the_plan() -> None:
    model = Planned(["1. a\n2. b [after: 1] [model: fast]"], [YES])
    run_of(model)
    assert "Now carry out step 2 and nothing else: b\nAnswer with" in model.requests[2].chat[-1].text


def test_an_unusable_plan_after_a_usable_one_loses_no_results() -> None:
    model = Planned(["1. a", "1. b [after: 1]", "1. b [after: 1]", "1. b [after: 1]"], [NO], a="A")
    run = run_of(model)
    assert run.answer == "the year is missing" and run.result.reason == "max_replans"
    assert (
        "Step 1 (a): A" in model.requests[-1].chat[-1].text
        and "step 1 needs itself" in model.requests[-1].chat[-1].text
    )


def test_a_step_that_takes_too_long_has_failed() -> None:
    over = threading.Event()

    def slow(request: Request) -> str:
        over.wait(30)
        return "late"

    model = Planned(["1. a\n2. b\n3. c [after: 1]"], [YES], a=slow)
    run_of(model, step_timeout=1)
    over.set()
    assert "Step 1 (a): FAILED: the time limit of this step, 1 s, was reached." in model.requests[-1].chat[-1].text
    assert "Step 2 (b): done" in model.requests[-1].chat[-1].text


def test_a_step_that_has_used_up_its_time_makes_no_more_model_calls() -> None:
    @tool(effect="pure")
    def wait() -> str:
        """Wait."""
        time.sleep(0.3)
        return "waited"

    model = Planned(["1. a"], [YES], a="Thought: I wait\nAction: wait\nAction Input: {}")
    agent = Agent(model, [wait], engine=Loop("dag", step_timeout=0.25), journal="memory")
    run = agent.start("q", paused=True)
    run.drive()
    assert (
        "FAILED: the time limit of this step" in model.requests[-1].chat[-1].text
        and model.roles().count("thought") <= 2
    )


def test_a_plan_within_a_step_keeps_its_own_time_limit_and_models() -> None:
    over = threading.Event()

    def slow(request: Request) -> str:
        over.wait(30)
        return "late"

    fast = Scripted(["A"], name="fast")
    model = Planned(["1. outer", "1. a\n2. b [model: fast]"], [YES, YES], a=slow)
    run_of(model, actor={"engine": "dag", "step_timeout": 1}, roles={"fast": fast})
    over.set()
    inner = next(request for request in model.requests if request.role == "analyze").chat[-1].text
    assert "Step 1 (a): FAILED: the time limit of this step, 1 s, was reached." in inner and fast.calls == 1


def test_parallel_calls_count_once_for_the_time_limit_of_their_step() -> None:
    @tool(effect="pure")
    def wait(seconds: float) -> str:
        """Wait."""
        time.sleep(seconds)
        return "waited"

    def act(request: Request) -> Reply:
        return Reply("", tuple(Call("wait", {"seconds": 1.0}, f"{len(model.requests)}.{n}") for n in range(2)))

    model = Planned(["1. a"], [YES], a=act)
    model.abilities = Abilities(tools=True)
    run = Agent(model, [wait], engine=Loop("dag", step_timeout=1.9), journal="memory").start("q", paused=True)
    run.drive()
    done = [entry.result.text for entry in run.entries if entry.kind == "act"]
    assert done == ["waited", "waited"] and "Step 1 (a): done" in model.requests[-1].chat[-1].text


def test_long_plans_end_soon_whether_their_steps_succeed_or_not() -> None:
    chain = "1. a\n" + "\n".join(f"{n}. b [after: {n - 1}]" for n in range(2, 401))
    run = run_of(Planned([chain], [YES]), max_steps=400)
    assert set(states(run).values()) == {"done"} and len(states(run)) == 400
    run = run_of(Planned([chain], [YES], a="FAILED: no"), max_steps=400)
    assert list(states(run).values()) == ["failed", *["skipped"] * 399]


def test_a_step_whose_loop_returns_nothing_has_failed_and_the_others_continue() -> None:
    model = Planned(["1. a\n2. b\n3. c [after: 1]"], [YES], a="", b="B")
    run = Agent(
        lambda request: "" if GO_ON in request.chat[-1].text else model(request), engine="dag", journal="memory"
    ).start("q")
    run.wait()
    judged = model.requests[-1].chat[-1].text
    assert run.answer == "42" and "Step 1 (a): FAILED: it gave no answer" in judged and "Step 2 (b): B" in judged


def test_a_step_can_name_the_model_to_use() -> None:
    fast = Scripted(["A"], name="fast")
    model = Planned(["1. a [model: fast]\n2. b [model: unknown]"], [YES])
    run_of(model, roles={"fast": fast})
    assert fast.calls == 1 and model.roles().count("thought") == 1


def test_without_a_plan_it_is_a_single_loop() -> None:
    run = run_of(Scripted(["Nothing to plan.", "42"]))
    assert (run.answer, run.result.reason) == ("42", "")


def test_a_plan_can_be_edited_before_it_is_carried_out() -> None:
    model = Planned(["1. a\n2. b"], [YES])
    run = Agent(model, engine="dag", journal="memory").start("q", paused=True)
    run.edit(next(run), text="1. c\n2. d [after: 1]\n3. e [after: 1]")
    run.drive()
    assert states(run) == {1: "done", 2: "done", 3: "done"} and "Step 3 (e): done" in model.requests[-1].chat[-1].text


@pytest.mark.parametrize("drive", [Run.drive, lambda run: run.play().wait(10)])
def test_a_run_that_is_ended_in_one_lane_keeps_the_results_of_all_lanes(drive: Any) -> None:
    over = threading.Event()

    def late(request: Request) -> str:
        assert over.wait(10)
        return "too late"

    lost = Reply("", (Call("lost", {}, "c"),))
    model = Planned(["1. lose\n2. wait"], [], lose=lost, wait=late)
    agent = Agent(model, ["math"], engine="dag", journal="memory", dialect="native", max_failures=1)
    run = agent.start("q", paused=True)
    run.on_event(lambda event: over.set() if event.kind == "completed" else None)
    assert drive(run).reason == "failures" and not run.pending
    assert [entry.kind for entry in run.entries][:4] == ["begin", "think", "think", "act"]
    assert agent.load(run.to_json()).result.answer == run.answer


def test_the_plan_of_a_caller_is_carried_out_first() -> None:
    model = Planned(["1. c"], [NO, YES])
    run = run_of(model, plan="1. a\n2. b [after: 1]")
    assert run.answer == "42" and model.roles() == ["thought", "thought", "analyze", "plan", "thought", "analyze"]


@pytest.mark.parametrize(
    ("plan", "named"),
    [
        ("1. a [after: 2]\n2. b [after: 1]", "step.* circle: 1 needs 2, 2 needs 1"),
        ("1. a [after: 1]", "step 1 needs itself"),
        ("I have no plan", "no list of steps"),
    ],
)
def test_a_plan_of_a_caller_that_cannot_be_carried_out_is_refused_at_construction(plan: str, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        Agent(Scripted([]), engine=Loop("dag", plan=plan))


def test_a_step_starts_as_soon_as_its_needs_are_met_whatever_else_is_running() -> None:
    third_has_begun = threading.Event()
    steps = {
        "slow": lambda request: str(third_has_begun.wait(timeout=20)),
        "last": lambda request: third_has_begun.set() or "x",
    }
    run = run_of(Planned(["1. slow\n2. quick\n3. last [after: 2]"], [YES], **steps))
    assert run.answer == "42" and "True" in [entry.result.text for entry in run.entries if entry.kind == "think"]
