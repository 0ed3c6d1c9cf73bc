"""Experiments on threads: what is run, what is taken from the journal, and what is made of bad input."""

from __future__ import annotations

import math
import random
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from agentkit import Agent, Reply, experiment, runs
from agentkit.errors import AgentkitError, ModelBusy, ReadOnly, Undecided, Unknown, UsageError
from agentkit.experiments.statistics import wilson
from agentkit.journal import open_journal
from agentkit.models import Scripted


@pytest.fixture
def path(tmp_path):
    yield tmp_path / "runs.db"
    open_journal(tmp_path / "runs.db").close()


@pytest.fixture(params=["sqlite", "memory", "none"])
def journal(request, path):
    from agentkit.journal import MemoryJournal

    return {"sqlite": path, "memory": MemoryJournal(), "none": None}[request.param]


def test_every_case_is_run_with_every_variant_and_repeat(journal, make):
    base = make.multiplier(journal)
    variants = {"right": base, "wrong": make.multiplier(journal, wrong=("What is 2 * 3?", "What is 3 * 3?"))}
    found = experiment(make.products(4), variants, score=make.right, repeats=2, on=4).wait()
    assert found.status == "done"
    assert (len(found.cells), found.count("scored")) == (16, 16)
    assert found.scores("right") == {str(n): [1.0, 1.0] for n in range(4)}
    assert found.scores("wrong") == {"0": [0.0, 0.0], "1": [0.0, 0.0], "2": [1.0, 1.0], "3": [1.0, 1.0]}
    assert [cell.case.id for cell in found.worse("wrong")] == ["0", "1"]
    assert "1.000" in repr(found)
    assert "0.500" in repr(found)


def test_a_second_call_asks_no_model_and_opens_no_run(path, make):
    asked: list[str] = []
    agent = make.multiplier(path, asked)
    first = experiment(make.products(5), agent, score=make.right, repeats=3).wait()
    epochs = _epochs(path)
    second = experiment(make.products(5), agent, score=make.right, repeats=3)
    assert second.status == "done"  # without waiting
    assert (len(asked), second.cached) == (15, 15)
    assert second.scores("agent") == first.scores("agent")
    assert _epochs(path) == epochs


def _epochs(path):
    import sqlite3

    with sqlite3.connect(path) as db:
        found = db.execute("SELECT run, epoch FROM runs ORDER BY run").fetchall()
    db.close()
    return found


def test_more_cases_repeats_and_variants_run_only_what_is_missing(path, make):
    asked: list[str] = []
    agent = make.multiplier(path, asked)
    experiment(make.products(3), {"a": agent}, score=make.right).wait()
    experiment(make.products(3), {"a": agent}, score=make.right, repeats=2).wait()
    assert len(asked) == 6
    experiment(list(reversed(make.products(5))), {"a": agent}, score=make.right, repeats=2).wait()
    assert len(asked) == 10
    experiment(make.products(5), {"a": agent, "b": agent}, score=make.right, repeats=2).wait()
    assert len(asked) == 20


def test_another_score_is_applied_to_the_same_runs(path, make):
    asked: list[str] = []
    agent = make.multiplier(path, asked)
    experiment(make.products(3), agent, score=make.right).wait()
    found = experiment(make.products(3), agent, score=lambda result, case: len(result.answer)).wait()
    assert found.scores("agent") == {"0": [1.0], "1": [1.0], "2": [2.0]}
    assert len(asked) == 3


def test_an_expected_answer_that_is_corrected_changes_no_run(path, make):
    asked: list[str] = []
    agent = make.multiplier(path, asked)
    cases = make.products(2)
    experiment(cases, agent, score=make.right).wait()
    cases[0]["expected"] = 7
    found = experiment(cases, agent, score=make.right).wait()
    assert len(asked) == 2
    assert found.scores("agent") == {"0": [0.0], "1": [1.0]}


