"""The same task with several engines: steps aligned by role, the cost of each, and the first difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentkit import Act, Agent, Answer, Call, Chat, Loop, Reply, Think, Usage, compare, tool
from agentkit.errors import ModelError, Unknown, UsageError
from agentkit.models.base import Abilities
from agentkit.models.cassette import Cassette
from agentkit.models.scripted import Scripted


@tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


ADD = Reply("I add", (Call("add", {"a": 1, "b": 2}, "c1"),), usage=Usage(10, 5, cost=0.25))
NATIVE = Abilities(tools=True)


def once(task: Any) -> Any:
    reply = yield Think(Chat.of(task))
    return Answer(reply.text, Chat.of(task))


def checked(task: Any, *, tools: tuple[Any, ...] = (), rounds: int = 1) -> Any:
    chat = Chat.of(task)
    reply = yield Think(chat, tools)
    chat += reply
    if reply.calls:
        chat += yield Act.each(reply.calls)
    for _ in range(rounds):
        reply = yield Think(chat, role="critique")
    return Answer(reply.text, chat)


def two(**options: Any) -> Any:
    model = Scripted([ADD, "three", ADD, "it is three"], abilities=NATIVE, usage=Usage(20, 5))
    return compare("What is 1 + 2?", ["react", checked], model=model, tools=[add], journal="memory", **options)


def test_runs_are_aligned_by_role_and_the_first_difference_is_named() -> None:
    found = two()
    assert [(row.role, [entry is not None for entry in row.entries], row.differs) for row in found.rows] == [
        ("thought", [True, True], False),
        ("add", [True, True], False),
        ("thought", [True, False], True),
        ("critique", [False, True], True),
        ("answer", [True, True], True),
    ]
    assert found.first == 2 and found.difference == "The runs first differ at step 2 (thought)."


def test_the_text_shows_results_and_costs() -> None:
    assert repr(two()) == (
        "Comparison: What is 1 + 2?\n"
        "             react  checked\n"
        "answer       three  it is three\n"
        "model calls  2      2\n"
        "tool calls   1      1\n"
        "tokens in    30     30\n"
        "tokens out   10     10\n"
        "cost         0.25   0.25\n"
        "The runs first differ at step 2 (thought).\n"
        "     step      react                  checked\n"
        "0 =  thought   I add → add(a=1, b=2)  I add → add(a=1, b=2)\n"
        "1 =  add       add(a=1, b=2) → 3      add(a=1, b=2) → 3\n"
        "2 ≠  thought   three\n"
        "3 ≠  critique                         it is three\n"
        "4 ≠  answer    three                  it is three"
    )


def test_html_and_markdown_show_every_step_as_text() -> None:
    model = Scripted(["<img src=x onerror=alert(1)> | **x**"] * 2)
    found = compare("<script>", ["react", once], model=model, journal="memory")
    html, markdown = found._repr_html_(), found._repr_markdown_()
    for text in (html, markdown):
        assert "<img" not in text and "<script" not in text
    assert html.count("onerror=alert(1)") >= 2 and "thought" in html and "**x**" not in markdown


def test_shared_options_go_to_the_engines_that_have_them_and_an_engine_can_have_its_own() -> None:
    model = Scripted(["a", "b", "c", "d", "e", "f"])
    found = compare("q", [once, Loop(checked, rounds=2), checked], model=model, journal="memory", shared={"rounds": 1})
    assert [result.step_count for result in found.results] == [1, 3, 2] and found.names == [
        "once",
        "checked 1",
        "checked 2",
    ]
    with pytest.raises(Unknown, match="rounds"):
        compare("q", [once, checked], model=model, shared={"round": 3})


def test_each_engine_plays_a_cassette_from_its_beginning(tmp_path: Path) -> None:
    replies = iter(["first", "second"])
    path = tmp_path / "tape.json"
    record = Cassette(path, lambda request: next(replies), "record")
    for _ in range(2):
        Agent(record, engine=once, journal="memory").run("q")
    tape = Cassette(path)
    found = compare("q", [once, once], model=tape, journal="memory")
    assert [result.answer for result in found.results] == ["first", "first"] and found.first is None


def test_a_recording_cassette_keeps_the_replies_for_every_engine(tmp_path: Path) -> None:
    replies = iter(["first", "second"])
    path = tmp_path / "tape.json"
    asked = [once, checked]
    found = compare("q", asked, model=Cassette(path, lambda request: next(replies), "record"), journal="memory")
    again = compare("q", asked, model=Cassette(path), journal="memory")
    assert [result.error for result in again.results] == [None, None]
    answers = [[result.answer for result in comparison.results] for comparison in (found, again)]
    assert answers == [["first", "second"]] * 2


def test_agents_can_be_compared_and_a_run_that_fails_is_shown_as_failed() -> None:
    good = Agent(Scripted(["fine"]), engine=once, journal="memory")
    bad = Agent(Scripted([ModelError("out of order")]), engine=once, journal="memory")
    found = compare("q", agents=[good, bad])
    assert found.results[1].error is not None and "out of order" in repr(found)
    assert [run.status for run in found.runs] == ["done", "failed"]


def test_the_same_script_gives_the_same_text() -> None:
    assert repr(two()) == repr(two())


def test_long_runs_are_shortened_in_the_text_but_not_in_the_rows() -> None:
    found = compare("q", [Loop(checked, rounds=100)], model=Scripted(["x"] * 200), journal="memory")
    assert len(found.rows) == 102 and "… and 42 more" in repr(found)


def test_comparing_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="nothing to compare"):
        compare("q")
