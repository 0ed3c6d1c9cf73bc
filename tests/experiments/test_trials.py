"""Trials: forks of a run before a thought that are driven to their ends, and what they tell about its outcome."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import agentkit
from agentkit import Agent, Budget, Call, Reply, Run, Usage, tool
from agentkit.cli import app
from agentkit.core import background
from agentkit.errors import Undecided, UsageError
from agentkit.experiments.decided import Decided, are_apart, confidence_for
from agentkit.experiments.scores import Judge
from agentkit.experiments.statistics import estimate
from agentkit.experiments.trials import Trials
from agentkit.models.base import Abilities, Request
from agentkit.models.scripted import Scripted

SIZE = int(os.environ.get("AGENTKIT_SIZE", "1"))
NATIVE = Abilities(tools=True)
PAID: list[int] = []
LOOKED: list[str] = []


@tool(effect="irreversible")
def pay(amount: int) -> str:
    """Pay an amount."""
    PAID.append(amount)
    return f"paid {amount}"


@tool
def search(query: str) -> str:
    """Search; what it does is not declared."""
    LOOKED.append(query)
    return f"found {query}"


@tool(effect="pure")
def price(item: str) -> str:
    """Look up a price."""
    LOOKED.append(item)
    return "4.5"


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    PAID.clear()
    LOOKED.clear()


def pays(amount: int) -> Reply:
    return Reply("I pay.", (Call("pay", {"amount": amount}, "c1"),))


def asks(name: str, **arguments: Any) -> Reply:
    return Reply("", (Call(name, arguments, "c1"),))


def tossed(*tosses: str, journal: Any = "memory", **options: Any) -> tuple[Run, Scripted]:
    """Return a run that ended with "Heads.", and its model, which has these tosses left."""
    model = Scripted(["Heads.", *tosses], usage=Usage(100, 10, cost=0.001))
    return Agent(model, journal=journal, **options).run("Toss a coin.").run, model


class Coin:
    """A model whose answers are "good" with a probability, seeded; `calls` counts."""

    abilities = Abilities()
    name = "coin"

    def __init__(self, share: float, seed: int, delay: float = 0.0) -> None:
        self._random, self._lock, self.share, self.delay, self.calls = (
            random.Random(seed),
            threading.Lock(),
            share,
            delay,
            0,
        )

    def __call__(self, request: Request) -> Reply:
        with self._lock:
            self.calls += 1
            is_good = self._random.random() < self.share
        time.sleep(self.delay)
        return Reply(f"FINAL_ANSWER: {'good' if is_good else 'bad'}", usage=Usage(10, 2, cost=0.01))


def good(result: Any, case: Any) -> bool:
    return bool(result.answer == "good")


def heads(result: Any, case: Any) -> bool:
    return bool(result.answer == "Heads.")


def until_end(run: Run, times: int = 4, entry: int = 1, **options: Any) -> Trials:
    found = run.resample(entry, times, until="end", **options)
    assert isinstance(found, Trials)
    return found


# -- what comes out ----------------------------------------------------------------------------------------------------


def test_the_trials_and_their_price_come_first_and_nothing_is_done() -> None:
    run, model = tossed("Tails.")
    trials = until_end(run, 20)
    assert (trials.expected, len(trials.missing)) == (Usage(2000, 200, cost=pytest.approx(0.02), calls=20), 20)
    assert repr(trials).splitlines() == [
        "From model_call_1 to the end, scripted: not tried yet",
        "go() makes 20 trials to the end, together about 20 calls of scripted: about 2,000 tokens to read and 200 to "
        "write; about $0.02. No tool is called that acts on the world.",
    ]
    assert "about $0.02" in trials._repr_html_() and model.calls == 1 and len(run.branches()) == 1


def test_each_ending_is_a_bar_with_its_interval_and_opens_a_run() -> None:
    run, model = tossed("Tails.", "Heads.", "Tails.", "Tails.")
    trials = until_end(run, 4).go()
    assert trials.counts == {"Tails.": 3, "Heads.": 1}
    assert [(each.share, round(each.low, 2), round(each.high, 2)) for each in trials] == [
        (0.75, 0.3, 0.95),
        (0.25, 0.05, 0.7),
    ]
    assert repr(trials).splitlines()[1:3] == [
        "Tails.  ███████████████      3 of 4  [0.30, 0.95]",
        "Heads.  █████                1 of 4  [0.05, 0.70] ← in the run",
    ]
    other = trials[0].run
    assert other is trials[0].run is not run and (other.status, other.answer) == ("done", "Tails.")
    assert (run.status, run.answer, len(run), model.calls) == ("done", "Heads.", 3, 5)
    other.rewind(0)
    assert until_end(run, 4).counts == {"Tails.": 3, "Heads.": 1}  # what is done with an opened run changes no trial


def test_how_the_run_ended_is_shown_even_if_no_trial_ended_so() -> None:
    run, _ = tossed("Tails.")
    assert "In the run: Heads. (no trial ended so)" in repr(until_end(run, 1).go())


def test_several_trials_are_made_at_once_and_each_goes_on_to_its_end() -> None:
    together = threading.Barrier(3, timeout=20)

    def toss(request: Request) -> Any:
        together.wait()
        return asks("price", item="cake")

    model = Scripted([asks("price", item="tea"), "Done.", *[toss] * 3, "A", "B", "C"], abilities=NATIVE)
    run = Agent(model, [price], journal="memory").run("Buy.").run
    trials = until_end(run, 3).go(on=3)
    assert sorted(trials.counts) == ["A", "B", "C"] and LOOKED == ["tea", "cake", "cake", "cake"]


def test_a_second_call_costs_nothing_and_only_what_is_missing_is_made() -> None:
    run, model = tossed("Tails.", "Heads.", "Tails.")
    until_end(run, 2).go()
    again = until_end(run, 2)
    assert again.forecast == "Nothing is left to try: 2 of 2 trials have ended." and again.go().counts == {
        "Tails.": 1,
        "Heads.": 1,
    }
    assert model.calls == 3
    assert len(until_end(run, 3).missing) == 1
    until_end(run, 3).go()
    assert model.calls == 4


def test_trials_are_found_again_by_another_process_and_are_not_in_the_list_of_runs(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    run, _ = tossed("Tails.", "Heads.", journal=path)
    until_end(run, 2, score=heads).go(on=1)
    run.close()
    other = Agent(Scripted(["Tails."]), journal=path).resume(run.id)
    again = until_end(other, 2, score=heads)
    assert again.missing == again.unscored == [] and again.scores == [0.0, 1.0]
    assert [each.run.answer for each in again] == ["Tails.", "Heads."]
    assert len(again.go()) == 2 and until_end(other, 3, score=heads).go().scores == [0.0, 1.0, 0.0]
    shown = [each.run.id for each in again]
    assert {info.run for info in agentkit.runs(path)} == {run.id, *shown}
    names = {info.run for info in agentkit.runs(path, prefix="trial.")}
    assert names == {trial.run_name for trial in until_end(other, 3).all}
    assert names == {info.run for info in agentkit.runs(path, tags={"trial of": run.id})}


@pytest.mark.parametrize("journal", ["memory", "file"])
def test_trials_are_no_branches_until_one_is_opened(journal: str, tmp_path: Path) -> None:
    run, _ = tossed("Tails.", "Heads.", "Edge.", journal="memory" if journal == "memory" else tmp_path / "runs.db")
    trials = until_end(run, 3).go()
    assert len(run.branches()) == 1
    opened = trials[0].run
    assert [opened.entries, run.entries] == list(opened.branches())
    agent, names = run.agent, [trial.run_name for trial in trials.all]
    opened.close()
    run.close()
    assert len(agent.resume(run.id).branches()) == 2
    trial = agent.resume(names[0])
    assert trial.branches()[0] == trial.entries


def test_a_terminal_lists_no_trials_and_opens_one_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    run, _ = tossed("Tails.", journal=path)
    (trial,) = until_end(run, 1).go().all
    run.close()
    listed = CliRunner().invoke(app, ["--journal", str(path), "runs"]).output
    assert run.id in listed and "trial." not in listed
    assert "Tails." in CliRunner().invoke(app, ["--journal", str(path), "replay", trial.run_name]).output


def test_a_trial_that_was_deleted_is_made_again() -> None:
    run, model = tossed("Tails.", "Tails.", "Heads.")
    trials = until_end(run, 2).go(on=1)
    run.agent.journal.delete(trials.all[1].run_name)
    assert trials.go().counts == {"Tails.": 1, "Heads.": 1} and model.calls == 4
    assert run.agent.resume(trials.all[1].run_name).answer == "Heads."


@pytest.mark.parametrize(
    "damage",
    [
        {"state": "scored", "answer": 5},
        {"state": "elsewhere"},
        {"state": "stopped"},
        {"state": "scored", "scores": {"score": float("inf")}},
        {"state": "scored", "tokens": float("nan")},
        {"state": "waiting", "problem": 7},
    ],
)
def test_a_recorded_outcome_that_is_damaged_is_missing(damage: dict[str, Any]) -> None:
    run, model = tossed("Tails.", "Heads.")
    trials = until_end(run, 2).go(on=1)
    damaged = run.agent.resume(trials.all[0].run_name)
    damaged.record_outcome(damage)
    damaged.close()
    assert trials.counts == {"Heads.": 1} and len(trials.missing) == 1 and repr(trials)
    assert trials.go().counts == {"Tails.": 1, "Heads.": 1} and model.calls == 3


def test_a_run_that_only_resembles_a_trial_by_its_name_is_none() -> None:
    run, _ = tossed("Tails.", "Tails.")
    trials = until_end(run, 1).go()
    other = run.agent.run("Toss.", name=f"trial.{trials.key}.first").run
    other.record_outcome({"state": "scored"})
    other.close()
    assert until_end(run, 1).recorded == 1


def test_trials_outlive_their_run() -> None:
    run, _ = tossed("Tails.", "Heads.")
    trials = until_end(run, 2).go(on=1)
    run.close()
    run.agent.journal.delete(run.id)
    assert trials.counts == {"Tails.": 1, "Heads.": 1} and "2 of 2 trials ended" in repr(trials)


def test_another_question_has_trials_of_its_own() -> None:
    model = Scripted(["Heads.", *["Tails."] * 9], abilities=Abilities(temperature=True))
    run = Agent(model, journal="memory").run("Toss a coin.").run
    key = until_end(run).go().key
    run.temperature = 1.5
    assert until_end(run).key != key and until_end(run).ended == []
    run.temperature = None
    assert until_end(run).key == key and len(until_end(run).ended) == 4


def test_each_trial_is_one_row_of_a_table() -> None:
    run, _ = tossed("Tails.", "Heads.")
    rows = until_end(run, 2, score=heads).go(on=1).to_frame().to_dict("records")
    assert [(row["trial"], row["state"], row["score"], row["answer"], row["calls"]) for row in rows] == [
        (0, "scored", 0.0, "Tails.", 1),
        (1, "scored", 1.0, "Heads.", 1),
    ]


# -- scores ------------------------------------------------------------------------------------------------------------


def test_scores_have_a_mean_with_an_interval() -> None:
    run, _ = tossed("Tails.", "Heads.", "Heads.", "Heads.")
    trials = until_end(run, 4, score=heads).go()
    assert trials.counts == {"score 1: Heads.": 3, "score 0: Tails.": 1} and trials.own_score == 1
    assert str(trials.estimate) == "0.750 [0.301, 0.954]" and [each.happened for each in trials] == [True, False]
    assert "Score 0.750 [0.301, 0.954], 95 % (Wilson), of 4 trials." in repr(trials)


def test_a_score_is_given_the_result_and_the_case_and_may_be_several_numbers() -> None:
    run, _ = tossed("Tails.", "Heads.")

    def score(result: Any, case: dict[str, Any]) -> dict[str, float]:
        return {"length": len(result.answer) + case["more"], "task": float(case["task"] == "Toss a coin.")}

    trials = until_end(run, 2, score=score, case={"more": 0.5}).go()
    assert trials.scores == [6.5, 6.5] and trials.all[0].outcome is not None
    assert trials.all[0].outcome.scores == {"length": 6.5, "task": 1.0}


def test_equal_scores_do_not_pretend_to_be_certain() -> None:
    run, _ = tossed("Tails.", "Tails.", "Heads.")
    found = until_end(run, 2, score=lambda result, case: 0.5).go().estimate
    assert found is not None and (found.method, round(found.low, 2), round(found.high, 2)) == ("Wilson", 0.09, 0.91)
    one = until_end(run, 1, score=lambda result, case: 0.5).estimate
    assert one is not None and (one.method, round(one.low, 2), round(one.high, 2)) == ("Wilson", 0.05, 0.95)
    judged = until_end(run, 2, score=Judge(Scripted(["1", "0.5", "0"] * 3), "Is it polite?")).go(on=1)
    assert judged.scores == [0.5, 0.5] and judged.own_score == 0.5


def test_another_score_is_applied_to_the_trials_that_are_there() -> None:
    run, model = tossed("Tails.", "Heads.")
    until_end(run, 2).go()
    trials = until_end(run, 2, score=heads)
    assert trials.scores == [] and len(trials.unscored) == 2
    assert trials.forecast.endswith("go() scores 2 trials; no model is asked.")
    assert sorted(trials.go().scores) == [0.0, 1.0] and model.calls == 3
    assert until_end(run, 2, score=heads).unscored == []
    assert until_end(run, 2).counts == {"Tails.": 1, "Heads.": 1}


def test_a_score_that_fails_is_an_outcome_and_is_tried_again_without_a_call() -> None:
    run, model = tossed("Tails.", "Heads.")

    def broken(result: Any, case: Any) -> float:
        return 1 / (result.answer != "Tails.")

    trials = until_end(run, 2, score=broken).go()
    assert trials.scores == [1.0] and "unscored: ZeroDivisionError" in repr(trials)
    assert len(until_end(run, 2, score=heads).go().scores) == 2 and model.calls == 3
    nan = until_end(run, 2, score=lambda result, case: float("nan")).go()
    assert nan.estimate is None and "not a finite number" in repr(nan)


@pytest.mark.parametrize("score", [lambda result: True, 5, "right"])
def test_a_score_that_cannot_be_called_is_refused_before_anything_is_paid(score: Any) -> None:
    run, model = tossed("Tails.")
    with pytest.raises(UsageError, match="score must be a function of the result and the case"):
        until_end(run, score=score)
    assert model.calls == 1


# -- the world does not go back ----------------------------------------------------------------------------------------


def paid(*replies: Any, tools: Any = (pay,), **options: Any) -> tuple[Run, Scripted]:
    """Return a run that has paid 5, and its model."""
    model = Scripted([pays(5), "Done.", *replies], abilities=NATIVE)
    return Agent(model, list(tools), journal="memory", **options).run("Pay the bill.").run, model


def test_a_person_is_asked_once_before_trials_that_may_act_on_the_world() -> None:
    run, model = paid(tools=(pay, search, price), max_tool_calls=3)
    trials = until_end(run, 10)
    with pytest.raises(Undecided) as asked:
        trials.go()
    assert str(asked.value) == trials.question
    assert trials.question.startswith(
        "10 runs may call pay (irreversible), search (undeclared), at most 30 times in all, beyond the calls whose "
        "results are on record. approved=True allows that; approved=False makes no such call"
    )
    assert "It asks before any of them calls pay (irreversible), search (undeclared)." in trials.price
    assert model.calls == 2 and PAID == [5]


def test_the_result_of_the_same_call_is_used_again_and_nothing_is_paid() -> None:
    run, _ = paid(*[pays(5), "Fine."] * 3)
    trials = until_end(run, 3).go(approved=False, on=1)
    assert trials.counts == {"Fine.": 3} and PAID == [5]
    assert trials[0].run[2].result.text == "paid 5"


def test_without_approval_another_call_waits_and_is_an_ending_of_its_own() -> None:
    run, model = paid(pays(6), pays(5), "Fine.", "Paid 6.")
    trials = until_end(run, 2).go(approved=False, on=1)
    assert PAID == [5] and [each.state for each in trials] == ["scored", "waiting"] and trials.scores == []
    assert "(pay(amount=5) was performed at " in repr(trials) and trials.counts["waiting: pay(amount=6)"] == 1
    assert trials.go(approved=False).counts == trials.counts and model.calls == 5
    assert trials.go(approved=True).counts == {"Fine.": 1, "Paid 6.": 1}
    assert PAID == [5, 6]


def test_a_first_call_is_held_back_too_even_of_a_tool_that_a_person_always_allowed() -> None:
    model = Scripted([pays(5), "Done.", asks("search", query="x"), pays(7), "Fine."], abilities=NATIVE)
    agent = Agent(model, [pay, search], journal="memory", approve=["pay"])
    run = agent.start("Pay.", paused=True)
    run.drive()
    run.approve(remember=True)
    run.drive()
    trials = until_end(run, 2).go(approved=False, on=1)
    assert trials.counts == {"waiting: search(query='x')": 1, "waiting: pay(amount=7)": 1}
    assert PAID == [5] and LOOKED == []


def test_an_approver_is_not_asked_about_what_nobody_allowed() -> None:
    run, _ = paid(pays(6), pays(6), approver=lambda call: True)
    assert until_end(run, 2).go(approved=False).counts and PAID == [5]


def test_what_needs_approval_by_the_run_itself_needs_it_in_trials_too() -> None:
    model = Scripted([asks("price", item="tea"), "Done.", asks("price", item="cake"), "Fine."], abilities=NATIVE)
    run = Agent(model, [price], journal="memory", approve=["price"]).start("Buy.", paused=True)
    run.drive()
    run.approve()
    run.drive()
    trials = until_end(run, 1).go()
    assert [each.state for each in trials] == ["waiting"] and LOOKED == ["tea"]


def test_a_trial_that_waits_is_opened_itself_and_scored_after_you_decided() -> None:
    run, _ = paid(pays(6), "No, then.")
    trials = until_end(run, 1, score=lambda result, case: len(result.answer)).go(approved=False)
    waiting = trials[0].run
    assert waiting.id == trials.all[0].run_name
    waiting.reject("too much")
    waiting.drive()
    assert len(trials.missing) == 1 and trials.go(approved=False).scores == [9.0] and PAID == [5]


def test_a_payment_that_was_stopped_on_the_way_is_not_made_again_even_if_payments_are_allowed() -> None:
    called, bell = threading.Event(), threading.Event()

    @tool(effect="irreversible", name="pay")
    def slow(amount: int) -> str:
        """Pay, slowly."""
        PAID.append(amount)
        if amount == 6:
            called.set()
            bell.wait(30)
        return f"paid {amount}"

    run, _ = paid(pays(6), "Done.", tools=(slow,))
    trials = until_end(run, 1)
    going = background.in_thread(lambda: trials.go(approved=True))
    assert called.wait(20)
    trials.stop()
    background.wait(going, 20)
    bell.set()
    assert trials.ended == [] and PAID == [5, 6]
    assert "may have run" in repr(trials.go(approved=True)) and trials[0].state == "waiting" and PAID == [5, 6]


PAYS_AND_DIES = """
import os, sys
from agentkit import Agent, Call, Reply, tool
from agentkit.models.base import Abilities