def test_an_agent_that_was_changed_is_run_anew(path, make):
    asked: list[str] = []
    agent = make.multiplier(path, asked)
    experiment(make.products(2), {"a": agent}).wait()
    experiment(make.products(2), {"a": agent.using(instructions="Be brief.")}).wait()
    experiment(make.products(2), {"a": make.multiplier(path, asked, wrong=("other",))}).wait()
    assert len(asked) == 6


def test_two_experiments_of_one_name_with_other_content_do_not_mix(path, make):
    one = experiment(make.products(2), {"a": make.multiplier(path)}, score=make.right, name="same").wait()
    cases = [{"task": case["task"] + " Now!", "expected": case["expected"]} for case in make.products(2)]
    two = experiment(cases, {"a": make.multiplier(path)}, score=make.right, name="same").wait()
    assert {cell.run_name for cell in one.cells}.isdisjoint(cell.run_name for cell in two.cells)
    assert (one.count("scored"), two.count("scored"), two.cached) == (2, 2, 0)


def test_the_runs_are_found_by_name_and_tags(path, make):
    experiment(make.products(2), {"a": make.multiplier(path)}, name="prices", repeats=2).wait()
    assert len(runs(path, prefix="prices.")) == 4
    [info] = runs(path, tags={"experiment": "prices", "case": "1", "repeat": "0"})
    assert info.task == "What is 3 * 3?"


def test_each_cell_gives_its_run_to_step_edit_and_fork(journal, make):
    found = experiment(make.products(2), make.multiplier(journal), score=make.right).wait()
    run = found["agent", 0, 0].run
    assert (run.answer, run[0].result["task"][0]["text"]) == ("6", "What is 2 * 3?")
    run.rewind(0)
    run.edit(answer="7")
    assert run.drive().answer == "7"
    assert found["agent", 0, 0].run is run
    run.close()


def test_a_run_that_was_changed_by_hand_is_scored_again(path, make):
    found = experiment(make.products(2), make.multiplier(path), score=make.right).wait()
    run = found["agent", 0, 0].run
    run.rewind(0)
    run.edit(answer="7")
    run.drive()
    run.close()
    again = experiment(make.products(2), make.multiplier(path), score=make.right).wait()
    assert (again.cached, again.scores("agent")) == (1, {"0": [0.0], "1": [1.0]})


# -- outcomes of their own ---------------------------------------------------------------------------------------------


def test_a_model_that_fails_is_a_failure_that_is_tried_again(path, make):
    lines: list = [ModelBusy("later"), "FINAL_ANSWER: 6"]
    agent = Agent(lambda request: _raised(lines.pop(0)), journal=path)
    found = experiment(make.products(1), agent, score=make.right).wait()
    assert (found.count("failed"), found.scores("agent")) == (1, {"0": [0.0]})
    assert "later" in found.cells[0].outcome.problem
    assert "count as 0" in repr(found)
    again = experiment(make.products(1), agent, score=make.right).wait()
    assert (again.count("scored"), again.scores("agent")) == (1, {"0": [1.0]})


def _raised(line):
    if isinstance(line, Exception):
        raise line
    return Reply(line)


def test_a_call_that_needs_approval_waits_for_a_person_and_goes_on_later(path, tmp_path, make):
    agent = make.payer(path, tmp_path / "paid", times=1, approve=["pay"])
    found = experiment(["Pay 5."], agent, score=lambda r, c: 1, approved=True).wait()
    assert (found.count("waiting"), found.scores("agent")) == (1, {})
    again = experiment(["Pay 5."], agent, score=lambda r, c: 1, approved=True)
    assert (again.status, again.cached) == ("done", 1)  # it still waits, and nothing is done about that
    run = again["agent", 0, 0].run
    run.approve()
    run.drive()
    run.close()
    assert experiment(["Pay 5."], agent, score=lambda r, c: 1, approved=True).wait().scores("agent") == {"0": [1.0]}
    assert (tmp_path / "paid").read_text() == "5.0\n"


def test_an_approver_decides_where_nobody_is(path, tmp_path, make):
    agent = make.payer(path, tmp_path / "paid", times=1, approve=["pay"], approver=lambda call: True)
    assert experiment(["Pay 5."], agent, approved=True).wait().count("scored") == 1


