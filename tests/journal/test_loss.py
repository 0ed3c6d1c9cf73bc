"""The loss of a run's last rows is told, however they were lost; a process that is killed causes no alarm."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from agentkit.errors import JournalDamaged, Unknown, UsageError
from agentkit.journal import Note, open_journal
from agentkit.journal.sqlite import SqliteJournal

WRITE = """
journal.create(make.info())
make.write(journal, 3)
journal.append(Note("status", {"n": 10}, run="r1"))
"""


@pytest.fixture
def path(tmp_path, left_by) -> Path:
    """A journal with one run of ten rows, whose process was killed."""
    shutil.copytree(left_by(WRITE), tmp_path / "left")
    return tmp_path / "left" / "runs.db"


def side(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


def look(path: Path):
    return open_journal(path, read_only=True)


def flip(path: Path) -> None:
    log = side(path, "-wal")
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 4
    log.write_bytes(data)


def cut(path: Path) -> None:
    log = side(path, "-wal")
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])


def delete_log(path: Path) -> None:
    side(path, "-wal").unlink()


def delete_rows(path: Path) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("DELETE FROM rows WHERE id & 0xffffffff > 6")
    db.close()


def test_a_killed_process_causes_no_alarm_also_if_it_died_before_its_head_was_written(path):
    head = side(path, ".heads") / "t1.head"
    assert look(path).lost("r1") == ""
    SqliteJournal(path).close()
    assert look(path).lost("r1") == "" and not side(path, "-wal").exists()
    journal = SqliteJournal(path)
    journal.claim("r1")
    before = head.read_bytes()
    journal.append(Note("status", run="r1"))
    assert head.read_bytes() != before
    head.write_bytes(before)
    assert look(path).lost("r1") == "" and journal.lost("r1") == ""
    journal.close()
    assert journal.lost is not None and [row.kind for row in look(path).rows("r1")].count("lost") == 0


@pytest.mark.parametrize("damage", [flip, cut, delete_log, delete_rows])
def test_the_loss_is_told_by_whoever_looks_and_becomes_a_row_when_the_run_is_claimed(path, damage):
    damage(path)
    left = len(look(path).rows("r1"))
    text = look(path).lost("r1")
    assert left < 10 and f"last {10 - left} rows" in text and f"ends with row {left}" in text
    assert look(path).runs()[0].status == "damaged"
    journal = SqliteJournal(path)
    assert journal.lost("r1") == text
    journal.claim("r1")
    rows = journal.rows("r1")
    assert len(rows) == left + 1 and rows[-1].kind == "lost"
    assert rows[-1].data | {"synced": 0} == {"after": left, "rows": 10 - left, "synced": 0, "text": text}
    assert journal.lost("r1") == ""
    journal.append(Note("status", run="r1"))
    journal.close()
    again = SqliteJournal(path)
    again.claim("r1")
    assert [row.kind for row in again.rows("r1")].count("lost") == 1
    again.close()


def test_a_log_and_heads_that_are_both_gone_leave_a_run_that_was_open(path):
    delete_log(path)
    shutil.rmtree(side(path, ".heads"))
    assert "may be missing" in look(path).lost("r1")
    journal = SqliteJournal(path)
    journal.claim("r1")
    assert journal.rows("r1")[-1].kind == "lost"
    journal.close()
    assert look(path).lost("r1") == ""


def test_this_also_holds_for_a_run_that_was_closed_once_and_claimed_again(tmp_path, left_by):
    more = 'journal.release("r1"); journal.claim("r1"); journal.append(Note("status", run="r1"))'
    path = shutil.copytree(left_by(WRITE + more), tmp_path / "left") / "runs.db"
    assert look(path).lost("r1") == ""
    delete_log(path)
    shutil.rmtree(side(path, ".heads"))
    assert "may be missing" in look(path).lost("r1")


def test_a_copy_of_the_file_alone_during_a_run_does_not_look_complete(journal, make, tmp_path):
    journal.create(make.info())
    make.write(journal, 3)
    copy = tmp_path / "copy" / "runs.db"
    copy.parent.mkdir()
    shutil.copy(journal.path, copy)
    assert [(info.run, info.status) for info in look(copy).runs()] == [("r1", "interrupted")]
    assert "was open when this journal was copied" in look(copy).lost("r1")
    assert journal.lost("r1") == ""


def test_a_copy_of_the_file_alone_is_complete_if_no_run_is_held(journal, make, tmp_path):
    journal.create(make.info(status="done"))
    make.write(journal, 3)
    journal.release("r1")
    copy = tmp_path / "copy" / "runs.db"
    copy.parent.mkdir()
    shutil.copy(journal.path, copy)
    assert len(look(copy).rows("r1")) == 9 and look(copy).lost("r1") == ""
    assert look(copy).runs()[0].status == "done"


def test_an_older_copy_in_place_of_a_newer_file_is_told(journal, make, tmp_path):
    journal.create(make.info())
    make.write(journal, 1)
    journal.close()
    shutil.copy(journal.path, tmp_path / "older.db")
    with_more = SqliteJournal(journal.path)
    with_more.claim("r1")
    with_more.append(Note("status", {"n": 4}, run="r1"))
    with_more.close()
    shutil.copy(tmp_path / "older.db", journal.path)
    assert "the last row of run r1" in look(journal.path).lost("r1")
    other = SqliteJournal(tmp_path / "older.db")  # continued elsewhere, and then put in place
    other.claim("r1")
    other.append(Note("status", {"n": 5}, run="r1"))
    other.close()
    shutil.copy(tmp_path / "older.db", journal.path)
    assert "row 4 of run r1 is not the row that was synced" in look(journal.path).lost("r1")


@pytest.mark.parametrize("how", ["file", "tables", "emptied"])
def test_a_run_that_is_gone_altogether_is_listed_as_lost_until_it_is_deleted(path, how, make):
    delete_log(path)
    if how == "file":
        path.unlink()
    elif how == "emptied":
        path.write_bytes(b"")
    else:
        db = sqlite3.connect(path, isolation_level=None)
        db.executescript("DELETE FROM runs; DELETE FROM trees; DELETE FROM rows")
        db.close()
    side(path, ".heads").joinpath("t1.head").rename(side(path, ".heads") / "r1.head")  # as if the tree were named so
    journal = SqliteJournal(path)
    for opened in (journal, *([look(path)] if path.exists() else [])):
        assert [(info.run, info.status) for info in opened.runs()] == [("r1", "lost")]
        assert "all its rows are missing, 10 of which were synced" in opened.lost("r1")
        with pytest.raises(JournalDamaged, match="all its rows are missing"):
            opened.rows("r1")
    with pytest.raises(JournalDamaged):
        journal.claim("r1")
    with pytest.raises(UsageError, match="is lost; delete it"):
        journal.create(make.info(tree="r1"))
    journal.delete("r1")
    assert journal.runs() == []
    with pytest.raises(Unknown):
        journal.rows("r1")
    journal.close()


def test_a_head_that_cannot_be_read_is_told(path):
    head = side(path, ".heads") / "t1.head"
    for damaged in (b"agentkit head", head.read_bytes().replace(b"10", b"11", 1), b"\0" * 120):
        head.write_bytes(damaged)
        assert "the head of run r1 is damaged" in look(path).lost("r1")


def test_a_fork_of_a_run_that_lost_rows_has_lost_them_too(path, make):
    SqliteJournal(path).close()
    journal = SqliteJournal(path)
    journal.create(make.info("r2"))
    journal.append(Note("head", run="r2"))
    journal.close()
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("DELETE FROM rows WHERE id & 0xffffffff > 6")
    db.execute("UPDATE trees SET sealed_row = 0")
    db.close()
    for run in ("r1", "r2"):
        assert f"the last 5 rows of run {run}" in look(path).lost(run)


def test_rows_that_were_not_synced_are_counted_when_the_run_is_released(journal, make):
    journal.create(make.info())
    make.write(journal, 3)
    assert look(journal.path).lost("r1") == ""
    journal.close()
    db = sqlite3.connect(journal.path, isolation_level=None)
    db.execute("DELETE FROM rows WHERE id & 0xffffffff > 8")
    db.execute("UPDATE trees SET sealed_row = 0")
    db.close()
    assert "the last row of run r1" in look(journal.path).lost("r1")


def test_a_deleted_run_leaves_no_head_and_is_not_lost(journal, make):
    journal.create(make.info())
    make.write(journal, 1)
    journal.release("r1")
    journal.delete("r1")
    assert list(side(journal.path, ".heads").iterdir()) == [] and journal.runs() == []


def test_two_journals_that_write_to_one_tree_never_move_its_head_back(path, make):
    one, two = SqliteJournal(path), SqliteJournal(path)
    one.claim("r1")
    two.create(make.info("r2"))
    for journal, run in ((one, "r1"), (two, "r2"), (one, "r1")):
        journal.append(Note("status", run=run))
    head = two._heads.get("t1")
    two._heads.advance("t1", type(head)(12, b"\1" * 32, 1.0))
    assert two._heads.get("t1") == head and head.number == 13
    one.close()
    two.close()
    assert look(path).lost("r1") == look(path).lost("r2") == ""
