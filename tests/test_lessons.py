"""Lessons survive a run, per person; the lessons that a run has read are recorded with it."""

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


@pytest.mark.parametrize("in_file", [False, True])
def test_a_lesson_is_recalled_in_a_new_run_but_not_for_another_person(in_file: bool, tmp_path: Path) -> None:
    path = tmp_path / "home" / "lessons.db" if in_file else None
    ada = Lessons(path, user="ada")
    play(ada, FAILS_FIRST)
    store = Lessons(path, user="ada") if in_file else ada
    assert store.recall() == ["Reflection: look it up."]
    assert "- Reflection: look it up." in play(store, GOOD).requests[0]["messages"][0]["content"]
    assert play(store.of("bob"), GOOD).requests[0]["messages"][0]["role"] == "user"
    play(store, FAILS_FIRST)
    assert len(store.recall()) == 1
    store.forget()
    assert store.recall() == []


def test_an_edited_reflection_is_the_lesson_and_a_replay_needs_no_store() -> None:
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


class Notebook:
    """A store that is not one of agentkit."""

    def __init__(self) -> None:
        self.lines = ["known before"]

    def recall(self) -> list[str]:
        return self.lines

    def remember(self, lesson: str) -> None:
        self.lines.append(lesson)


def test_any_object_with_recall_and_remember_is_a_store() -> None:
    store = Notebook()
    assert "known before" in str(play(store, FAILS_FIRST).requests[0])
    assert store.lines == ["known before", "Reflection: look it up."]


def test_the_lessons_of_an_agents_memory_are_a_store_and_the_memory_itself_is_not() -> None:
    agent = Agent(Scripted(GOOD), journal="memory")
    lessons = agent.memory.lessons("lessons of an agent")
    play(lessons, FAILS_FIRST)
    assert agent.memory.lessons("lessons of an agent").recall() == ["Reflection: look it up."]
    with pytest.raises(ValueError, match="lessons"):
        Agent(Scripted(GOOD), engine=Loop("reflexion", lessons=agent.memory))