def test_a_run_over_its_budget_is_told_apart(path, tmp_path, make):
    agent = make.payer(path, tmp_path / "paid", effect="pure", budget={"max_tool_calls": 2, "ask": True})
    found = experiment(["Pay 5."], agent, score=lambda r, c: 1).wait()
    assert (found.count("over budget"), found.scores("agent")) == (1, {"0": [0.0]})
    assert experiment(["Pay 5."], agent, score=lambda r, c: 1).status == "done"


def test_a_run_that_takes_too_long_has_failed(path, make):
    found = experiment(make.products(1), make.multiplier(path, delay=30), timeout=0.2).wait(20)
    assert (found.count("failed"), found.cells[0].outcome.problem) == (1, "it took too long")


@pytest.mark.parametrize(
    ("score", "problem"),
    [
        (lambda r, c: c["nothing"], "KeyError: 'nothing'"),
        (lambda r, c: math.nan, "is not a finite number"),
        (lambda r, c: "good", "must be a number, True or False: 'good'"),
        (lambda r, c: None, "must be a number"),
        (lambda r, c: {}, "empty dict"),
        (lambda r, c: {"a": 1, "b": math.inf}, "the score 'b' is not a finite number"),
        (lambda r, c: -1e308, "the score is too large"),
        (lambda r, c: sys.exit("usage: grade FILE"), "SystemExit: usage: grade FILE"),
    ],
)
def test_a_score_that_is_no_number_leaves_the_run_unscored(path, make, score, problem):
    asked: list[str] = []
    agent = make.multiplier(path, asked)
    found = experiment(make.products(1), agent, score=score).wait()
    assert (found.count("unscored"), found.scores("agent")) == (1, {})
    assert problem in found.cells[0].outcome.problem
    assert problem in repr(found)
    assert experiment(make.products(1), agent, score=make.right).wait().scores("agent") == {"0": [1.0]}
    assert len(asked) == 1


def test_several_scores_are_several_columns(path, make):
    found = experiment(make.products(2), make.multiplier(path), score=lambda r, c: {"ok": True, "size": len(r.answer)})
    assert found.wait().score_names == ["ok", "size"]
    assert found.scores("agent", "size") == {"0": [1.0], "1": [1.0]}


# -- irreversible tools ------------------------------------------------------------------------------------------------


def test_irreversible_tools_are_asked_about_once_before_anything_begins(path, tmp_path, make):
    file = tmp_path / "paid"
    agent = make.payer(path, file, times=2, max_tool_calls=3)
    found = experiment(["Pay 5.", "Pay 6."], agent, repeats=2)
    assert found.status == "asks"
    assert "4 runs may call pay (irreversible), at most 12 times in all" in repr(found)
    with pytest.raises(Undecided, match="12 times"):
        found.wait()
    assert not file.exists()
    assert found.approve().wait().count("scored") == 4
    assert len(file.read_text().split()) == 8
    assert experiment(["Pay 5.", "Pay 6."], agent, repeats=2).status == "done"  # nothing is left to ask about


def test_without_a_limit_the_question_says_so(path, tmp_path, make):
    found = experiment(["Pay 5."], make.payer(path, tmp_path / "paid"))
    assert "each as often as its model asks" in found.question
    assert "max_tool_calls=" in found.question
    with pytest.raises(UsageError, match="does not ask"):
        experiment(["2 3"], make.multiplier(path)).approve()


# -- cases that have something in common, and one case side by side ----------------------------------------------------


