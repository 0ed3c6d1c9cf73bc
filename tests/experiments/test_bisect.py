"""Which change turned the outcome: planted changes in settings and on lines, luck, faults, and bad input."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import textwrap
import threading

import pytest

from agentkit import Agent, Call, Reply, runs, tool
from agentkit.core.steps import Loop
from agentkit.core.usage import Usage
from agentkit.errors import Undecided, UsageError
from agentkit.experiments.bisect import bisect
from agentkit.journal import MemoryJournal, open_journal
from agentkit.models import Scripted
from agentkit.models.base import Abilities


@pytest.fixture
def journal():
    return MemoryJournal()


@pytest.fixture
def path(tmp_path):
    yield tmp_path / "runs.db"
    open_journal(tmp_path / "runs.db").close()


def pure(name):
    def read(item: str = "") -> str:
        """Look something up."""
        return "4.5"

    read.__name__ = name
    return tool(read, effect="pure")


def by_tool(name="t3", asked=None, error=0.0, seed=1):
    """Return a model that says yes if it has a tool of this name, but for a share of the calls."""
    rng = random.Random(seed)

    def model(request):
        if asked is not None:
            asked.append(request)
        has = any(each.name == name for each in request.offered)
        return Reply("yes" if has != (rng.random() < error) else "no")

    model.abilities = Abilities(tools=True)
    return model


def many_tools(count, model, journal):
    """Return two runs: one without tools, and one with so many."""
    agent = Agent(model, journal=journal)
    run = agent.run("Can you?").run
    other = agent.using(tools=[pure(f"t{n}") for n in range(count)]).run("Can you?").run
    return run, other


def looker(count, asked=None):
    """Return a model that looks up so many things, and then says whether one of them was bad."""

    def model(request):
        if asked is not None:
            asked.append(request)
        seen = [message["content"] for message in request.messages if message["role"] == "tool"]
        if len(seen) < count:
            return Reply("", (Call("look", {"item": str(len(seen))}),))
        told = any("Say no" in message["content"] for message in request.messages)
        return Reply("no" if "bad" in seen or told else "yes")

    model.abilities = Abilities(tools=True)
    return model


def edited(count, culprit, journal, asked=None):
    """Return a run, and a fork of it in which every observation was edited; one of the edits turned the answer."""
    engine = Loop("react", max_iterations=50)
    run = Agent(looker(count, asked), [pure("look")], engine=engine, journal=journal).run("Is all well?").run
    fork = run.fork(0)
    for n in range(1, count + 1):
        fork.step()
        entry = fork.step()
        fork.edit(entry, text="bad" if n == culprit else f"edited {n}")
    assert fork.drive().answer == "no"
    return run, fork


# -- settings ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 7, 30])
def test_a_planted_tool_is_found_among_others(count, journal):
    run, other = many_tools(count, by_tool(f"t{count - 1}"), journal)
    found = bisect(run, other)
    assert len(found.changes) == count
    found.go()
    assert str(found.culprit) == f"tool t{count - 1}: added"
    assert (found.before.answer, found.after.answer) == ("no", "yes")
    assert f"it was change {count} (tool t{count - 1}: added). " in found.verdict


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"instructions": "Be mean."}, "instructions: none → 'Be mean.'"),
        ({"engine": "chain_of_thought"}, "engine: react → chain_of_thought"),
        ({"engine": {"max_iterations": 2}}, "engine option max_iterations: none → 2"),
        ({"settings": {"seed": 4}}, "setting seed: none → 4"),
        ({"budget": {"max_tool_calls": 3}}, "budget: none → max_tool_calls=3"),
        ({"max_tool_calls": 3}, "option max_tool_calls: none → 3"),
        ({"dialect": "json"}, "dialect: none → 'json'"),
        ({"tools": []}, "tool look: taken away"),
        ({"mark_results": True}, "option mark_results: none → True"),
        ({"clear_results": False}, "option clear_results: {'shown': 2000} → False"),
        ({"approve": ["look"]}, "approve: none → look"),
        ({"repeat": "reuse"}, "repeat: none → all other tools: reuse"),
        ({"roles": {"evaluate": "offline"}}, "model for evaluate: none → offline"),
    ],
)
@pytest.mark.parametrize("order", [1, -1])
def test_each_kind_of_setting_is_a_change_that_can_be_made_and_unmade(change, text, order, journal):
    def good(request):
        return Reply("yes")

    def bad(request):
        return Reply("no")

    base = Agent(good, [pure("look")], journal=journal)
    two = [base.run("Can you?").run, base.using(model=bad, **change).run("Can you?").run]
    found = bisect(*two[::order])
    assert len(found.changes) == 2
    if order == 1:
        assert text in [str(each) for each in found.changes]
    found.go()
    assert str(found.culprit).startswith("model: ")
    assert "does so without the other changes, too" in found.note or found.changes[0] is found.culprit


def test_a_tool_whose_code_was_changed_is_a_change(journal):
    def make(price):
        @tool(effect="pure")
        def look(item: str) -> str:
            """Look something up."""
            return price

        def model(request):
            seen = [message["content"] for message in request.messages if message["role"] == "tool"]
            return Reply(f"It is {seen[0]}") if seen else Reply("", (Call("look", {"item": "cake"}),))

        model.abilities = Abilities(tools=True)
        return Agent(model, [look], journal=journal)

    found = bisect(make("4").run("Price?"), make("5").run("Price?")).go()
    assert str(found.culprit) == "tool look: changed (its code, its schema or its settings)"


def test_the_temperature_of_a_run_is_a_change(journal):
    agent = Agent(reporter, [pure("look")], journal=journal)
    run, other = agent.run("Is all well?").run, agent.start("Is all well?", paused=True)
    other.temperature = 1.5
    other.drive()
    found = bisect(run, other)
    assert [str(each) for each in found.changes] == ["temperature: none → 1.5"]
    assert found.go().culprit is found.changes[0]


def test_a_noisy_culprit_is_found_by_repeating(journal):
    rng, noisy = random.Random(1), threading.Event()

    def model(request):
        has = any(each.name == "t3" for each in request.offered)
        return Reply("yes" if has != (noisy.is_set() and rng.random() < 0.15) else "no")

    model.abilities = Abilities(tools=True)
    run, other = many_tools(7, model, journal)
    noisy.set()
    found = bisect(run, other, repeats=40, on=1).go()
    assert str(found.culprit) == "tool t3: added"
    assert any(0 < sum(prefix.likes) < len(prefix.likes) for prefix in found.prefixes)


def test_luck_is_called_luck(journal):
    rng = random.Random(2)
    answers = iter(["no", "yes"])

    def coin(request):
        return Reply(next(answers, None) or rng.choice(["yes", "no"]))

    run, other = many_tools(3, coin, journal)
    found = bisect(run, other, on=1).go()
    assert found.status == "done"
    assert found.culprit is None
    assert found.verdict.startswith("cannot tell: ")
    assert "luck" in found.verdict
    assert found.prefixes[0].figures in found.verdict
    with pytest.raises(UsageError, match="no culprit: cannot tell"):
        _ = found.before


def test_a_change_that_works_only_with_another_one_is_told(journal):
    def model(request):
        names = {each.name for each in request.offered}
        return Reply("yes" if {"t1", "t4"} <= names else "no")

    run, other = many_tools(6, model, journal)
    found = bisect(run, other).go()
    assert str(found.culprit) == "tool t4: added"
    assert "only together with a change before it" in found.note
    assert "this one alone" in repr(found)


def test_a_score_that_is_a_number_is_compared_with_both_ends(journal):
    run, other = many_tools(4, by_tool("t2"), journal)

    def score(result, case):
        assert case == {"task": "Can you?", "right": "yes"}
        return 0.7 if result.answer == case["right"] else 0.4

    found = bisect(run, other, score=score, case={"right": "yes"}).go()
    assert str(found.culprit) == "tool t2: added"
    assert {row["score"] for row in found.to_dicts()} == {0.4, 0.7}


def test_the_error_of_a_run_can_be_what_is_explained(journal):
    def model(request):
        if any(each.name == "t1" for each in request.offered):
            raise ValueError("too many tools")
        return Reply("yes")

    run, other = many_tools(3, model, journal)
    assert other.error is not None
    found = bisect(run, other).go()
    assert str(found.culprit) == "tool t1: added"


def test_trials_that_fail_do_not_count_if_neither_run_had_failed(journal):
    broken = threading.Event()

    def model(request):
        if broken.is_set():
            raise ConnectionError("no network")
        return Reply("yes" if any(each.name == "t1" for each in request.offered) else "no")

    run, other = many_tools(3, model, journal)
    broken.set()
    found = bisect(run, other).go()
    assert found.status == "stuck"
    assert "no network" in found.problem
    assert "no network" in repr(found)
    broken.clear()
    assert str(found.go().culprit) == "tool t1: added"


# -- lines -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "culprit"), [(1, 1), (2, 1), (2, 2), (7, 3), (30, 21)])
@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_planted_edit_is_found_among_others(count, culprit, is_reversed, journal):
    run, fork = edited(count, culprit, journal)
    found = bisect(fork, run) if is_reversed else bisect(run, fork)
    assert [change.kind for change in found.changes].count("edit") == count
    found.go()
    assert found.culprit is not None
    assert f"the edit of tool_call_{culprit}_0 (" in str(found.culprit)
    assert str(found.culprit).endswith("taken back") is is_reversed
    assert {found.before.answer, found.after.answer} == {"yes", "no"}
    assert found.after.answer == (run if is_reversed else fork).answer


def test_trials_keep_what_is_recorded_and_ask_only_for_the_rest(journal):
    asked: list = []
    run, fork = edited(7, 3, journal, asked)
    asked.clear()
    found = bisect(run, fork).go()
    calls = sum(trial.outcome.calls for prefix in found.prefixes for trial in prefix.trials)
    assert len(asked) == calls
    assert {entry.run for entry in found.after.entries[:5]} <= {run.id, fork.id}


def test_a_message_is_a_change(journal):
    run = Agent(looker(2), [pure("look")], journal=journal).run("Is all well?").run
    fork = run.fork(2)
    fork.inject("Say no, please.")
    fork.drive()
    for two in ((run, fork), (fork, run)):
        found = bisect(*two).go()
        assert str(found.culprit).startswith("the injected message 'Say no, please.'")
        heard = [bool(each.trace.injections.notes) for each in (found.before, found.after)]
        assert sorted(heard) == [False, True]


def test_settings_of_forks_are_changes_beside_edits_and_messages(journal):
    run = Agent(looker(3), [pure("look")], journal=journal).run("Is all well?").run
    fork = run.fork(2, max_tool_calls=9)
    fork.inject("Be quick.")
    fork.edit(2, text="fine")
    fork.drive()
    again = fork.fork(4, model=_no())
    again.drive()
    assert again.answer == "no"
    found = bisect(run, again)
    assert [change.kind for change in found.changes] == ["setting", "edit", "message", "drawn", "setting"]
    assert str(found.changes[3]) == f"what the model drew in {again.id}: model_call_2 to tool_call_2_0"
    found.go()
    assert str(found.culprit).startswith("model: ")
    other_way = bisect(again, run).go()
    assert str(other_way.culprit).startswith("model: ")


def _no():
    def no(request):
        return Reply("no")

    no.abilities = Abilities(tools=True)
    return no


def test_what_the_model_drew_between_two_changes_may_be_the_culprit(journal):
    """An edit, then a reply that was lucky once, then another edit: neither edit turned it."""
    lucky = threading.Event()

    def model(request):
        seen = [message for message in request.messages if message["role"] in ("tool", "assistant")]
        if len(seen) < 2:
            return Reply("first", (Call("look", {"item": "a"}),))
        if len(seen) < 4:
            return Reply("LUCKY" if lucky.is_set() else "usual", (Call("look", {"item": "b"}),))
        return Reply("yes" if any("LUCKY" in message["content"] for message in seen) else "no")

    model.abilities = Abilities(tools=True)
    run = Agent(model, [pure("look")], journal=journal).run("Is all well?").run
    fork = run.fork(2)
    fork.edit(2, text="edited once")
    lucky.set()
    fork.step()
    lucky.clear()
    fork.edit(fork.step(), text="edited twice")
    assert fork.drive().answer == "yes"
    found = bisect(run, fork)
    assert [change.kind for change in found.changes] == ["edit", "drawn", "edit"]
    found.go()
    assert found.culprit is not None
    assert found.culprit.kind == "drawn"
    assert "it was luck, not a change: what the model drew in" in found.verdict
    assert "model_call_2" in found.verdict


def test_two_forks_of_one_run_and_two_lines_of_one_run_can_be_bisected(journal):
    run = Agent(looker(2), [pure("look")], journal=journal).run("Is all well?").run
    one, two = run.fork(2), run.fork(2)
    one.edit(2, text="well")
    two.edit(2, text="bad")
    one.drive(), two.drive()
    found = bisect(one, two).go()
    assert [change.kind for change in found.changes] == ["edit", "edit"]
    assert "bad" in str(found.culprit)
    assert not str(found.culprit).endswith("taken back")
    run.edit(2, text="bad")
    run.drive()
    assert run.answer == "no"
    before = next(line for line in run.branches() if line[-1].run == run.id and line[2].result.text == "4.5")
    found = bisect(before, run).go()
    assert "the edit of tool_call_1_0 ('4.5' → 'bad')" in str(found.culprit)


def test_runs_that_differ_by_luck_alone_are_refused_with_what_to_do(journal):
    answers = iter(["yes", "no"])
    run = Agent(lambda request: Reply(next(answers)), journal=journal).run("Can you?").run
    fork = run.fork(0)
    fork.drive()
    with pytest.raises(UsageError, match=r"by luck.*; run\.resample"):
        bisect(run, fork)


# -- what is done, and what is not -------------------------------------------------------------------------------------


def test_nothing_is_performed_before_go(journal):
    asked: list = []
    run, other = many_tools(7, by_tool(asked=asked), journal)
    asked.clear()
    before = len(runs(journal, prefix=""))
    found = bisect(run, other)
    assert (found.status, asked, len(runs(journal))) == ("ready", [], before)
    assert "go() makes " in repr(found)


def test_the_forecast_holds(journal):
    asked: list = []
    run, other = many_tools(7, by_tool(asked=asked), journal)
    asked.clear()
    found = bisect(run, other)
    least, most = found.most
    found.go()
    assert least - 5 * 1 <= len(asked) <= least
    assert len(asked) <= most
    assert found.expected.cost == 0


def test_the_price_is_shown_first():
    model = Scripted(["no", "yes"], usage=Usage(1000, 100, cost=0.01), abilities=Abilities(tools=True))
    run, other = many_tools(1, model, "memory")
    found = bisect(run, other)
    assert "go() makes 6 to 20 trials, with about 6 to 20 model calls in all" in repr(found)
    assert "about 6,600 to 22,000 tokens; about $0.06" in found.forecast
    assert "go() makes 2 trials, with about 2 model calls in all: about 2,200 tokens; about $0.02" in (
        bisect(run, other, repeats=1).forecast
    )


def test_trials_that_are_recorded_are_not_made_again(path):
    asked: list = []
    run, other = many_tools(7, by_tool(asked=asked), path)
    first = bisect(run, other).go()
    asked.clear()
    again = bisect(run, other)
    assert "may be on record" in again.forecast
    again.go()
    assert (asked, str(again.culprit), repr(again).count("known before")) == ([], str(first.culprit), 1)
    assert again.after.answer == "yes"
    more = bisect(run, other, score=lambda result, case: len(result.answer)).go()
    assert str(more.culprit) == str(first.culprit)
    assert asked == []  # scored again, not run again


def test_trials_are_found_by_their_tag_and_not_in_the_list_of_runs(path):
    run, other = many_tools(2, by_tool("t1"), path)
    before = len(runs(path))
    bisect(run, other).go()
    assert len(runs(path)) == before
    assert len(runs(path, prefix="bisect.")) >= 8


def test_a_stop_stops_and_go_continues(journal):
    asked: list = []
    gate = threading.Event()
    inner = by_tool("t2", asked)

    def model(request):
        if len(asked) >= 8:
            gate.wait(20)
        return inner(request)

    model.abilities = Abilities(tools=True)
    run, other = many_tools(4, model, journal)
    found = bisect(run, other, on=2).begin()
    while len(asked) < 8:
        pass
    assert found.status == "running"
    found.stop().wait()
    assert found.status == "stopped"
    made = [trial for prefix in found.prefixes for trial in prefix.trials if trial.outcome]
    gate.set()
    found.go()
    assert str(found.culprit) == "tool t2: added"
    assert all(any(trial is old for prefix in found.prefixes for trial in prefix.trials) for old in made)


def test_trials_count_in_the_order_in_which_they_were_given_out(journal):
    hold, begun = threading.Event(), threading.Semaphore(0)
    seen: list[str] = []

    def model(request):
        is_slow = request.offered and hold.is_set() and not seen
        if is_slow:
            seen.append("slow")
            begun.release()
            threading.Event().wait(60)  # until it is stopped
        return Reply("yes" if request.offered else "no")

    model.abilities = Abilities(tools=True)
    run, other = many_tools(1, model, journal)
    hold.set()
    found = bisect(run, other, on=4).begin()
    assert begun.acquire(timeout=30)
    last = found.prefixes[-1]
    while [trial.outcome is None for trial in last.trials].count(True) != 1 or last.trials[-1].outcome is None:
        found.wait(0.05)  # until only the slow one has not ended, and others that were given out after it have
    found.stop().wait(30)
    slow = next(n for n, trial in enumerate(last.trials) if trial.outcome is None)
    assert slow < len(last.trials) - 1 and last.likes == [True] * slow
    made = {prefix.count: len(prefix.trials) for prefix in found.prefixes}
    assert found.go().culprit is not None
    assert {prefix.count: len(prefix.trials) for prefix in found.prefixes} == made


def test_a_timeout_stops_the_search(journal):
    hold = threading.Event()

    def model(request):
        hold.wait(20)
        return Reply("yes" if request.offered else "no")

    model.abilities = Abilities(tools=True)
    hold.set()
    run, other = many_tools(1, model, journal)
    hold.clear()
    found = bisect(run, other).go(timeout=0.3)
    assert found.status == "stopped"
    hold.set()
    assert found.go().culprit is not None


PROGRAM = """
import os, sys
from agentkit import Agent, Reply, tool
from agentkit.experiments.bisect import bisect
from agentkit.models.base import Abilities

