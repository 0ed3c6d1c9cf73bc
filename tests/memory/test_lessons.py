"""The lessons of a person, in a file that several processes share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agentkit.core.lessons import LessonStore
from agentkit.errors import JournalError, UsageError
from agentkit.memory.lessons import Lessons
from agentkit.memory.store import Memory

WRITE = """
import sys
from agentkit.memory.lessons import Lessons
lessons = Lessons(sys.argv[1], user=sys.argv[2], newest=1000)
for n in range(int(sys.argv[3])):
    lessons.remember(f"lesson {n}")
    lessons.of("shared").remember(f"lesson {n}")
    print(n, flush=True)
"""


def writer(path: Path, user: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITE, str(path), user, str(count)]
    return subprocess.Popen(command, env=os.environ, stdout=subprocess.PIPE, text=True)


def test_processes_that_write_to_one_new_file_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lessons.db"
    processes = [writer(path, user, 50) for user in "abc"]
    lessons = Lessons(path, user="nobody yet", newest=1000)
    lessons.remember("mine")
    lessons.forget()
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    for user in ("a", "b", "c", "shared"):
        assert sorted(lessons.of(user).recall()) == sorted(f"lesson {n}" for n in range(50))
    assert lessons.recall() == []


def test_a_writer_that_is_killed_costs_no_lesson_that_was_stored(tmp_path: Path) -> None:
    path = tmp_path / "lessons.db"
    for _ in range(3):
        process = writer(path, "a", 100_000)
        assert process.stdout is not None
        stored = [int(process.stdout.readline()) for _ in range(20)]
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        lessons = Lessons(path, user="a", newest=100_000)
        assert {f"lesson {n}" for n in stored} <= set(lessons.recall())
        lessons.remember("after the crash")
        assert "after the crash" in lessons.recall()


@pytest.mark.parametrize(
    "content", [b'{"user": "ada", "lesson": "x"}\n{"user": "ada", "les', b"\x00" * 5000, b"hello" * 500]
)
def test_a_file_that_is_not_a_memory_is_refused_and_left_as_it_is(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "lessons.jsonl"
    path.write_bytes(content)
    for use in (
        lambda lessons: lessons.recall(),
        lambda lessons: lessons.remember("x"),
        lambda lessons: lessons.forget(),
    ):
        with pytest.raises(JournalError, match=r"lessons\.jsonl"):
            use(Lessons(path))
    assert path.read_bytes() == content


def test_a_damaged_file_is_a_journal_error(tmp_path: Path) -> None:
    path = tmp_path / "lessons.db"
    lessons = Lessons(path, user="ada", newest=5000)
    for n in range(500):
        lessons.remember(f"lesson {n} " * 20)
    lessons._database.close()
    whole = path.read_bytes()
    for size in (0, 1, 50, 100, 4096, 4097, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        try:
            recalled = Lessons(path, user="ada", newest=5000).recall()
        except JournalError as error:
            assert "lessons.db" in str(error)
        else:
            assert recalled == [] or size > 4096


def test_a_folder_or_a_path_that_cannot_be_written_is_a_journal_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "lessons.db"):
        with pytest.raises(JournalError, match="cannot write the memory"):
            Lessons(path).remember("x")


def test_the_newest_lessons_are_recalled() -> None:
    lessons = Lessons(newest=2)
    for n in range(5):
        lessons.remember(f"lesson {n}")
    assert lessons.recall() == ["lesson 3", "lesson 4"]
    assert Lessons(lessons._database, newest=0).recall() == []
    assert repr(lessons.of("ada")) == "<Lessons of ada: 0>"
    assert repr(lessons) == "<Lessons of nobody in particular: 2>"


def test_lessons_of_a_person_are_stored_once_and_found_by_task() -> None:
    memory = Memory()
    ada, bob = memory.lessons("ada"), memory.lessons("bob")
    ada.remember("Check the units.", task="convert miles")
    ada.remember("Check the units.", task="convert pounds")
    ada.remember("Ask for the year.", task="world cup")
    assert ada.recall() == ["Check the units.", "Ask for the year."] and bob.recall() == []
    assert ada.recall("the last world cup") == ["Ask for the year."]


def test_the_lessons_of_a_memory_and_those_at_its_path_are_the_same(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "m.db")
    memory.lessons("ada").remember("x")
    lessons = Lessons(memory.path, user="ada")
    assert lessons.recall() == ["x"] and lessons.path == memory.path and isinstance(lessons, LessonStore)
    assert memory.forget(user="ada") == 1 and lessons.recall() == []
    assert Lessons().path is None


@pytest.mark.parametrize(
    "options",
    [{"path": 3}, {"path": Memory()}, {"user": None}, {"user": 3}, {"newest": -1}, {"newest": True}, {"newest": "2"}],
)
def test_an_invalid_option_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(options))):
        Lessons(**options)


@pytest.mark.parametrize("lesson", [None, 3, b"x", "", " \n"])
def test_anything_but_a_text_is_refused(lesson: Any) -> None:
    with pytest.raises(UsageError, match="lesson"):
        Lessons().remember(lesson)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_uses_a_connection_of_its_own(tmp_path: Path) -> None:
    lessons = Lessons(tmp_path / "lessons.db")
    lessons.remember("parent")
    child = os.fork()
    if not child:
        try:
            lessons.remember("child")
            lessons._database.close()
        finally:
            os._exit(0)
    until = time.monotonic() + 30
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        assert time.monotonic() < until
        time.sleep(0.01)
    lessons.remember("parent again")
    assert sorted(lessons.recall()) == ["child", "parent", "parent again"]
