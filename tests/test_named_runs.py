"""Runs that are given a name: the name is the identity of the run, and its tags are how it is found."""

from __future__ import annotations

import threading

import pytest

import agentkit
from agentkit import Agent, Call, Reply, tool
from agentkit.errors import AgentkitError, UsageError
from agentkit.journal import MemoryJournal, Note, RunInfo, open_journal
from agentkit.memory.store import Memory
from agentkit.models import Scripted
from agentkit.models.base import Abilities
from agentkit.models.scripted import Echo


def echo(journal, **options) -> Agent:
    return Agent(Echo(), journal=journal, **options)


@pytest.fixture(params=["memory", "sqlite"])
def journal(request, tmp_path):
    opened = MemoryJournal() if request.param == "memory" else open_journal(tmp_path / "runs.db")
    yield opened
    opened.close()


def test_a_run_has_the_name_and_the_tags_that_it_was_started_with(journal):
    run = echo(journal).start("hello", name="greeting.1", tags={"project": "hello"}, paused=True)
    assert run.id == "greeting.1"
    [info] = journal.runs(tags={"project": "hello"})
    assert (info.run, info.tags) == ("greeting.1", {"project": "hello"})


def test_starting_a_name_again_returns_the_finished_run_without_asking_the_model(journal):
    model = Scripted(["FINAL_ANSWER: yes"])
    agent = Agent(model, journal=journal)
    assert [agent.run("Is it?", name="once").answer for _ in range(3)] == ["yes"] * 3
    assert model.calls == 1
    assert len(journal.runs()) == 1


def test_starting_a_name_again_goes_on_where_the_run_was(journal):
    paid = []

    @tool(effect="irreversible")
    def pay(amount: int) -> str:
        """Pay an amount."""
        paid.append(amount)
        return f"paid {amount}"

    model = Scripted([Reply("", (Call("pay", {"amount": 5}),)), "FINAL_ANSWER: done"])
    agent = Agent(model, [pay], journal=journal)
    run = agent.start("Pay.", name="bill", paused=True)
    run.step(), run.step()
    run.close()
    assert agent.run("Pay.", name="bill").answer == "done"
    assert paid == [5]


@pytest.mark.parametrize(
    ("task", "options", "what"),
    [
        ("goodbye", {}, "another task"),
        ("hello", {"engine": "chain_of_thought"}, "another engine"),
        ("hello", {"engine": {"engine": "react", "max_iterations": 3}}, "another configuration of its engine"),
        ("hello", {"tools": ["math"]}, "another set of tools"),
        ("hello", {"instructions": "Be brief."}, "another task"),
        ("hello", {"settings": {"temperature": 1}}, "another set of options"),
        ("hello", {"model": "offline"}, "another model"),
    ],
)
def test_a_name_that_was_started_with_something_else_is_refused(journal, task, options, what):
    agent = echo(journal)
    agent.run("hello", name="greeting")
    with pytest.raises(UsageError, match=f"already a run 'greeting', with {what}.*agentkit delete greeting"):
        agent.using(**options).start(task, name="greeting")


def test_a_run_that_never_began_does_not_block_its_name(journal):
    journal.create(RunInfo("greeting", "greeting", "hello", "react", "echo", "paused", 0, 1.0, 1.0))
    journal.release("greeting")
    assert echo(journal).run("hello", name="greeting").answer == "hello"


def test_a_name_that_is_refused_by_the_journal_takes_nothing_from_the_run_that_has_it(journal):
    journal.create(RunInfo("taken", "taken", "t", "e", "m", "running", 0, 1.0, 1.0))
    agent = echo(journal)
    with pytest.raises(AgentkitError, match="already"):
        agent.attach(agent._spec("hello", agent.guards), new_name="taken")
    journal.append(Note("status", {}, 1.0, "taken"))  # it is still held


def test_several_threads_that_start_one_name_make_one_run(journal):
    def model(request):
        asked.append(request)
        return Reply("FINAL_ANSWER: yes")

    asked: list = []
    model.abilities = Abilities()  # type: ignore[attr-defined]
    agent, answers = Agent(model, journal=journal), []

    def start():
        try:
            answers.append(agent.run("Is it?", name="one").answer)
        except AgentkitError as error:
            answers.append(type(error).__name__)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(journal.runs()) == 1
    assert agent.run("Is it?", name="one").answer == "yes"
    assert len(asked) == 1


@pytest.mark.parametrize("name", ["../up", "a b", "-x", "x" * 101, "é"])
def test_a_name_that_no_run_can_have_is_refused_before_anything_happens(journal, name):
    with pytest.raises(UsageError, match="the name of a run must have"):
        echo(journal).start("hello", name=name)
    assert journal.runs() == []


@pytest.mark.parametrize("tags", [{"a": 1}, {"": "x"}, ["a"], {"a": "x" * 300}, {str(n): "x" for n in range(30)}])
def test_tags_that_are_not_a_few_short_texts_are_refused(journal, tags):
    with pytest.raises(UsageError, match="tag"):
        echo(journal).start("hello", tags=tags)


def test_runs_are_found_by_the_beginning_of_their_names_and_by_tags(tmp_path):
    agent = echo(tmp_path / "runs.db")
    for name, kind in (("a.1", "x"), ("a.2", "y"), ("b.1", "x")):
        agent.run("hello", name=name, tags={"kind": kind, "all": "yes"})
    agent.run("hello")
    path = tmp_path / "runs.db"
    assert {info.run for info in agentkit.runs(path, prefix="a.")} == {"a.1", "a.2"}
    assert {info.run for info in agentkit.runs(path, tags={"kind": "x"})} == {"a.1", "b.1"}
    assert [info.run for info in agentkit.runs(path, prefix="a.", tags={"kind": "x", "all": "yes"})] == ["a.1"]
    assert agentkit.runs(path, prefix="x") == []
    assert len(agentkit.runs(path)) == 4


def test_a_closing_note_is_found_until_something_is_added_to_its_run(journal):
    run = echo(journal).run("hello", name="a.1").run
    for name in ("a.2", "b.1"):
        other = echo(journal).start("hello", name=name, paused=True)
        other.trace.note("outcome", {"n": name}, at=1.0)
    assert {name: note.data for name, note in journal.closing_notes("outcome", "a.").items()} == {"a.2": {"n": "a.2"}}
    assert set(journal.closing_notes("outcome")) == {"a.2", "b.1"}
    other.step()
    assert set(journal.closing_notes("outcome")) == {"a.2"}
    assert run.status == "done"


def test_a_closing_note_that_was_changed_is_not_read(tmp_path):
    import sqlite3

    journal = open_journal(tmp_path / "runs.db")
    run = echo(journal).start("hello", name="a.1", paused=True)
    run.trace.note("outcome", {"score": 0.5}, at=1.0)
    journal.close()
    with sqlite3.connect(tmp_path / "runs.db") as db:
        db.execute("UPDATE rows SET body = replace(body, '0.5', '1.0')")
    db.close()
    assert open_journal(tmp_path / "runs.db").closing_notes("outcome") == {}


def test_the_memory_of_a_journal_that_brings_one_is_used():
    class TeamJournal(MemoryJournal):
        def open_memory(self):
            return memory

    memory = Memory()
    assert echo(TeamJournal()).memory is memory
