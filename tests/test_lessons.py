"""Lessons outlive a run, per user; what was recalled is recorded with the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentkit import Agent, Loop
from agentkit.memory.lessons import Lessons
from agentkit.models.scripted import Scripted

FAILS_FIRST = ["A", "UNSATISFACTORY", "Reflection: look\nit up.", "B", "SATISFACTORY"]
GOOD = ["B", "SATISFACTORY"]


def play(lessons: Any, replies: list[str]) -> Scripted:
    model = Scripted(replies)
    assert Agent(model, engine=Loop("reflexion", lessons=lessons), journal="memory").run("q").answer == "B"
    return model


@pytest.mark.parametrize("kept", [False, True])
def test_a_lesson_is_recalled_in_a_new_run_and_not_for_another_user(kept: bool, tmp_path: Path) -> None:
    path = tmp_path / "home" / "lessons.jsonl" if kept else None
    ada = Lessons(path, user="ada")
    play(ada, FAILS_FIRST)
    store = Lessons(path, user="ada") if kept else ada
    assert store.recall() == ["Reflection: look it up."]
    assert "- Reflection: look it up." in play(store, GOOD).requests[0]["messages"][0]["content"]
    assert play(store.of("bob"), GOOD).requests[0]["messages"][0]["role"] == "user"
    play(store, FAILS_FIRST)
    assert len(store.recall()) == 1
    store.forget()
    assert store.recall() == []


def test_a_lesson_is_kept_as_it_was_edited_and_a_replay_needs_no_store() -> None:
    store = Lessons()
    store.remember("known before")
    run = Agent(Scripted(FAILS_FIRST), engine=Loop("reflexion", lessons=store), journal="memory").start(
        "q", paused=True
    )
    assert run[0].result["options"] == {"lessons": ["known before"]}
    for _ in range(3):
        last = next(run)
    run.edit(last, text="mine")
    store.forget()
    run.drive()
    assert store.recall() == ["mine"]
    run.trace.rebuild(strict=True)


@pytest.mark.parametrize("torn", ['{"user": "ada", "les', "[1]", "\x00", '{"user": "ada", "lesson": 3}', "[" * 100_000])
def test_a_line_that_was_torn_costs_no_other_lesson_and_no_run(torn: str, tmp_path: Path) -> None:
    path = tmp_path / "lessons.jsonl"
    store = Lessons(path, user="ada")
    store.remember("look it up")
    path.write_text(path.read_text() + "\n" + torn)
    store.remember("look again")
    assert store.recall() == ["look it up", "look again"]
    play(store, GOOD)
