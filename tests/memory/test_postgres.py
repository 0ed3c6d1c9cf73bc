"""The memory of a team is in the database of its journal, and does the same as one in a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from postgres_server import Server

from agentkit import Agent
from agentkit.core.lessons import LessonStore
from agentkit.journal import open_journal
from agentkit.journal.postgres.journal import PostgresJournal
from agentkit.memory import open_memory
from agentkit.memory.store import Memory

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.remove()


def talk(memory: Memory) -> list[Any]:
    """Use everything that a memory can do, and return what it answers."""
    found: list[Any] = []
    for n in range(4):
        run, session = f"r{n}", "st"[n % 2]
        found.append(memory.begin_turn(run, f"question {n} \ud800", session=session, user="Ada"))
        found.append(memory.begin_turn(run, "again", session=session, user="Ada"))
        found.append(memory.unanswered(session, user="Ada"))
        memory.end_turn(run, f"answer {n} with sk-proj-{'a1B2' * 12}")
    found += [(turn.number, turn.run, turn.question.split()[:2], turn.answer) for turn in memory.turns(user="Ada")]
    found += [memory.has_turn("r1"), memory.has_turn("r9"), len(memory.turns("s", user="Ada", after=1, limit=1))]
    for upto in (2, 1):
        memory.set_summary("s", upto, f"summary {upto}", user="Ada")
    found += [memory.summary("s", user="Ada"), memory.summary("none"), memory.sessions(user="Ada")]
    for text in ("likes tea", "likes tea", "long " * 10_000):
        memory.remember(text, user="Ada")
    found += [memory.facts(user="Ada"), memory.facts()]
    found += [memory.search("tea", user="Ada"), memory.search("question 3", user="Ada", except_session="t")]
    lessons = memory.lessons("Ada")
    for lesson in ("check the units", "check the units", "ask first"):
        lessons.remember(lesson, task="a task")
    found += [lessons.recall(), lessons.recall("units"), lessons.of("Bob").recall(), isinstance(lessons, LessonStore)]
    found += [memory.forget(session="s", user="Ada"), memory.sessions(user="Ada"), memory.forget(user="Ada")]
    return found


def test_a_memory_on_postgresql_answers_as_one_in_a_file(server: Server, tmp_path: Path) -> None:
    journal = PostgresJournal(server.url(server.emptied()))
    memory = open_memory(journal)
    assert memory is open_memory(journal) and server.password not in repr(memory)
    assert talk(memory) == talk(Memory(tmp_path / "memory.db"))
    memory.remember("a NUL: \0")  # no text of PostgreSQL can contain one
    assert memory.facts() == ["a NUL: \\x00"]
    journal.close()


def test_agents_that_share_a_journal_share_sessions_and_lessons(server: Server) -> None:
    url = server.url(server.emptied())
    Agent("offline", journal=url).run("My name is Ada.", session="s", user="Ada")
    other = PostgresJournal(url)  # as another machine would
    agent = Agent("offline", journal=other)
    assert [turn.question for turn in agent.memory.turns("s", user="Ada")] == ["My name is Ada."]
    result = agent.run("What is 2 + 2?", session="s", user="Ada")
    assert "Ada" in str([*result.run.entries[1].step.chat])
    other.close()
    shared: Any = open_journal(url)
    shared.close()


def test_a_memory_is_used_again_after_the_server_was_restarted(server: Server) -> None:
    journal = PostgresJournal(server.url(server.emptied()), timeout=60)
    memory = open_memory(journal)
    memory.remember("likes tea")
    server.stop("immediate")
    server.start()
    assert memory.facts() == ["likes tea"]
    journal.close()
