"""The store of memories by itself: partitions, processes at once, hostile text, foreign files."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentkit.errors import JournalError, JournalTooNew, UsageError
from agentkit.memory import open_memory
from agentkit.memory.base import best
from agentkit.memory.store import Memory

WRITE = """
import sys
from agentkit.memory.store import Memory
memory = Memory(sys.argv[1])
for n in range(50):
    run = f"{sys.argv[2]}-{n}"
    memory.begin(run, f"question {n}", session="s")
    memory.end(run, f"answer {n}")
    memory.lessons().remember(f"lesson {n}")
"""


def test_two_processes_at_once_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    processes = [subprocess.Popen([sys.executable, "-c", WRITE, str(path), name], env=os.environ) for name in "ab"]
    assert [process.wait(60) for process in processes] == [0, 0]
    memory = Memory(path)
    turns = memory.turns("s")
    assert len(turns) == 100 and len({turn.number for turn in turns}) == 100
    assert [turn.run for turn in turns if turn.run.startswith("a")] == [f"a-{n}" for n in range(50)]
    assert len(memory.lessons().recall()) == 20 and memory.lessons().recall()[-1] == "lesson 49"


def test_a_turn_without_an_answer_is_no_turn_yet(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "m.db")
    assert memory.begin("r1", "q", session="s") == memory.begin("r1", "q", session="s")
    assert memory.turns("s") == [] and memory.unfinished("s") == ["r1"]
    memory.end("r1", "a")
    assert [turn.answer for turn in memory.turns("s")] == ["a"] and memory.unfinished("s") == []


def test_only_its_owner_can_read_the_file(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "m.db")
    memory.remember("x")
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in tmp_path.glob("m.db*"))


def test_a_summary_that_covers_less_does_not_take_the_place_of_one_that_covers_more() -> None:
    memory = Memory()
    memory.summarise("s", 5, "five")
    memory.summarise("s", 3, "three")
    assert memory.summary("s") == (5, "five") and memory.summary("other") == (0, "")


def test_lessons_are_kept_once_per_person_and_found_by_task() -> None:
    memory = Memory()
    ada, bob = memory.lessons("ada"), memory.lessons("bob")
    ada.remember("Check the units.", task="convert miles")
    ada.remember("Check the units.", task="convert pounds")
    ada.remember("Ask for the year.", task="world cup")
    assert ada.recall() == ["Check the units.", "Ask for the year."] and bob.recall() == []
    assert ada.recall("the last world cup") == ["Ask for the year."]


def test_forgetting_a_session_of_one_person_leaves_everything_else() -> None:
    memory = Memory()
    for user in ("ada", "bob"):
        for session in ("s", "t"):
            memory.begin(f"{user}{session}", "q", session=session, user=user)
            memory.end(f"{user}{session}", "a")
    assert memory.forget(session="s", user="ada") == 1
    assert memory.sessions(user="ada") == ["t"] and memory.sessions(user="bob") == ["t", "s"]
    assert memory.forget(session="s") == 1
    with pytest.raises(UsageError, match="what to forget"):
        memory.forget()


@pytest.mark.parametrize("text", ["'; DROP TABLE turns; --", "\x00", "\ud800", "x" * 100_000, "漢字仮名"])
def test_hostile_text_is_kept_as_text(text: str, tmp_path: Path) -> None:
    memory = Memory(tmp_path / "m.db")
    memory.begin("r", text, session=text, user=text)
    memory.end("r", text)
    memory.remember(text, user=text)
    assert len(memory.turns(text, user=text)) == 1


def test_what_is_rare_counts_for_more_and_words_of_scripts_without_spaces_are_found() -> None:
    known = [("the train to Bern", 1), ("the train to Basel", 2), ("the ship to Basel", 3)]
    assert best("train ship", known, 3) == [3, 2, 1]
    assert best("東京の天気", [("東京へ行く", 1), ("大阪", 2)], 3) == [1]
    assert best("of the", known, 3) == []


def test_finding_among_a_thousand_is_quick() -> None:
    known = [(f"turn {n} about thing {n % 50} and more words", n) for n in range(1_000)]
    begin = time.process_time()
    assert len(best("what about thing 7 " * 50, known, 3)) == 3
    assert time.process_time() - begin < 1


def test_a_foreign_or_newer_file_is_left_alone(tmp_path: Path) -> None:
    import sqlite3

    for name, version, application, error in (("a.db", 0, 1, JournalError), ("b.db", 9, 0x61676B6D, JournalTooNew)):
        with sqlite3.connect(tmp_path / name) as db:
            db.execute("CREATE TABLE t (x)")
            db.execute(f"PRAGMA user_version = {version}")
            db.execute(f"PRAGMA application_id = {application}")
        db.close()
        with pytest.raises(error):
            Memory(tmp_path / name).facts()


def test_a_journal_has_one_memory(tmp_path: Path) -> None:
    from agentkit.journal import open_journal

    journal = open_journal(tmp_path / "runs.db")
    assert open_memory(journal) is open_memory(journal) and open_memory(journal).path == tmp_path / "memory.db"