def grouped(count):
    return [{"task": f"What is {n + 2} * 3?", "sheet": n // 5} for n in range(count)]


@pytest.mark.parametrize("cluster", ["sheet", lambda case: f"sheet {case['sheet']}"])
def test_estimates_and_differences_rest_on_the_clusters_of_the_cases(path, make, cluster):
    def of_sheet(result, case):
        return case["sheet"] != 0

    def of_variant(result, case):
        return case["sheet"] * (".one." in result.run.id)

    agents = {"one": make.multiplier(path), "two": make.multiplier(path, wrong=("other",))}
    alone = experiment(grouped(20), agents, score=of_sheet).wait()
    found = experiment(grouped(20), agents, score=of_sheet, cluster=cluster).wait()
    assert found.cached == 40  # what cases have in common changes no run
    assert (alone.estimate("one").low, alone.estimate("one").high) == pytest.approx(wilson(0.75, 20))
    assert (found.estimate("one").low, found.estimate("one").high) == pytest.approx(wilson(0.75, 4))
    [(_, difference, _)] = experiment(grouped(20), agents, score=of_variant, cluster=cluster).wait().differences()
    assert difference.p == 2 / 8  # of three sheets that differ
    assert "rest on 4 clusters of them" in repr(found)
    assert "clusters" not in repr(alone)
    assert found.to_dicts()[5]["cluster"] in (1, "sheet 1")


def test_clusters_are_those_of_the_cases_that_have_scores(path, make):
    agents = {"one": make.multiplier(path), "two": make.multiplier(path, wrong=("x",))}

    def score(result, case):
        return None if case["sheet"] == 1 else 1  # the runs of this sheet stay unscored

    found = experiment(grouped(15), agents, score=score, cluster="sheet").wait()
    assert found.estimate("one").tasks == 10
    assert found.differences()[0][1].same == 10


@pytest.mark.parametrize(
    ("cluster", "problem"),
    [
        ("document", "case '0' has no field 'document'; cluster= needs one for each case"),
        (lambda case: None, "case '0' has no cluster"),
        (lambda case: case["nothing"], "cluster= failed for case '0': KeyError: 'nothing'"),
        (lambda case: [1], r"must be a text or a number, not \[1\]"),
        (lambda case: math.nan, "must be a text or a number, not nan"),
        (3, "cluster"),
        (True, "cluster"),
    ],
)
def test_clusters_that_are_none_are_refused_before_anything_begins(path, make, cluster, problem):
    asked: list[str] = []
    with pytest.raises(UsageError, match=problem):
        experiment(make.products(2), make.multiplier(path, asked), cluster=cluster)
    assert not asked


def test_an_array_is_no_cluster_and_a_number_of_numpy_is(path, make):
    numpy = pytest.importorskip("numpy")
    with pytest.raises(UsageError, match=r"must be a text or a number, not array\(\[1, 2\]\)"):
        experiment(make.products(2), make.multiplier(path), cluster=lambda case: numpy.array([1, 2]))
    found = experiment(make.products(2), make.multiplier(path), cluster=lambda case: numpy.int64(7))
    assert {case.cluster for case in found.wait().cases} == {7}


def test_one_cluster_tells_nothing_about_others(path, make):
    agents = {"one": make.multiplier(path), "two": make.multiplier(path, wrong=("x",))}
    found = experiment(grouped(4), agents, score=lambda r, c: len(r.answer) / 7, cluster="sheet").wait()
    assert found.estimate("one").high == math.inf
    assert "cannot tell" in repr(found)


def test_the_runs_of_a_case_are_compared_and_nothing_is_performed(journal, make):
    asked: list[str] = []
    agents = {
        "right": make.multiplier(journal, asked),
        "wrong": make.multiplier(journal, asked, wrong=("What is 3 * 3?",)),
    }
    found = experiment(make.products(2), agents, score=make.right, repeats=2).wait()
    compared = found.compare(1)
    assert (compared.names, [result.answer for result in compared.results]) == (["right", "wrong"], ["9", "10"])
    assert (compared.task, compared.first) == ("What is 3 * 3?", 0)
    assert found.compare("0", repeat=1).first is None
    assert "<table" in compared._repr_html_()
    assert len(asked) == 8


def test_a_comparison_takes_no_run_from_anybody(path, make):
    found = experiment(make.products(1), make.multiplier(path), score=make.right).wait()
    epochs = _epochs(path)
    [result] = found.compare(0).results
    assert _epochs(path) == epochs
    with pytest.raises(ReadOnly, match="makes a run of its own"):
        result.run.undo()
    run = found["agent", 0, 0].run  # from here on, it is the run to go on with
    assert found.compare(0).runs == [run]
    run.close()


def test_a_comparison_says_why_a_run_has_not_ended(path, tmp_path, make):
    def broken(request):
        raise RuntimeError("the host is down")

    agents = {
        "fails": Agent(broken, journal=path),
        "waits": make.payer(path, tmp_path / "paid", times=1, approve=["pay"]),
        "pays": make.payer(None, tmp_path / "paid", times=1),
    }
    found = experiment(["Pay 5."], agents, approved=True).wait()
    reasons = [result.reason for result in found.compare(0).results]
    assert reasons == ["RuntimeError: the host is down", "pay needs your approval", ""]
    run = found["waits", 0, 0].run
    run.approve()
    run.drive()
    assert found.compare(0).results[1].answer == "paid"
    assert found.compare(0).results[1].reason == ""
    run.close()


def test_a_comparison_of_a_hostile_task_is_inert(path):
    def model(request):
        return "FINAL_ANSWER: \x1b[2J<script>alert(1)</script>"

    found = experiment(["<i>\x1b[31m"], {"\x1b[1m<b>": Agent(model, journal=path)}).wait()
    compared = found.compare(0)
    assert "\x1b" not in repr(compared)
    assert "<script>" not in compared._repr_html_()
    assert "<i>" not in compared._repr_html_()


@pytest.mark.parametrize(("case", "repeat"), [(None, 0), (0, None)])
def test_a_comparison_needs_a_case_and_a_repeat(path, make, case, repeat):
    found = experiment(make.products(1), make.multiplier(path)).wait()
    with pytest.raises(UsageError, match="compare takes a case"):
        found.compare(case, repeat=repeat)


def test_a_case_without_runs_is_not_compared(path, make):
    found = experiment(make.products(4), make.multiplier(path, delay=5), on=1)
    with pytest.raises(UsageError, match=r"case 3 has no run of 'agent' yet: wait\(\)"):
        found.compare(3)
    with pytest.raises(Unknown):
        found.compare("nine")
    found.stop().wait(20)


def test_of_the_repeats_of_a_case_that_went_worse_the_worst_one_is_listed(path, make):
    agents = {"one": make.multiplier(path), "two": make.multiplier(path, wrong=("x",))}

    def score(result, case):
        return ".one." in result.run.id or not result.run.id.endswith(".1")

    found = experiment(make.products(1), agents, score=score, repeats=2).wait()
    assert [cell.repeat for cell in found.worse("two")] == [1]


# -- stopping, and what goes on ----------------------------------------------------------------------------------------


def test_a_stop_stops_and_a_later_call_goes_on(path, make):
    asked: list[str] = []
    agent = make.multiplier(path, asked, delay=0.2)
    found = experiment(make.products(40), agent, score=make.right, on=2)
    while len(asked) < 4:
        time.sleep(0.01)
    found.stop().wait(20)
    assert found.status == "stopped"
    assert 0 < len(found.missing) < 40
    quick = make.multiplier(path, asked, delay=0.2)
    done = found.count("scored")
    found = experiment(make.products(40), quick, score=make.right, on=40).wait()
    assert (found.cached, found.count("scored")) == (done, 40)
    assert found.status == "done"


def test_progress_tells_what_is_left(path, make):
    found = experiment(make.products(30), make.multiplier(path, delay=0.05), on=1)
    assert found.status == "running"
    while found.seconds_left is None:
        time.sleep(0.01)
    assert "left" in repr(found)
    assert "<progress" in found._repr_html_()
    assert "left" not in repr(found.wait())


def test_two_calls_at_once_run_each_case_once(path, make):
    asked: list[str] = []
    agent = make.multiplier(path, asked, delay=0.05)
    both = [experiment(make.products(10), agent, score=make.right, on=4) for _ in range(2)]
    for found in both:
        found.wait()
    assert len(asked) == 10
    assert [found.begin().wait().count("scored") for found in both] == [10, 10]


# -- executors that misbehave ------------------------------------------------------------------------------------------


class Losing(ThreadPoolExecutor):
    """Loses one task in three: it brings nothing back, or never comes back."""

    def __init__(self):
        super().__init__(4)
        self.count = 0

    def submit(self, function, /, *args):
        self.count += 1
        if self.count % 6 == 0:
            return Future()
        return super().submit(lambda: None) if self.count % 3 == 0 else super().submit(function, *args)


class Doubling(ThreadPoolExecutor):
    """Does each task twice, at the same time."""

    def submit(self, function, /, *args):
        super().submit(function, *args)
        return super().submit(function, *args)


class Confusing(ThreadPoolExecutor):
    """Brings back the results of tasks for other tasks, in any order."""

    def __init__(self):
        super().__init__(4)
        self.waiting: list = []

    def submit(self, function, /, *args):
        future: Future = Future()
        inner = super().submit(function, *args)
        self.waiting.append(future)
        inner.add_done_callback(self.deliver)
        return future

    def deliver(self, inner):
        self.waiting.pop(random.Random(len(self.waiting)).randrange(len(self.waiting))).set_result(inner.result())


class Failing(ThreadPoolExecutor):
    """Raises for some tasks what cannot be sent."""

    def submit(self, function, /, *args):
        return super().submit(self.fail) if args[1].attempt == 1 else super().submit(function, *args)

    def fail(self):
        raise RuntimeError("the worker has died")


@pytest.mark.parametrize("kind", [Losing, Doubling, Confusing, Failing])
def test_an_executor_that_loses_doubles_confuses_or_fails_changes_no_result(path, tmp_path, make, kind):
    pytest.importorskip("cloudpickle")
    file = tmp_path / "paid"
    agent = make.payer(path, str(file), times=2)
    patience = 1.0 if kind is Losing else 60.0  # only what is lost has to be waited for
    with kind() as executor:
        found = experiment(
            [f"Pay {n}." for n in range(12)], agent, score=lambda r, c: 1, on=executor, approved=True, patience=patience
        )
        assert found.wait(120).count("scored") == 12, repr(found)
    assert sorted(file.read_text().split()) == sorted(f"{n}.{part}" for n in range(12) for part in range(2))


def test_an_executor_that_always_loses_ends_with_a_failure(path, make):
    class Nothing(ThreadPoolExecutor):
        def submit(self, function, /, *args):
            return super().submit(lambda: None)

    pytest.importorskip("cloudpickle")
    with Nothing() as executor:
        found = experiment(make.products(2), make.multiplier(path), on=executor).wait(60)
    assert (found.count("failed"), found.cells[0].outcome.problem) == (2, "the executor brought nothing back")


def test_an_executor_that_is_closed_is_told(path, make):
    pytest.importorskip("cloudpickle")
    executor = ThreadPoolExecutor()
    executor.shutdown()
    with pytest.raises(UsageError, match=r"the executor broke .*only what is missing"):
        experiment(make.products(2), make.multiplier(path), on=executor).wait(60)


def test_what_cannot_be_sent_is_told_before_anything_begins(path, make):
    pytest.importorskip("cloudpickle")
    agent = Agent(Scripted(iter(["x"])), hooks=[], on_event=threading.Lock().__enter__, journal=path)
    with ThreadPoolExecutor() as executor, pytest.raises(UsageError, match="cannot be sent to another process"):
        experiment(["x"], agent, on=executor)


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cases", "problem"),
    [
        ([], "at least one case"),
        ([{"task": "a", "id": 1}, {"task": "b", "id": "1"}], "several cases have the id '1'"),
        ([{"question": "a"}], "case 0 needs a 'task'.*it has 'question'"),
        (["a", 5], "case 1 must be a text, or a dict"),
        ({"task": "a"}, "cases must be a list"),
        ("no-such.jsonl", "cannot be read"),
        ([{"task": ""}], "case 0 needs a 'task'"),
    ],
)
def test_cases_that_are_none_are_refused(path, make, cases, problem):
    with pytest.raises(UsageError, match=problem):
        experiment(cases, make.multiplier(path))


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "a.b"},
        {"name": ""},
        {"repeats": 0},
        {"on": 0},
        {"on": "fast"},
        {"failed": "maybe"},
        {"timeout": -1},
        {"timeout": math.inf},
        {"scores": 1},
    ],
)
def test_arguments_that_make_no_sense_are_refused(path, make, wrong):
    with pytest.raises(UsageError):
        experiment(["2 3"], make.multiplier(path), **wrong)