path = sys.argv[1]

def look(item: str) -> str:
    "Look something up."
    return "fine"

def model(request):
    log, die_at = sys.argv[2], int(sys.argv[3])
    with open(log, "a") as out:
        out.write("x")
    if die_at and os.path.getsize(log) >= die_at:
        os._exit(9)
    return Reply("yes" if any(each.name == "t2" for each in request.offered) else "no")

def named(name):
    def inner(item: str = "") -> str:
        "Look something up."
        return "fine"
    inner.__name__ = name
    return tool(inner, effect="pure")

model.abilities = Abilities(tools=True)
agent = Agent(model, journal=path)
many = agent.using(tools=[named(f"t{n}") for n in range(5)])
found = bisect(agent.run("Can you?", name="one").run, many.run("Can you?", name="two").run, on=1).go()
print(found.culprit, len(open(sys.argv[2]).read()))
"""


@pytest.mark.slow
def test_another_process_goes_on_after_one_was_killed(tmp_path, path):
    program, log = tmp_path / "program.py", tmp_path / "log"
    program.write_text(textwrap.dedent(PROGRAM))
    for die_at in (3, 9, 20, 0):
        done = subprocess.run(
            [sys.executable, str(program), str(path), str(log), str(die_at)],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == (9 if die_at else 0), done.stderr
    culprit, calls = done.stdout.rsplit(maxsplit=1)
    assert culprit == "tool t2: added"
    whole = bisect(*many_tools(5, by_tool("t2"), tmp_path / "other.db")).go()
    made = sum(len(prefix.trials) for prefix in whole.prefixes)
    assert int(calls) <= 2 + made + 3  # a call that was killed is made again, and no other


# -- the world ---------------------------------------------------------------------------------------------------------


def payer(paid, journal):
    """Return an agent that looks up a price, pays it, and says whether the price was high."""

    @tool(effect="irreversible")
    def pay(amount: str) -> str:
        """Pay an amount."""
        paid.append(amount)
        return f"paid {amount}"

    def model(request):
        seen = [message["content"] for message in request.messages if message["role"] == "tool"]
        if not seen:
            return Reply("", (Call("look", {"item": "cake"}),))
        if len(seen) == 1:
            return Reply("", (Call("pay", {"amount": seen[0]}),))
        return Reply("high" if seen[0] == "99" else "low")

    model.abilities = Abilities(tools=True)
    return Agent(model, [pure("look"), pay], journal=journal)


def paid_twice(paid, journal):
    run = payer(paid, journal).run("Pay for the cake.").run
    fork = run.fork(2)
    fork.edit(2, text="99")
    fork.drive()
    while fork.waiting:
        fork.approve()
        fork.drive()
    return run, fork


def test_an_irreversible_tool_is_asked_about_once_and_before_anything_is_done(journal):
    paid: list[str] = []
    run, fork = paid_twice(paid, journal)
    assert paid == ["4.5", "99"]
    found = bisect(run, fork)
    assert found.status == "asks"
    assert "pay (irreversible)" in found.question
    assert "pay (irreversible)" in repr(found)
    with pytest.raises(Undecided, match="approved=True"):
        found.go()
    assert paid == ["4.5", "99"]


@pytest.mark.parametrize("approved", [True, False])
def test_what_was_paid_is_not_paid_again(approved, path):
    paid: list[str] = []
    run, fork = paid_twice(paid, path)
    found = bisect(run, fork).go(approved=approved)
    assert "edit of tool_call_1_0" in str(found.culprit)
    assert paid == ["4.5", "99"]


def test_a_call_that_is_not_allowed_waits_and_is_told(journal):
    paid: list[str] = []
    run = payer(paid, journal).run("Pay for the cake.").run
    other = payer(paid, journal).using(instructions="Look well.").run("Pay for the cake.").run
    paid.clear()
    found = bisect(run, other, score=lambda result, case: len(result.run[0].result["task"]), approved=False).go()
    assert (found.status, paid) == ("stuck", [])
    assert "waits for you" in found.problem
    found.go(approved=True)
    assert found.culprit is found.changes[0]
    assert len(paid) == sum(len(prefix.trials) for prefix in found.prefixes)


# -- bad input ---------------------------------------------------------------------------------------------------------


def test_what_cannot_be_bisected_is_refused_with_what_to_do(journal):
    run, other = many_tools(2, by_tool("t1"), journal)
    agent = run.agent
    for one, two, match in [
        (run, run, "the same run"),
        (run, "two", "must be a run"),
        (run, other.fork(0), "has not ended"),
        (run, agent.using(tools=[pure("x")]).run("Something else?"), "different tasks"),
        (run, agent.run("Can you?"), "do not differ in anything that is recorded"),
        (run, agent.using(tools=[pure("x")]).run("Can you?"), "nothing to explain"),
    ]:
        with pytest.raises(UsageError, match=match):
            bisect(one, two)
    for options, match in [
        ({"repeats": 0}, "repeats must be"),
        ({"repeats": 2}, "at least 4, or 1"),
        ({"on": 0}, "on must be"),
        ({"timeout": 0}, "timeout must be"),
        ({"timeout": float("inf")}, "timeout must be"),
        ({"score": "good"}, "score"),
        ({"score": lambda: 1}, "score must be a function"),
        ({"score": lambda result, case: float("nan")}, "not a finite number"),
        ({"case": 3}, "case must be a dict"),
    ]:
        with pytest.raises(UsageError, match=match):
            bisect(run, other, **options)


def test_a_run_that_is_going_on_is_refused(journal):
    hold = threading.Event()

    def model(request):
        hold.wait(20)
        return Reply("yes")

    run = Agent(lambda request: Reply("no"), journal=journal).run("Can you?").run
    other = Agent(model, journal=journal).start("Can you?")
    try:
        with pytest.raises(UsageError, match="still going on"):
            bisect(run, other)
    finally:
        hold.set()
        other.wait()


def test_a_run_whose_parts_are_not_here_is_refused(journal):
    run, other = many_tools(2, by_tool("t1"), journal)
    name, model = other.id, other.agent.model
    other.close()
    without = Agent(model, journal=journal).resume(name)
    with pytest.raises(UsageError, match="not here: tool 't0'"):
        bisect(run, without)
    without.close()
    with pytest.raises(UsageError, match=r"opened to look at.*agent\.resume"):
        bisect(run, run.agent.look(name))

    @tool(effect="pure")
    def t0(other: int) -> str:
        """Another one."""
        return ""

    stale = Agent(model, [t0, pure("t1")], journal=journal).resume(name)
    with pytest.raises(UsageError, match="another version of t0"):
        bisect(run, stale)
    stale.close()


def test_a_run_that_was_opened_with_another_model_is_refused(journal):
    first, second = Scripted(["yes"], name="first"), Scripted(["no"], name="second")
    one, two = Agent(first, journal=journal).run("Can you?").run, Agent(second, journal=journal).run("Can you?").run
    name = two.id
    two.close()
    opened = Agent(first, journal=journal).resume(name)
    with pytest.raises(UsageError, match="another model than it was made with"):
        bisect(one, opened)


def test_a_run_that_was_closed_is_opened_again(path):
    run, fork = edited(2, 1, path)
    run.close()
    fork.close()
    assert "tool_call_1_0" in str(bisect(run, fork).go().culprit)


def test_the_code_of_an_engine_is_a_change(journal):
    from agentkit import Answer, Think

    def make(last):
        def engine(task):
            reply = yield Think(task)
            return Answer(reply.text + last, task + reply)

        return engine

    def model(request):
        return Reply("Well")

    one, two = (Agent(model, engine=make(last), journal=journal).run("Can you?") for last in ("!", "?"))
    found = bisect(one, two)
    assert [str(each) for each in found.changes] == ["engine: changed (its code, its schema or its settings)"]
    assert found.go().culprit is not None


def test_hostile_texts_are_shown_as_text_and_secrets_are_not_shown(journal):
    hostile = "<script>alert(1)</script>\x1b[31m"
    run, fork = edited(1, 1, journal)
    other = run.fork(2)
    other.edit(2, text=f"{hostile} sk-proj-{'a1B2' * 12}")
    other.inject(hostile)
    other.drive()
    found = bisect(fork, other)
    for shown in (repr(found), found._repr_html_()):
        assert "\x1b" not in shown
        assert "a1B2a1B2" not in shown
    assert "<script>" not in found._repr_html_()


def test_without_a_journal_the_trials_are_kept_in_memory():
    run, other = many_tools(3, by_tool("t1"), None)
    found = bisect(run, other).go()
    assert str(found.culprit) == "tool t1: added"
    assert found.after.answer == "yes"
    assert found.after.fork(1).drive().answer == "yes"


def test_a_loop_with_an_inner_engine_can_be_changed(journal):
    base = Agent(by_tool("t9"), journal=journal)
    one = base.using(engine=Loop("reflexion", max_reflections=1)).run("Can you?")
    two = base.using(
        engine=Loop("reflexion", max_reflections=1, actor="plan_and_execute"), tools=[pure("t9")], instructions="Go."
    ).run("Can you?")
    found = bisect(one, two, score=lambda result, case: len(result.run.task["tools"]))
    assert len(found.changes) == 3
    assert str(found.go().culprit) == "tool t9: added"


def test_runs_that_are_opened_again_have_the_same_trials(path):
    asked: list = []
    run, fork = edited(3, 2, path, asked)
    names, agent = (run.id, fork.id), run.agent
    first = bisect(run, fork).go()
    run.close()
    fork.close()
    asked.clear()
    again = bisect(*map(agent.resume, names)).go()
    assert asked == []
    assert again.verdict == first.verdict
    assert again.after.id == first.after.id


def test_edits_of_calls_that_run_in_parallel_are_told_apart(journal):
    def model(request):
        seen = [message["content"] for message in request.messages if message["role"] == "tool"]
        if not seen:
            return Reply("", tuple(Call("look", {"item": str(n)}) for n in range(3)))
        return Reply("bad" if "bad" in seen else "good")

    model.abilities = Abilities(tools=True)
    run = Agent(model, [pure("look")], journal=journal).run("Is all well?").run
    fork = run.fork()
    for number, text in ((0, "fine"), (2, "bad"), (1, "well")):
        fork.edit([entry for entry in fork.entries if entry.kind == "act"][number], text=text)
    fork.drive()
    for two in ((run, fork), (fork, run)):
        assert str(bisect(*two).go().culprit).startswith("the edit of tool_call_1_2 ('4.5' → 'bad')")


def test_typed_answers_need_their_type(journal):
    def model(request):
        return Reply('{"ok": true}' if any(each.name == "t1" for each in request.offered) else '{"ok": false}')

    model.abilities = Abilities(tools=True)
    kind = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    agent = Agent(model, journal=journal)
    run = agent.run("Can you?", output=kind)
    other = agent.using(tools=[pure("t0"), pure("t1")]).run("Can you?", output=kind)
    with pytest.raises(UsageError, match="pass that type, output="):
        bisect(run, other)
    found = bisect(run, other, output=kind, score=lambda result, case: result.output["ok"]).go()
    assert str(found.culprit) == "tool t1: added"


def test_a_budget_can_be_the_culprit(journal):
    agent = Agent(looker(2), [pure("look")], journal=journal)
    run = agent.run("Is all well?").run
    other = agent.using(budget={"max_model_calls": 1}, instructions="Be brief.").run("Is all well?").run
    assert other.result.reason.startswith("budget")
    found = bisect(run, other).go()
    assert str(found.culprit).startswith("budget: none → ")


def test_a_score_that_fails_in_a_trial_is_told(journal):
    run, other = many_tools(2, by_tool("t1"), journal)
    known = {run.id, other.id}

    def score(result, case):
        if result.run.id not in known:
            raise KeyError("no such column")
        return result.answer == "yes"

    found = bisect(run, other, score=score).go()
    assert found.status == "stuck"
    assert "no such column" in found.problem
    assert "correct the score" in found.problem


def test_the_ends_are_the_same_points_from_the_other_side(journal):
    asked: list = []
    run, other = many_tools(1, by_tool("t0", asked), journal)
    one = bisect(run, other, score=lambda result, case: len(result.answer)).go()
    asked.clear()
    two = bisect(other, run, score=lambda result, case: len(result.answer)).go()
    assert (str(one.culprit), str(two.culprit)) == ("tool t0: added", "tool t0: taken away")
    assert asked == []


# -- at random ---------------------------------------------------------------------------------------------------------


def reporter(request):
    """Reply with all that could have been changed."""
    seen = [message["content"] for message in request.messages if message["role"] == "tool"]
    notes = sum("note" in message["content"] for message in request.messages)
    if len(seen) < 3:
        return Reply("", (Call("look", {"item": str(len(seen))}),))
    return Reply(f"{seen} {notes} {sorted(each.name for each in request.offered)} {request.settings}")


reporter.abilities = Abilities(tools=True, temperature=True)  # type: ignore[attr-defined]


def wander(run, rng):
    """Do something at random to a run, and return it, or a fork of it."""
    kind = rng.choice(["edit", "rethink", "inject", "fork", "step", "step", "rewind", "undo", "temperature", "respond"])
    number = rng.randint(0, 99)
    steps = {kind: [entry for entry in run.entries if entry.kind == kind] for kind in ("act", "think")}
    calls = [entry for entry in steps["think"] if entry.result.calls]
    settings = [{}, {"settings": {"seed": number}}, {"tools": [pure("look"), pure("t1")]}, {"max_tool_calls": 9}]
    try:
        if kind == "edit" and steps["act"]:
            run.edit(rng.choice(steps["act"]), text=f"edited {number}")
        elif kind == "rethink" and calls:
            run.edit(rng.choice(calls), arguments={"item": str(number)})
        elif kind == "inject":
            run.inject(f"note {number}")
        elif kind == "fork":
            return run.fork(rng.randrange(len(run)), **rng.choice(settings))
        elif kind == "step":
            run.step()
        elif kind == "rewind":
            run.rewind(rng.randrange(len(run)))
        elif kind == "undo":
            run.undo()
        elif kind == "temperature":
            run.temperature = rng.choice([None, 0.3, 0.9])
        elif kind == "respond" and run.pending and run.pending[0].step.kind == "act":
            run.respond(f"answered {number}")
    except UsageError:  # it could not be done there
        pass
    return run


@pytest.mark.parametrize("seed", range(int(os.environ.get("AGENTKIT_SIZE", "12"))))
def test_whatever_people_did_both_ends_end_as_recorded_and_a_change_is_found(seed):
    rng, ends = random.Random(seed), []
    base = Agent(reporter, [pure("look")], journal="memory").run("Is all well?").run
    for _ in range(2):
        run = base.fork(rng.randrange(len(base) - 1))
        for _ in range(rng.randint(1, 7)):
            run = wander(run, rng)
        run.drive()
        ends.append(run)
    try:
        found = bisect(*ends).go()
    except UsageError as error:
        has_other = any(entry.temperature != run.temperature for run in ends for entry in run.entries[1:])
        assert ends[0].answer == ends[1].answer or (has_other and "changed back" in str(error))
        return
    assert found.culprit is not None, found
    tried = {prefix.count: prefix for prefix in found.prefixes}
    for count, end in ((0, ends[0]), (len(found.changes), ends[1])):
        assert {trial.outcome.answer for trial in tried[count].trials} == {end.answer}


def test_bisections_of_the_same_runs_at_the_same_time_share_their_trials(path):
    asked: list = []
    inner = by_tool("t1", asked)

    def slow(request):
        threading.Event().wait(0.02)
        return inner(request)

    slow.abilities = Abilities(tools=True)
    run, other = many_tools(3, slow, path)
    asked.clear()
    several = [bisect(run, other).begin() for _ in range(3)]
    for found in several:
        assert str(found.wait().culprit) == "tool t1: added", found.problem
    assert len(asked) == several[0].most[0]


def test_threads_that_begin_a_bisection_at_the_same_time_begin_it_once(journal):
    asked: list[object] = []
    run, other = many_tools(1, by_tool("t0", asked), journal)
    found = bisect(run, other)
    asked.clear()
    together = threading.Barrier(8)

    def go() -> None:
        together.wait()
        found.go()

    threads = [threading.Thread(target=go) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert str(found.culprit) == "tool t0: added"
    assert len(asked) == found.most[0]


def test_a_bisection_that_was_stopped_before_it_began_begins(journal):
    run, other = many_tools(2, by_tool("t1"), journal)
    found = bisect(run, other).stop()
    assert found.status == "stopped"
    assert found.wait().go().status == "done"
    assert found.go() is found


def test_trials_that_take_too_long_are_told(journal):
    hangs, over = threading.Event(), threading.Event()

    def model(request):
        if hangs.is_set():
            over.wait(20)
        return Reply("yes" if request.offered else "no")

    model.abilities = Abilities(tools=True)
    run, other = many_tools(1, model, journal)
    hangs.set()
    found = bisect(run, other, timeout=0.1).go()
    over.set()
    assert found.status == "stuck"
    assert "it took too long" in found.problem


CELL = """
import time
from agentkit import Agent, Reply, tool
from agentkit.experiments.bisect import bisect

