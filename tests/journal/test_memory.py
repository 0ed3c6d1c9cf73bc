"""The journal in memory behaves the same, except that nothing is on the disk."""

from __future__ import annotations

import threading

import pytest

from agentkit.errors import JournalError, JournalInUse, Unknown, UsageError
from agentkit.journal import MemoryJournal, Note


@pytest.fixture
def memory():
    return MemoryJournal()


def test_rows_are_stored_as_objects_and_numbered_per_tree(memory, make):
    memory.create(make.info("r1", "t1"))
    memory.create(make.info("r2", "t2"))
    rows, _ = make.turn(make.write(memory, 1), 1)
    assert [memory.append(row) for row in rows] == [4, 5, 6]
    assert memory.rows("r1", after=3)[0] is rows[0]
    assert memory.append(Note("status", run="r2")) == 1


def test_a_run_is_held_once_and_listed_with_its_rows(memory, make):
    memory.create(make.info("r1", updated=1.0))
    memory.create(make.info("r2", updated=2.0))
    for misuse, error in (
        (lambda: memory.claim("r1"), JournalInUse),
        (lambda: memory.delete("r1"), JournalInUse),
        (lambda: memory.create(make.info("r1")), UsageError),
        (lambda: memory.claim("r3"), Unknown),
        (lambda: memory.append(Note("status", run="r3")), JournalError),
    ):
        with pytest.raises(error):
            misuse()
    memory.append(Note("status", at=9.0, run="r1"))
    memory.set_status("r2", "done")
    memory.release("r1")
    assert memory.claim("r1").rows == 1
    assert [(i.run, i.status) for i in memory.runs()] == [("r2", "not begun"), ("r1", "running")]
    memory.append(Note("status", at=9.0, run="r2"))
    assert [(i.run, i.status) for i in memory.runs()] == [("r2", "done"), ("r1", "running")]


def test_deleting_keeps_the_rows_that_a_fork_shares(memory, make):
    memory.create(make.info("r1", "t"))
    memory.create(make.info("r2", "t"))
    make.write(memory, 1, "r1")
    memory.release("r1")
    memory.delete("r1")
    assert len(memory.rows("r2")) == 3
    memory.close()
    assert memory.prune(keep_runs=0) == ["r2"] and memory.runs() == []


def test_many_threads_append_and_every_number_is_used_once(memory, make):
    memory.create(make.info())
    start = threading.Barrier(8)

    def write():
        start.wait()
        for n in range(500):
            memory.append(Note("status", {"n": n}, run="r1"))

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row.id for row in memory.rows("r1")] == list(range(1, 4001))
