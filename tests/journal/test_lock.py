"""One process holds a run, and the run is free when that process dies."""

from __future__ import annotations

import os
import sys

import pytest

from agentkit.errors import Fenced, JournalError, JournalInUse
from agentkit.journal import Note
from agentkit.journal.lock import RunLock
from agentkit.journal.sqlite import SqliteJournal

HOLD = """
journal.create(make.info())
make.write(journal, 2)
print("held", flush=True)
sys.stdin.readline()
"""


def test_a_run_of_another_process_is_refused_with_its_process_id_and_free_after_a_kill(tmp_path, start_python):
    child = start_python(HOLD, tmp_path / "runs.db")
    assert child.stdout.readline() == "held\n"
    journal = SqliteJournal(tmp_path / "runs.db")
    for take in (journal.claim, journal.delete):
        with pytest.raises(JournalInUse, match=f"held by process {child.pid} on "):
            take("r1")
    assert len(journal.rows("r1")) == 6  # reading needs no claim
    child.kill()
    child.wait()
    assert journal.claim("r1").rows == 6
    assert journal.append(Note("status", run="r1")) == 7
    journal.close()


def test_a_process_can_claim_a_run_once_until_it_is_released(journal, make):
    journal.create(make.info())
    again = SqliteJournal(journal.path)
    for who in (journal, again):
        with pytest.raises(JournalInUse, match=f"this process .{os.getpid()}."):
            who.claim("r1")
    journal.release("r1")
    journal.release("r1")
    again.claim("r1")
    with pytest.raises(JournalInUse):
        journal.claim("r1")
    again.close()


def test_a_lock_leaves_no_file_behind_and_a_file_of_a_dead_process_is_not_a_lock(tmp_path):
    (tmp_path / "r1.lock").write_text("1 elsewhere\n")
    lock = RunLock(tmp_path, "r1")
    assert lock.path.read_text().startswith(f"{os.getpid()} ")
    lock.release()
    lock.release()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_for_locks_that_cannot_be_created_is_an_error(tmp_path):
    (tmp_path / "locks").write_text("")
    with pytest.raises(JournalError, match=r"cannot write .*r1\.lock"):
        RunLock(tmp_path / "locks", "r1")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="Python warns about a fork with threads; the child process below covers it"
)
def test_a_forked_child_writes_nothing_for_its_parent_and_holds_no_run_after_the_parent_dies(tmp_path, start_forking):
    parent = start_forking(tmp_path / "runs.db")
    try:
        assert parent.stdout.readline().split(" ", 1)[1] == f"fenced, parent {parent.pid} named True; 1; 3 4\n"
        parent.kill()
        parent.wait()
        journal = SqliteJournal(tmp_path / "runs.db")
        assert journal.claim("r1").rows == 4  # the child is alive, but does not hold the run
        journal.close()
    finally:
        os.killpg(parent.pid, 9)


def test_a_tool_cannot_catch_the_exception_of_a_fenced_writer():
    assert not issubclass(Fenced, Exception)
