"""A run continues its session, and is told what is known about its user, but nothing about other users."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from splitting import split

from agentkit import Agent, load
from agentkit.errors import UsageError
from agentkit.models.scripted import Scripted


def agent(replies: list[Any], journal: Any, **options: Any) -> Agent:
    return Agent(Scripted(replies), journal=journal, **split(options))


def sent(one: Agent, number: int = -1) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in one.model.requests[number]["messages"]]


@pytest.fixture
def journal(tmp_path: Path) -> str:
    return str(tmp_path / "runs.db")


def test_the_second_run_of_a_session_sees_the_first_question_and_answer(journal: str) -> None:
    one = agent(["Bern", "About 134,000"], journal)
    one.run("What is the capital of Switzerland?", session="geo")
    one.run("How many live there?", session="geo")
    assert sent(one) == [
        ("user", "What is the capital of Switzerland?"),
        ("assistant", "Bern"),
        ("user", "How many live there?"),
    ]


def test_a_run_of_another_session_or_of_none_starts_from_scratch(journal: str) -> None:
    one = agent(["Bern", "x", "y"], journal)
    one.run("q1", session="geo")
    one.run("q2", session="other")
    one.run("q3")
    assert sent(one, 1) == [("user", "q2")] and sent(one, 2) == [("user", "q3")]


def test_ten_turns_are_retained_by_default(journal: str) -> None:
    one = agent([f"a{n}" for n in range(13)], journal)
    for n in range(13):
        one.run(f"q{n}", session="s")
    assert len(sent(one)) == 21 and sent(one)[0] == ("user", "q2")
    two = agent(["b"], journal, retained_turns=2)
    two.run("now", session="s")
    assert [text for _, text in sent(two)] == ["q11", "a11", "q12", "a12", "now"]


def test_instructions_come_first_and_the_trace_shows_only_the_task(journal: str) -> None:
    one = agent(["Bern", "134,000"], journal, instructions="Be brief.")
    one.run("q1", session="s")
    result = one.run("q2", session="s")
    assert [text for _, text in sent(one)] == ["Be brief.", "q1", "Bern", "q2"]
    assert repr(result.run).splitlines()[1].split() == ["0", "Task", "q2"]


def test_a_session_lasts_across_processes_and_is_available_to_a_resumed_run(journal: str) -> None:
    agent(["Bern"], journal).run("q1", session="s")
    run = agent(["never asked"], journal).start("q2", session="s", paused=True)
    run.close()
    again = agent(["134,000"], journal)
    resumed = again.resume(run.id)
    resumed.drive()
    assert [text for _, text in sent(again)] == ["q1", "Bern", "q2"]
    assert [turn.answer for turn in again.memory.turns("s")] == ["Bern", "134,000"]


def test_an_answer_that_was_recorded_but_not_remembered_is_added_later(journal: str) -> None:
    one = agent(["Bern"], journal)
    run = one.run("q1", session="s").run
    with sqlite3.connect(one.memory.path) as db:
        db.execute("UPDATE turns SET answer = NULL WHERE run = ?", (run.id,))
    db.close()
    two = agent(["134,000"], journal)
    two.run("q2", session="s")
    assert [text for _, text in sent(two)] == ["q1", "Bern", "q2"]


def test_an_answer_after_an_undo_replaces_the_first_answer(journal: str) -> None:
    one = agent(["Bern", "Berne", "x"], journal)
    run = one.start("q1", session="s", paused=True)
    run.drive()
    run.undo().undo()
    run.drive()
    assert [turn.answer for turn in one.memory.turns("s")] == ["Berne"]


def test_a_fork_is_an_experiment_and_leaves_nothing_in_the_session(journal: str) -> None:
    one = agent(["Bern", "Zurich"], journal)
    run = one.start("q1", session="s", paused=True)
    run.drive()
    assert run.fork(0).drive().answer == "Zurich"
    assert [turn.answer for turn in one.memory.turns("s")] == ["Bern"]


@pytest.mark.parametrize("kind", ["memory", None])
def test_without_a_file_a_session_lasts_as_long_as_the_process(kind: Any) -> None:
    one = agent(["Bern", "134,000"], kind)
    one.run("q1", session=f"only here {kind}")
    one.run("q2", session=f"only here {kind}")
    assert len(sent(one)) == 3


def test_exports_show_the_earlier_turns_folded(journal: str) -> None:
    one = agent(["Bern", "134,000"], journal)
    one.run("the earlier question", session="s")
    run = one.run("q2", session="s").run
    for text in (run.to_html(), run.to_markdown()):
        assert "the earlier question" in text and "Earlier messages (2)" in text
    assert load(run.to_json()).answer == "134,000"


# -- summaries ---------------------------------------------------------------------------------------------------------


def summing(request: Any) -> str:
    if request.role == "compact":
        asked = request.messages[-1]["content"]
        return f"minutes of {asked.count('user:')} turns{' and of earlier minutes' if 'minutes of' in asked else ''}"
    return f"answer to {request.messages[-1]['content']}"


def test_old_turns_are_summarised_in_a_step_of_the_trace_and_the_newest_are_kept_word_for_word(journal: str) -> None:
    one = agent([summing] * 40, journal, session_memory="summary", retained_turns=2)
    results = [one.run(f"q{n}", session="s") for n in range(8)]
    roles = [[e.step.role for e in result.run.entries if e.kind == "think"] for result in results]
    short, long = ["thought"], ["thought", "compact"]
    assert roles == [short, short, short, short, long, short, long, short]
    last = sent(
        one, next(n for n, request in enumerate(one.model.requests) if request["messages"][-1]["content"] == "q5")
    )
    assert last[0][0] == "system" and "minutes of 2 turns" in last[0][1]
    assert [text for _, text in last[1:]] == ["q2", "answer to q2", "q3", "answer to q3", "q4", "answer to q4", "q5"]
    assert all(result.answer == f"answer to q{n}" for n, result in enumerate(results))
    assert "and of earlier minutes" in one.memory.summary("s")[1]
    assert max(len(request["messages"]) for request in one.model.requests) <= 10  # minutes, 4 turns, the task


def test_a_summary_is_written_only_once_even_after_a_resume(journal: str) -> None:
    one = agent([summing] * 40, journal, session_memory="summary", retained_turns=1)
    runs = [one.run(f"q{n}", session="s").run for n in range(4)]
    runs[-1].close()
    two = agent([], journal, session_memory="summary", retained_turns=1)
    again = two.resume(runs[-1].id)
    assert again.status == "done" and again.entries[-1].step.role == "compact" and two.model.calls == 0


# -- persons -----------------------------------------------------------------------------------------------------------


def test_facts_about_a_person_are_recalled_if_they_fit_the_task_and_for_nobody_else(journal: str) -> None:
    one = agent(["Noted.", "Peanuts.", "No idea.", "ok"], journal)
    one.run("I am allergic to peanuts, remember that.", user="ada")
    one.run("Which peanuts am I allergic to?", user="ada")
    assert sent(one)[0][0] == "system" and "I am allergic to peanuts" in sent(one)[0][1]
    one.run("Which peanuts am I allergic to?", user="bob")
    assert "allergic to peanuts, remember" not in str(sent(one))
    one.run("What is the weather like?", user="ada")
    assert len(sent(one)) == 1


def test_sessions_of_the_same_name_are_separate_for_each_person(journal: str) -> None:
    one = agent(["A", "B"], journal, recall=0)
    one.run("secret of ada", session="s", user="ada")
    one.run("q", session="s", user="bob")
    assert sent(one) == [("user", "q")]


def test_facts_are_remembered_recalled_and_forgotten(journal: str) -> None:
    one = agent(["ok", "ok", "ok"], journal)
    one.memory.remember("Ada prefers trains to planes.", user="ada")
    one.run("Book trains to Bern.", user="ada", session="s")
    assert "prefers trains" in sent(one)[0][1]
    assert one.memory.forget(user="ada") == 2
    one.run("Book trains to Bern.", user="ada", session="s")
    assert sent(one) == [("user", "Book trains to Bern.")]
    data = b"".join(path.read_bytes() for path in one.memory.path.parent.glob("*.memory*"))
    assert b"prefers trains" not in data


def test_what_the_session_contains_already_is_not_recalled_again(journal: str) -> None:
    one = agent(["Bern", "x"], journal)
    one.run("capital of Switzerland", session="s", user="ada")
    one.run("capital of Switzerland again", session="s", user="ada")
    assert [role for role, _ in sent(one)] == ["user", "assistant", "user"]


def test_secrets_are_masked_before_they_are_remembered(journal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAMPLE_API_KEY", "sk-verysecretvalue123456")
    one = agent(["It is sk-verysecretvalue123456"], journal)
    one.run("My key is sk-verysecretvalue123456", session="s", user="ada")
    assert "verysecretvalue" not in str(one.memory.turns("s", user="ada"))


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{"retained_turns": 0}, {"retained_turns": True}, {"recall": -1}, {"recall": "x"}, {"session_memory": "all"}],
)
def test_an_option_out_of_range_is_a_value_error_that_names_it(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        Agent("offline", **split(options))


def test_an_invalid_session_name_is_refused(journal: str) -> None:
    with pytest.raises(UsageError, match="session"):
        agent([], journal).run("q", session=3)  # type: ignore[arg-type]
