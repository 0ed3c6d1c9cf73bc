"""The memory on its own: one person apart from another, several processes, hostile text, foreign files."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentkit.errors import JournalError, JournalTooNew, UsageError
from agentkit.memory import open_memory
from agentkit.memory.store import Memory

WRITE = """
import sys
from agentkit.memory.store import Memory
memory = Memory(sys.argv[1])
for n in range(50):
    run = f"{sys.argv[2]}-{n}"
    memory.begin_turn(run, f"question {n}", session="s")
    memory.end_turn(run, f"answer {n}")
    memory.lessons().remember(f"lesson {n}")
"""


def test_two_processes_that_write_at_once_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    processes = [subprocess.Popen([sys.executable, "-c", WRITE, str(path), name], env=os.environ) for name in "ab"]
    assert [process.wait(60) for process in processes] == [0, 0]
    memory = Memory(path)
    turns = memory.turns("s")
    assert len(turns) == 100 and len({turn.number for turn in turns}) == 100
    assert [turn.run for turn in turns if turn.run.startswith("a")] == [f"a-{n}" for n in range(50)]
    assert len(memory.lessons().recall()) == 20 and memory.lessons().recall()[-1] == "lesson 49"


def test_a_turn_without_an_answer_is_not_a_turn_yet(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "m.db")
    assert memory.begin_turn("r1", "q", session="s") == memory.begin_turn("r1", "q", session="s")
    assert memory.turns("s") == [] and memory.unanswered("s") == ["r1"]
    memory.end_turn("r1", "a")
    assert [turn.answer for turn in memory.turns("s")] == ["a"] and memory.unanswered("s") == []


def test_only_its_owner_can_read_the_file(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "m.db")
    memory.remember("x")
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in tmp_path.glob("m.db*"))


def test_a_summary_that_covers_less_does_not_replace_one_that_covers_more() -> None:
    memory = Memory()
    memory.set_summary("s", 5, "five")
    memory.set_summary("s", 3, "three")
    assert memory.summary("s") == (5, "five") and memory.summary("other") == (0, "")


def test_forgetting_a_session_of_one_person_leaves_everything_else() -> None:
    memory = Memory()
    for user in ("ada", "bob"):
        for session in ("s", "t"):
            memory.begin_turn(f"{user}{session}", "q", session=session, user=user)
            memory.end_turn(f"{user}{session}", "a")
    assert memory.forget(session="s", user="ada") == 1
    assert memory.sessions(user="ada") == ["t"] and memory.sessions(user="bob") == ["t", "s"]
    assert memory.forget(session="s") == 1
    with pytest.raises(UsageError, match="what to forget"):
        memory.forget()


@pytest.mark.parametrize("text", ["'; DROP TABLE turns; --", "\x00", "\ud800", "x" * 100_000, "漢字仮名"])
def test_hostile_text_is_stored_as_text(text: str, tmp_path: Path) -> None:
    memory = Memory(tmp_path / "m.db")
    memory.begin_turn("r", text, session=text, user=text)
    memory.end_turn("r", text)
    memory.remember(text, user=text)
    assert len(memory.turns(text, user=text)) == 1


def test_a_foreign_or_newer_file_is_left_alone(tmp_path: Path) -> None:
    import sqlite3

    for name, version, application, error in (("a.db", 0, 1, JournalError), ("b.db", 9, 0x61676B6D, JournalTooNew)):
        with sqlite3.connect(tmp_path / name) as db:
            db.execute("CREATE TABLE t (x)")
            db.execute(f"PRAGMA user_version = {version}")
            db.execute(f"PRAGMA application_id = {application}")
        db.close()
        content = (tmp_path / name).read_bytes()
        with pytest.raises(error):
            Memory(tmp_path / name).facts()
        assert (tmp_path / name).read_bytes() == content and not (tmp_path / f"{name}-wal").exists()


def test_a_journal_has_one_memory(tmp_path: Path) -> None:
    from agentkit.journal import open_journal

    journal = open_journal(tmp_path / "runs.db")
    assert open_memory(journal) is open_memory(journal) and open_memory(journal).path == tmp_path / "memory.db"


TURN: dict[str, Callable[[Memory, Any], Any]] = {
    "run": lambda memory, value: memory.begin_turn(value, "q"),
    "question": lambda memory, value: memory.begin_turn("r", value),
    "session": lambda memory, value: memory.begin_turn("r", "q", session=value),
    "user": lambda memory, value: memory.begin_turn("r", "q", user=value),
    "answer": lambda memory, value: memory.end_turn("r", value),
    "text": lambda memory, value: memory.remember(value),
}


@pytest.mark.parametrize("value", [None, 3, b"x", ["x"]])
@pytest.mark.parametrize("name", TURN)
def test_anything_but_a_text_is_refused_and_never_silently_lost(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"{name} must be a text"):
        TURN[name](Memory(), value)


def test_the_turns_of_all_sessions_of_a_person_can_be_read_together() -> None:
    memory = Memory()
    for n, (session, user) in enumerate([("s", "ada"), ("t", "ada"), ("s", "bob"), ("", "ada")]):
        memory.begin_turn(f"r{n}", f"q{n}", session=session, user=user)
        memory.end_turn(f"r{n}", "a")
    assert [turn.run for turn in memory.turns(user="ada")] == ["r0", "r1", "r3"]
    assert [turn.run for turn in memory.turns(user="ada", limit=2)] == ["r1", "r3"]
    assert [turn.run for turn in memory.turns("s", user="ada")] == ["r0"]


def test_the_search_finds_facts_and_turns_of_one_person_and_leaves_out_a_session() -> None:
    memory = Memory()
    memory.remember("Ada likes trains.", user="ada")
    memory.begin_turn("r", "Which trains go to Bern?", session="s", user="ada")
    memory.end_turn("r", "Many.")
    assert memory.search("trains", user="ada") == [
        "Ada likes trains.",
        "Asked: Which trains go to Bern?\nAnswered: Many.",
    ]
    assert memory.search("trains", user="ada", except_session="s") == ["Ada likes trains."]
    assert memory.search("trains", user="bob") == [] and memory.search("ships", user="ada") == []