path, paid, name = sys.argv[1:]

@tool(effect="irreversible")
def pay(amount: int) -> str:
    "Pay an amount."
    with open(paid, "a") as out:
        out.write(f"{amount}\\n")
    if amount == 6:
        os._exit(9)
    return "paid"

def model(request):
    done = [message for message in request.messages if message["role"] == "tool"]
    amount = 6 if os.path.exists(paid) else 5
    return "FINAL_ANSWER: done" if done else Reply("", (Call("pay", {"amount": amount}, "c1"),))

model.abilities = Abilities(tools=True)
agent = Agent(model, [pay], journal=path)
run = agent.resume(name) if os.path.exists(paid) else agent.run("Pay.", name=name).run
print(run.resample(1, times=1, until="end").go(approved=True)[0].state)
"""


@pytest.mark.slow
def test_a_payment_during_which_the_process_died_waits_for_a_person(tmp_path: Path) -> None:
    paid = tmp_path / "paid"
    command = [sys.executable, "-c", PAYS_AND_DIES, str(tmp_path / "runs.db"), str(paid), "bill"]
    died, again = (subprocess.run(command, capture_output=True, text=True, timeout=120) for _ in range(2))
    assert (died.returncode, again.returncode, again.stdout) == (9, 0, "waiting\n"), died.stderr + again.stderr
    assert paid.read_text() == "5\n6\n"


def test_nothing_outside_learns_from_trials_and_no_breakpoint_stops_them() -> None:
    queue = ["Hurry up."]

    class Steering:
        def pop_all(self) -> list[str]:
            popped, queue[:] = list(queue), []
            return popped

    run, model = tossed("Tails.", "Heads.", steering=Steering())
    queue[:] = ["For a real run."]
    run.break_at(role="thought")
    assert len(until_end(run, 2).go().ended) == 2 and queue == ["For a real run."]
    assert "For a real run." not in str(model.requests)


# -- failures, budgets, stopping ---------------------------------------------------------------------------------------


def test_a_trial_that_fails_is_an_ending_counts_as_0_and_is_tried_again() -> None:
    run, _ = tossed("Heads.", ValueError("no connection"), "Heads.")
    trials = until_end(run, 2, score=heads).go(on=1)
    assert [each.state for each in trials] == ["scored", "failed"] and trials.scores == [1.0, 0.0]
    assert "no connection" in repr(trials) and "1 that failed or were over budget count as 0" in repr(trials)
    assert until_end(run, 2, score=heads).go().scores == [1.0, 1.0]


def test_each_trial_has_the_budget_of_the_run_for_itself() -> None:
    look = asks("price", item="tea")
    model = Scripted([look, "Done.", look, look, look, look, "Done."], abilities=NATIVE)
    run = Agent(model, [price], journal="memory", budget=Budget(max_model_calls=2)).run("Buy.").run
    trials = until_end(run, 2, score=lambda result, case: result.answer == "Done.").go(on=1)
    assert [each.state for each in trials] == ["over budget"] and trials.scores == [0.0, 0.0] and model.calls == 6


def test_a_budget_for_all_trials_holds_and_another_go_goes_on() -> None:
    model = Coin(0.5, 1)
    run = Agent(model, journal="memory").run("Toss.").run
    trials = until_end(run, 50)
    with pytest.raises(UsageError, match=r"the budget for all trials is used up \(max_cost 0\.\d+ of 0\.1\)"):
        trials.go(on=2, budget=Budget(max_cost=0.1))
    assert 10 <= len(trials.ended) <= 12 and model.calls <= 13
    calls = model.calls
    assert len(trials.go().ended) == 50 and model.calls <= calls + 40
    with pytest.raises(UsageError, match="can limit max_cost, max_tokens, max_model_calls, not max_seconds"):
        trials.go(budget=Budget(max_seconds=5))


def test_stop_stops_and_what_was_begun_goes_on_later_without_being_paid_twice() -> None:
    called, bell = threading.Event(), threading.Event()

    def late(request: Request) -> str:
        called.set()
        bell.wait(30)
        return "Late."

    look = asks("price", item="tea")
    model = Scripted([look, "Done.", look, "One.", look, late, "Two.", look, "Three."], abilities=NATIVE)
    run = Agent(model, [price], journal="memory").run("Buy.").run
    trials = until_end(run, 3)
    going = background.in_thread(lambda: trials.go(on=1))
    assert called.wait(20) and trials.is_asking and run.asking[trials.key].calls == 2
    assert trials.progress.startswith("2 trials left")
    with pytest.raises(UsageError, match="are being made at the moment"):
        until_end(run, 3).go()
    until_end(run, 3).stop()
    assert background.wait(going, 20) is trials and not trials.is_asking
    bell.set()
    assert trials.counts == {"One.": 1} and len(trials.missing) == 2 and model.calls == 6
    assert trials.go(on=1).counts == {"One.": 1, "Two.": 1, "Three.": 1}
    assert model.calls == 9


def test_what_was_stopped_scores_nothing_more() -> None:
    run, _ = tossed(*["Tails."] * 8)
    scored: list[str] = []

    def stops(result: Any, case: Any) -> float:
        scored.append(result.run.id)
        trials.stop()
        return 1.0

    trials = until_end(run, 8, score=stops)
    trials.go(on=1)
    assert len(scored) == len(trials.ended) < 8 and run.id not in scored


def test_an_interrupt_stops_the_trials_and_another_go_goes_on() -> None:
    bell, waiting = threading.Event(), [""]

    def toss(request: Request) -> str:
        if waiting and waiting.pop() == "":
            os.kill(os.getpid(), signal.SIGINT)
            bell.wait(30)
        return "Tails."

    run, _ = tossed(*[toss] * 9)
    trials = until_end(run, 4)
    with pytest.raises(KeyboardInterrupt):
        trials.go(on=2)
    bell.set()
    assert not trials.is_asking and trials.missing and trials.go().counts == {"Tails.": 4}


def test_a_trial_that_takes_too_long_has_failed() -> None:
    bell = threading.Event()
    run, _ = tossed(lambda request: bell.wait(30) and "Late.")
    trials = until_end(run, 1, timeout=0.2).go()
    bell.set()
    assert [each.state for each in trials] == ["failed"] and "it took too long" in repr(trials)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ({"times": 0}, "times must be an integer"),
        ({"times": 10_001}, "from 1 to 10,000"),
        ({"times": True}, "times must be an integer"),
        ({"until": "the end"}, 'until must be "thought"'),
        ({"until": "thought", "score": heads}, "for whole endings"),
        ({"case": "51"}, "case must be a dict"),
        ({"timeout": -1}, "timeout must be"),
        ({"timeout": 0}, "timeout must be"),
        ({"entry": 0}, "only a thought"),
    ],
)
def test_what_cannot_be_tried_is_refused_with_a_sentence(bad: dict[str, Any], why: str) -> None:
    run, model = tossed()
    with pytest.raises(UsageError, match=why):
        run.resample(**{"entry": 1, "until": "end", **bad})
    assert model.calls == 1


@pytest.mark.parametrize("bad", [{"on": 0}, {"on": "all"}, {"approved": "yes"}])
def test_go_refuses_what_it_does_not_know(bad: dict[str, Any]) -> None:
    run, model = tossed("Tails.")
    with pytest.raises(UsageError, match="must be"):
        until_end(run).go(**bad)
    assert model.calls == 1


def test_a_run_without_a_journal_says_what_trials_need() -> None:
    run, _ = tossed(journal=None)
    with pytest.raises(UsageError, match='journal="memory"'):
        until_end(run)


def test_a_run_that_was_only_opened_to_look_shows_trials_and_makes_none(tmp_path: Path) -> None:
    run, _ = tossed("Tails.", journal=tmp_path / "runs.db")
    until_end(run, 1).go()
    run.close()
    looked = Agent(Scripted([]), journal=tmp_path / "runs.db").look(run.id)
    with pytest.raises(UsageError, match="read-only"):
        until_end(looked, 2).go()


def test_what_a_model_answers_is_only_text() -> None:
    run, _ = tossed("<script>alert(1)</script>\x1b[2J\u202e")
    trials = until_end(run, 1, score=lambda result, case: 0.5).go()
    assert "<script" not in trials._repr_html_() and "\x1b" not in repr(trials) + trials._repr_html_()


# -- where it was decided ----------------------------------------------------------------------------------------------


def planned(share: dict[str, float], seed: int = 5, journal: Any = "memory") -> Run:
    """Return a run that looked up cake and ended well; whether it does depends mostly on what is looked up."""
    chance, lock = random.Random(seed), threading.Lock()

    def model(request: Request) -> Reply:
        with lock:
            number = chance.random()
        seen = [message["content"] for message in request.messages if message["role"] == "tool"]
        if not seen:
            return asks("price", item="cake" if not LOOKED or number < 0.5 else "tea")
        item = "cake" if "cake" in str(request.messages[1:-1]) else "tea"
        return Reply(f"FINAL_ANSWER: {'good' if number < share[item] else 'bad'}", usage=Usage(10, 1))

    model.abilities = NATIVE  # type: ignore[attr-defined]
    run = Agent(model, [price], journal=journal).run("Buy something good.").run
    assert run[1].result.calls[0].arguments == {"item": "cake"}
    return run


def test_the_step_that_decided_is_the_first_after_which_the_intervals_are_apart() -> None:
    run = planned({"cake": 1.0, "tea": 0.0})
    decided = run.decided(30, score=good)
    assert isinstance(decided, Decided) and decided.step is None and decided.sentence == ""
    assert decided.forecast.startswith("go() makes 60 trials to the end, from 2 thoughts: about 90 calls, ")
    decided.go()
    assert decided.step is run[1] and decided[1].estimate is not None and decided[1].estimate.value == 1
    assert decided.sentence.startswith("Decided at model_call_1: 0.") and "← decided here" in repr(decided)
    assert "after what it replied in the run." in decided._repr_html_()
    assert decided.forecast == "Nothing is left to try." and run.decided(30, score=good).step is run[1]


def test_if_the_trials_cannot_tell_it_is_said() -> None:
    run = planned({"cake": 0.6, "tea": 0.6})
    assert run.decided(12, score=good).go().sentence.startswith("Cannot tell where it was decided: no two")
    few = run.decided(13, score=good)
    assert few.step is None and few.sentence.startswith("Cannot tell yet: trials are missing")
    one = run.decided(1, score=lambda result, case: 7)
    assert one.forecast == "Nothing is left to try. go() scores 2 trials; no model is asked."
    one.go()
    assert one.forecast == "Nothing is left to try."
    assert "no two neighbouring intervals are apart; more trials tell more." in one.sentence


@pytest.mark.parametrize("thoughts", [3, 10, 30])
def test_luck_names_a_thought_in_about_5_of_100_runs_however_many_thoughts_there_are(thoughts: int) -> None:
    chance, runs, times = random.Random(thoughts), 300 * SIZE, 20
    confidence, named = confidence_for(thoughts), 0
    for _ in range(runs):
        tosses = [[[float(chance.random() < 0.5)] for _ in range(times)] for _ in range(thoughts)]
        estimates = [estimate(scores, confidence=confidence) for scores in tosses]
        named += any(are_apart(one, other) for one, other in pairwise(estimates))
    assert named <= 0.09 * runs


def test_the_intervals_of_a_run_say_their_confidence() -> None:
    run, _ = tossed()
    assert run.decided(2, score=heads).confidence == 0.95
    assert 0.96 < confidence_for(20) < confidence_for(40) < 0.99


def test_it_asks_once_for_all_thoughts() -> None:
    run, model = paid(*[pays(5), "Fine.", "Fine."] * 2)
    decided = run.decided(2, score=lambda result, case: 1)
    with pytest.raises(Undecided, match=r"^4 runs may call pay"):
        decided.go()
    assert decided.go(approved=False, on=1).sentence.startswith("Cannot tell") and PAID == [5] and model.calls > 2


def test_where_it_was_decided_needs_a_score_and_a_thought() -> None:
    run, _ = tossed()
    with pytest.raises(UsageError, match="what is a good ending"):
        run.decided(score=None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no thought of a model"):
        run.fork(0).decided(score=heads)


# -- much of it --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.15, 0.5, 0.9])
def test_the_interval_contains_the_truth_about_95_times_of_100(share: float) -> None:
    studies, covered = 60 * SIZE, 0
    for seed in range(studies):
        run = Agent(Coin(share, seed), journal="memory").run("Toss.").run
        found = until_end(run, 25, score=good).go(on=4).estimate
        assert found is not None
        covered += found.low <= share <= found.high
    assert covered / studies >= 0.95 - 4 * (0.05 * 0.95 / studies) ** 0.5
    assert covered < studies or SIZE == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4 * SIZE))
def test_whatever_is_done_in_which_order_nothing_is_paid_twice_or_without_approval(seed: int, tmp_path: Path) -> None:
    chance, lock = random.Random(seed), threading.Lock()

    def model(request: Request) -> Any:
        with lock:
            number, delay = chance.randrange(10), chance.random() / 50
        time.sleep(delay)
        done = sum(message["role"] == "tool" for message in request.messages)
        if number == 9 and done:
            raise ValueError("no connection")
        if done >= 2 or number == 0:
            return f"FINAL_ANSWER: {number % 3}"
        return pays(5) if number < 5 else asks("price", item=f"item {number}")

    model.abilities = NATIVE  # type: ignore[attr-defined]
    agent = Agent(model, [pay, price], journal=tmp_path / "runs.db")
    run = agent.start("Pay.", paused=True)
    while run.answer is None:
        run.drive()
    before = list(PAID)
    for _ in range(25):
        thoughts = [n for n, entry in enumerate(run.entries) if entry.kind == "think"]
        trials = until_end(run, chance.randrange(1, 9), chance.choice(thoughts), score=chance.choice([None, heads]))
        match chance.choice(["go", "go", "stop", "open", "close", "show"]):
            case "go":
                trials.go(approved=False, on=chance.randrange(1, 5))
            case "stop":
                threading.Timer(chance.random() / 10, trials.stop).start()
            case "open":
                assert all(each.run.status in ("done", "waiting", "failed", "paused") for each in trials)
            case "close":
                run.close()
                run = agent.resume(run.id)
            case "show":
                assert repr(trials) and trials._repr_html_()
    assert before == PAID
    for n in (n for n, entry in enumerate(run.entries) if entry.kind == "think"):
        trials = until_end(run, 8, n)
        for _ in range(5):
            trials.go(approved=False)
        assert len(trials.ended) == 8 and sum(trials.counts.values()) == 8
    assert before == PAID and not run.asking