@pytest.mark.parametrize("variants", [{}, {"a": "offline"}, "offline", {"": 1}, 3])
def test_variants_must_be_agents(variants):
    with pytest.raises(UsageError, match="variant"):
        experiment(["2 3"], variants)


def test_a_cell_that_does_not_exist_is_named(path, make):
    found = experiment(["2 3"], {"plain": make.multiplier(path)}).wait()
    for key in (("plan", 0, 0), ("plain", "x", 0), ("plain", 0, 1)):
        with pytest.raises(Unknown):
            found[key]
    assert len(found["plain"]) == len(found["plain", 0]) == 1


def test_equal_cases_without_ids_are_runs_of_their_own(path, make):
    asked: list[str] = []
    found = experiment(["2 3", "2 3"], make.multiplier(path, asked)).wait()
    assert (found.count("scored"), len(asked)) == (2, 2)


def test_a_journal_in_memory_is_refused_for_other_processes(make):
    with ThreadPoolExecutor() as executor, pytest.raises(UsageError, match="in memory"):
        experiment(["2 3"], make.multiplier("memory"), on=executor)


# -- where cases come from, and where results go -----------------------------------------------------------------------


def test_cases_come_from_a_jsonl_file(path, tmp_path, make):
    file = tmp_path / "cases.jsonl"
    file.write_text('{"task": "2 3", "id": "six", "expected": 6}\n\n{"task": "2 4", "id": "eight", "expected": 8}\n')
    found = experiment(file, make.multiplier(path), score=make.right).wait()
    assert found.scores("agent") == {"six": [1.0], "eight": [1.0]}
    file.write_text('{"task": "2 3"}\nnonsense\n')
    with pytest.raises(UsageError, match=r"line 2 of .* is not valid JSON"):
        experiment(file, make.multiplier(path))


