"""The file contains what was appended, changes to it are noticed, and nothing is lost if it cannot be written."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import stat
import sys
import threading

import pytest

from agentkit.core.messages import Chat
from agentkit.errors import Fenced, JournalDamaged, JournalError, JournalInUse, JournalTooNew, Unknown, UsageError
from agentkit.journal import Entry, Note
from agentkit.journal.sqlite import SqliteJournal


def tamper(journal, statement, *values):
    with sqlite3.connect(journal.path) as db:
        db.execute(statement, values)


def test_rows_come_back_in_order_and_are_numbered_from_one_per_tree(journal, make):
    journal.create(make.info("r1", "t1"))
    journal.create(make.info("r2", "t2"))
    chat = make.write(journal, 3, "r1")
    make.write(journal, 1, "r2")
    rows = journal.rows("r1")
    assert [row.id for row in rows] == list(range(1, 10)) and [row.id for row in journal.rows("r2")] == [1, 2, 3]
    assert {row.run for row in rows} == {"r1"}
    assert rows[6].step.chat + rows[6].result + rows[8].result == chat
    assert journal.rows("r1", after=7) == rows[7:]


def test_a_run_continues_in_a_new_journal_object_and_stores_no_message_twice(journal, make):
    journal.create(make.info())
    chat = make.write(journal, 2)
    journal.close()
    again = SqliteJournal(journal.path)
    again.claim("r1")
    (think, *_), _ = make.turn(chat, 2)
    assert again.append(think) == 7
    assert again.rows("r1")[-1] == think
    (body,) = again._db.execute("SELECT body FROM rows ORDER BY id DESC LIMIT 1").fetchone()
    assert len(body.split("\n")) == 2  # the row, and the only new message: that of the reply
    again.close()


def test_a_fork_shares_the_tree_of_its_parent(journal, make):
    journal.create(make.info("r1", "t1"))
    chat = make.write(journal, 1, "r1")
    journal.create(make.info("r2", "t1", parent="r1"))
    rows, _ = make.turn(chat, 1, "r2")
    assert [journal.append(row) for row in rows] == [4, 5, 6]
    assert (
        journal.rows("r1") == journal.rows("r2") and [row.run for row in journal.rows("r1")] == ["r1"] * 3 + ["r2"] * 3
    )


def test_the_list_of_runs_has_the_newest_first_and_shows_their_status(journal, make):
    journal.create(make.info("old", "t1", updated=5.0, task="lone \ud800", parent="p"))
    journal.create(make.info("new", "t2", updated=10.0))
    assert [i.run for i in journal.runs()] == ["new", "old"]
    journal.append(Note("status", {}, run="old"))
    journal.set_status("old", "paused \ud800")
    first = journal.runs()[0]
    assert (first.run, first.status, first.rows, first.task, first.parent, first.created) == (
        "old",
        "paused \\ud800",
        1,
        "lone \ud800",
        "p",
        1.0,
    )


def test_only_the_owner_can_read_the_files(tmp_path, make):
    old = os.umask(0)
    try:
        journal = SqliteJournal(tmp_path / "home" / "runs.db")
        journal.create(make.info())
        make.write(journal, 1)
        paths = [tmp_path / "home", *(tmp_path / "home").rglob("*")]
    finally:
        os.umask(old)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in paths}
    assert modes == {
        "home": 0o700,
        "locks": 0o700,
        "r1.lock": 0o600,
        "runs.db": 0o600,
        "runs.db.heads": 0o700,
        "t1.head": 0o600,
        "runs.db-wal": 0o600,
        "runs.db-shm": 0o600,
    }
    journal.close()


def test_a_journal_that_others_can_read_is_made_private_when_it_is_opened_for_writing(journal, make):
    journal.create(make.info())
    files = [journal.path.with_name(f"runs.db{end}") for end in ("", "-wal", "-shm")]
    for file in files:
        file.chmod(0o644)
    other = SqliteJournal(journal.path)
    assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600] * 3
    other.close()


def test_rows_are_stored_as_json_without_pickle(journal, make):
    journal.create(make.info())
    make.write(journal, 2)
    for (body,) in journal._db.execute("SELECT body FROM rows"):
        for line in body.split("\n"):
            assert isinstance(json.loads(line), dict | list)


@pytest.mark.parametrize(
    ("statement", "row"),
    [
        ("UPDATE rows SET body = replace(body, 'result 1', 'result 7') WHERE id = (SELECT min(id) FROM rows) + 5", 6),
        ("UPDATE rows SET body = NULL || body || x'00' WHERE 0", 0),
        ("UPDATE rows SET run = 'other' WHERE id = (SELECT min(id) FROM rows) + 2", 3),
        ("UPDATE rows SET at = at + 1 WHERE id = (SELECT min(id) FROM rows) + 2", 3),
        ("UPDATE rows SET hash = zeroblob(32) WHERE id = (SELECT min(id) FROM rows) + 3", 4),
        ("DELETE FROM rows WHERE id = (SELECT min(id) FROM rows) + 4", 5),
        ("DELETE FROM rows WHERE id = (SELECT min(id) FROM rows)", 1),
        ("DELETE FROM rows WHERE id >= (SELECT min(id) FROM rows) + 7", 8),
        ("UPDATE rows SET body = x'ff' WHERE id = (SELECT min(id) FROM rows) + 1", 2),
    ],
)
def test_a_changed_or_missing_row_is_named_and_the_rows_before_it_are_returned(journal, make, statement, row):
    journal.create(make.info())
    make.write(journal, 3)
    intact = journal.rows("r1")
    journal.release("r1")
    tamper(journal, statement)
    if not row:
        assert journal.rows("r1") == intact
        return
    with pytest.raises(JournalDamaged, match=f"row {row} of run r1 .*(changed|missing)") as caught:
        journal.rows("r1")
    assert (caught.value.run, caught.value.row) == ("r1", row)
    assert caught.value.sound == intact[: row - 1]


def test_a_forged_row_with_a_valid_hash_is_noticed(journal, make):
    from agentkit.journal import chain

    journal.create(make.info())
    make.write(journal, 1)
    first = chain.span(1)[0] + 1
    at, body = journal._db.execute("SELECT at, body FROM rows WHERE id = ?", (first,)).fetchone()
    forged = body.replace("the task", "the tusk")
    tamper(
        journal,
        "UPDATE rows SET body = ?, hash = ? WHERE id = ?",
        forged,
        chain.link(chain.START, 1, "r1", at, forged),
        first,
    )
    with pytest.raises(JournalDamaged, match=r"row 1 .*is not valid"):
        journal.rows("r1")


def test_nothing_is_appended_after_a_damaged_row(journal, make):
    journal.create(make.info())
    chat = make.write(journal, 2)
    journal.release("r1")
    tamper(journal, "UPDATE rows SET body = replace(body, 'thought', 'taught')")
    journal.claim("r1")
    with pytest.raises(JournalDamaged):
        journal.append(make.turn(chat, 2)[0][0])
    assert journal.runs()[0].rows == 6


def test_a_file_with_overwritten_pages_is_reported_as_damaged(journal, make):
    journal.create(make.info())
    make.write(journal, 40)
    journal.close()
    with open(journal.path, "r+b") as file:
        file.seek(20 * 1024)
        file.write(random.Random(5).randbytes(20 * 1024))
    again = SqliteJournal(journal.path)
    with pytest.raises(JournalDamaged):
        again.rows("r1")
    again.close()


def test_a_file_of_a_newer_version_is_refused_with_both_versions(journal):
    journal.close()
    tamper(journal, "PRAGMA user_version = 7")
    with pytest.raises(JournalTooNew, match=r"format 7.* up to 2: upgrade agentkit"):
        SqliteJournal(journal.path)


def test_a_file_of_agentkit_0_1_says_in_a_sentence_that_it_cannot_be_read_and_is_left_unchanged(journal):
    journal.close()
    tamper(journal, "PRAGMA user_version = 1")
    before = journal.path.read_bytes()
    with pytest.raises(
        JournalError, match=r"was written by agentkit 0\.1 .* cannot read: set AGENTKIT_HOME .* new journal$"
    ):
        SqliteJournal(journal.path)
    assert journal.path.read_bytes() == before


def test_a_file_that_is_not_a_journal_is_left_unchanged(tmp_path):
    text, other = tmp_path / "text.db", tmp_path / "other.db"
    text.write_text("this is not a page of a database, and never was " * 100)
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE mine (x)")
    before = text.read_bytes(), other.read_bytes()
    for path in (text, other, tmp_path):
        with pytest.raises(JournalError, match=str(path)):
            SqliteJournal(path)
    assert (text.read_bytes(), other.read_bytes()) == before


def test_an_error_names_a_folder_that_cannot_be_written_and_says_what_to_do(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match=r"file.*AGENTKIT_HOME"):
        SqliteJournal(tmp_path / "file" / "runs.db")


def test_a_full_disk_loses_nothing_and_the_row_can_be_appended_again(journal, make):
    journal.create(make.info())
    chat = make.write(journal, 1)
    (think, _, act), _ = make.turn(chat + "x" * 50_000, 1)
    pages = journal._db.execute("PRAGMA page_count").fetchone()[0]
    journal._db.execute(f"PRAGMA max_page_count = {pages + 5}")
    for _ in range(2):
        with pytest.raises(JournalError, match=r"disk is full.*try again"):
            journal.append(think)
    assert think.id == 0 and len(journal.rows("r1")) == 3
    journal._db.execute("PRAGMA max_page_count = 1000000")
    assert (journal.append(think), journal.append(act)) == (4, 5)
    assert journal.rows("r1")[3:] == [think, act]


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
def test_a_limit_on_file_sizes_is_reported_as_such(tmp_path, make, run_python):
    code = """
    import resource, signal
    journal.create(make.info())
    make.write(journal, 1)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
    count = 3
    try:
        while True:
            count = journal.append(Note("warning", {"x": "y" * 2000}, run="r1"))
    except JournalError as error:
        print("error", error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print("went on", journal.append(Note("status", run="r1")) == count + 1, len(journal.rows("r1")) == count + 1)
    """
    out = run_python(code, tmp_path / "runs.db")
    assert "error cannot write the journal" in out and "went on True True" in out


def test_a_locked_file_is_an_error_and_the_row_can_be_appended_later(tmp_path, make):
    journal = SqliteJournal(tmp_path / "runs.db", timeout=0.05)
    journal.create(make.info())
    other = sqlite3.connect(journal.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    note = Note("status", run="r1")
    with pytest.raises(JournalError, match="another program keeps it locked"):
        journal.append(note)
    assert note.id == 0
    other.execute("ROLLBACK")
    other.close()
    assert journal.append(note) == 1
    journal.close()


def test_a_process_that_lost_a_run_writes_nothing_more(journal, make):
    journal.create(make.info())
    make.write(journal, 1)
    tamper(journal, "UPDATE runs SET epoch = epoch + 1, holder = 'process 7 on elsewhere'")
    for write in (lambda: journal.append(Note("status", run="r1")), lambda: journal.set_status("r1", "x")):
        with pytest.raises(Fenced, match="process 7 on elsewhere"):
            write()
    assert len(journal.rows("r1")) == 3


def test_misuse_is_reported(journal, make, tmp_path):
    journal.create(make.info())
    with pytest.raises(JournalInUse):
        journal.create(make.info())
    journal.release("r1")
    with pytest.raises(UsageError, match="already"):
        journal.create(make.info())
    with pytest.raises(JournalError, match="claim it first"):
        journal.append(Note("status", run="r1"))
    with pytest.raises(UsageError, match="name"):
        journal.create(make.info("../../evil"))
    with pytest.raises(Unknown, match="r1"):
        journal.rows("r11")
    with pytest.raises(Unknown):
        journal.claim("r\ud800")
    with pytest.raises(UsageError, match="FULL"):
        SqliteJournal(tmp_path / "x.db", synchronous="OFF")
    journal.close()
    with pytest.raises(JournalError, match="closed"):
        journal.runs()


def test_rows_of_many_threads_are_each_stored_once(journal, make):
    for run in ("a", "b"):
        journal.create(make.info(run, "t"))
    start = threading.Barrier(8)
    ids: list[int] = []

    def write(run):
        start.wait()
        ids.extend([journal.append(Note("status", {"n": n}, run=run), sync=False) for n in range(50)])

    threads = [threading.Thread(target=write, args=("ab"[n % 2],)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ids) == list(range(1, 401)) and len(journal.rows("a")) == 400


def test_deleting_a_run_deletes_its_rows_unless_another_run_of_the_tree_is_left(journal, make):
    journal.create(make.info("r1", "t1"))
    chat = make.write(journal, 1, "r1")
    journal.create(make.info("r2", "t1"))
    journal.append(make.turn(chat, 5, "r2")[0][0])
    with pytest.raises(JournalInUse, match="holds run r1"):
        journal.delete("r1")
    journal.release("r1")
    journal.delete("r1")
    assert [i.run for i in journal.runs()] == ["r2"] and len(journal.rows("r2")) == 4
    journal.release("r2")
    journal.delete("r2")
    assert journal.runs() == []
    files = b"".join(path.read_bytes() for path in journal.path.parent.glob("runs.db*") if path.is_file())
    assert b"thought" not in files
    with pytest.raises(Unknown):
        journal.delete("r2")


def test_pruning_deletes_nothing_by_default_and_never_a_run_that_is_held(journal, make):
    for n in range(5):
        journal.create(make.info(f"r{n}", f"t{n}", updated=1000.0 * n))
    for n in (0, 2, 3):
        journal.release(f"r{n}")
    assert journal.prune() == []
    assert journal.prune(keep_runs=2) == ["r2", "r0"]
    assert journal.prune(keep_days=1) == ["r3"]
    assert [i.run for i in journal.runs()] == ["r4", "r1"]
    with pytest.raises(UsageError):
        journal.prune(keep_runs=-1)


def test_a_run_that_two_journals_prune_at_once_is_deleted_by_one_of_them(journal, make):
    for n in range(20):
        journal.create(make.info(f"r{n}", f"t{n}"))
        journal.release(f"r{n}")
    other, gone = SqliteJournal(journal.path), []
    threads = [threading.Thread(target=lambda j=j: gone.extend(j.prune(keep_runs=0))) for j in (journal, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    other.close()
    assert sorted(gone) == sorted(f"r{n}" for n in range(20)) and journal.runs() == []


def test_a_turn_takes_the_same_number_of_bytes_at_any_length(journal, make):
    journal.create(make.info())
    sizes, chat = [], Chat.of("task")
    for number in range(1000, 1300):
        rows, chat = make.turn(chat, number)
        for row in rows:
            journal.append(row, sync=False)
        sizes.append(
            journal._db.execute(
                "SELECT sum(length(body)) FROM rows WHERE id > (SELECT max(id) - 3 FROM rows)"
            ).fetchone()[0]
        )
    assert max(sizes[1:]) - min(sizes[1:]) < 10 and sizes[-1] < 4000


def test_a_row_with_nan_is_stored_and_numbered(journal, make):
    journal.create(make.info())
    entry = Entry(0, "begin", run="r1", result={"x": float("nan")})
    assert journal.append(entry) == entry.id == 1
    assert journal.rows("r1")[0].result["x"] != 0


def test_two_journals_write_to_one_tree_in_turn(journal, make):
    other = SqliteJournal(journal.path)
    journal.create(make.info("r1", "t"))
    chat = make.write(journal, 1, "r1")
    other.create(make.info("r2", "t"))
    for number in range(1, 4):
        for who, run in ((journal, "r1"), (other, "r2")):
            rows, longer = make.turn(chat, number, run)
            for row in rows:
                who.append(row)
        chat = longer
    rows = other.rows("r1")
    assert rows == journal.rows("r2") and [row.id for row in rows] == list(range(1, 22))
    assert list(rows[-3].step.chat) == list(rows[-6].step.chat)
    other.close()


def test_several_processes_may_create_the_file_at_the_same_moment(tmp_path, start_python):
    code = """
    print("ready", flush=True)
    sys.stdin.readline()
    journal = SqliteJournal(os.environ["SHARED"])
    journal.create(make.info(f"r{os.getpid()}", "t"))
    print(journal.append(Note("status", run=f"r{os.getpid()}")) > 0)
    """
    shared = tmp_path / "shared" / "runs.db"
    children = [start_python(code, tmp_path / "own.db", env=os.environ | {"SHARED": str(shared)}) for _ in range(4)]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    assert [child.stdout.readline() for child in children] == ["True\n"] * 4
    journal = SqliteJournal(shared)
    assert len(journal.runs()) == 4
    journal.close()


@pytest.mark.parametrize("seed", range(40))
def test_a_file_with_overwritten_bytes_is_read_correctly_or_reported_as_damaged(journal, make, seed):
    chance = random.Random(seed)
    journal.create(make.info())
    make.write(journal, 5)
    intact = journal.rows("r1")
    journal.close()
    data = bytearray(journal.path.read_bytes())
    for _ in range(chance.choice((1, 3, 30))):
        data[chance.randrange(len(data))] = chance.randrange(256)
    journal.path.write_bytes(data)
    again = None
    try:
        again = SqliteJournal(journal.path)
        assert again.rows("r1") == intact
    except JournalDamaged as error:
        assert error.sound == intact[: len(error.sound)]
    except (JournalError, Unknown):
        pass  # the head of the file, or the list of runs
    finally:
        if again is not None:
            again.close()