@tool(effect="pure")
def look(item: str) -> str:
    "Look something up."
    return "fine"

def model(request):
    time.sleep(0.1)
    return Reply("FINAL_ANSWER: yes" if request.offered else "FINAL_ANSWER: no")

agent = Agent(model, journal="memory")
found = bisect(agent.run("Can you?"), agent.using(tools=[look]).run("Can you?"), on=1)
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("last", ["found.begin(); display(found); found.wait(); time.sleep(0.5)", "found.go()"])
def test_the_table_changes_in_a_notebook_while_the_trials_go_on(tmp_path, last):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL + last)])
    shown: list[str] = []

    class Client(NotebookClient):
        def process_message(self, message, cell, index):
            if message["msg_type"] == "update_display_data":
                shown.append(message["content"]["data"].get("text/html", ""))
            return super().process_message(message, cell, index)

    environment = {**os.environ, "AGENTKIT_HOME": str(tmp_path), "AGENTKIT_NONINTERACTIVE": "0"}
    Client(notebook, timeout=60, kernel_name="python3").execute(env=environment)
    texts = [output["data"].get("text/html", "") for output in notebook.cells[0].outputs]
    assert sum("It was change 1" in text for text in texts) == 1
    assert not any("running" in text for text in texts)
    assert any("running" in text and " of " in text for text in shown)
    assert not any("running" in text for text in texts)