def test_cases_come_from_a_data_frame_and_results_go_to_one(path, make):
    pandas = pytest.importorskip("pandas")
    cases = pandas.DataFrame([{"task": "2 3", "expected": 6}, {"task": "2 4", "expected": 9}])
    found = experiment(cases, make.multiplier(path), score=make.right, repeats=2).wait()
    frame = found.to_frame()
    assert list(frame["score"]) == [1.0, 1.0, 0.0, 0.0]
    assert set(frame.columns) >= {"variant", "case", "repeat", "run", "state", "answer", "calls", "cost", "seconds"}


def test_variants_in_a_list_are_named_after_their_engines(path, make):
    agent = make.multiplier(path)
    found = experiment(["2 3"], [agent, agent.using(engine="chain_of_thought"), agent]).wait()
    assert found.variants == ["react 1", "chain_of_thought", "react 2"]


def test_a_hostile_answer_is_inert_in_the_table(path, make):
    evil = "<script>alert(1)</script>\x1b[31m"
    agent = Agent(lambda request: _raised(ModelBusy(evil)), journal=path)
    found = experiment([{"task": "x", "id": evil}], {evil[:20]: agent}).wait()
    assert "<script>" not in found._repr_html_()
    assert "\x1b" not in repr(found) + repr(found.cells[0])


def test_an_error_of_agentkit_is_one_sentence(path, make):
    with pytest.raises(AgentkitError) as caught:
        experiment([{"task": "x"}, 3], make.multiplier(path))
    assert "\n" not in str(caught.value)
