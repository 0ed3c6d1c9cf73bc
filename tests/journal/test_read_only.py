"""Looking at a journal writes nothing and needs no lock: on a read-only disk, and while another process writes."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from agentkit.errors import JournalDamaged, JournalError, ReadOnly, Unknown
from agentkit.journal import Note, open_journal
from agentkit.journal.sqlite import SqliteJournal


def snapshot(folder: Path) -> dict[str, tuple[int, ...]]:
    """Return what can be seen of all files below a folder."""
    files = [folder, *folder.rglob("*")]
    return {str(file): (file.stat().st_mtime_ns, file.stat().st_size, file.stat().st_mode) for file in files}


def texts(journal, run: str = "r1") -> list[str]:
    return [repr(row) for row in journal.rows(run)]


@pytest.fixture
def killed(tmp_path, left_by):
    """A folder whose journal was left by a killed process: rows are in the write-ahead log."""
    code = 'journal.create(make.info()); make.write(journal, 3); journal.set_status("r1", "running")'
    folder = shutil.copytree(left_by(code), tmp_path / "killed")
    assert (folder / "runs.db-wal").stat().st_size
    return folder


def test_a_closed_journal_is_read_without_creating_a_file(journal, make):
    journal.create(make.info())
    make.write(journal, 3)
    written = texts(journal)
    journal.close()
    before = snapshot(journal.path.parent)
    looked = open_journal(journal.path, read_only=True)
    assert texts(looked) == written and [info.run for info in looked.runs()] == ["r1"]
    assert looked.rows("r1", after=7) == looked.rows("r1")[7:]
    assert snapshot(journal.path.parent) == before


def test_a_journal_that_another_process_left_is_read_without_changing_a_byte(killed):
    before = snapshot(killed)
    looked = open_journal(killed / "runs.db", read_only=True)
    assert len(looked.rows("r1")) == 9
    assert looked.runs()[0].status == "interrupted"
    assert snapshot(killed) == before


@pytest.mark.parametrize("length", [0, 20, 32, 33, 1100])
def test_a_log_without_a_whole_frame_is_read_at_once(killed, length):
    log = killed / "runs.db-wal"
    log.write_bytes(log.read_bytes()[:length])
    looked = open_journal(
        killed / "runs.db",
        read_only=True,
    )
    started = time.monotonic()
    assert looked.runs()[0].status == "damaged" and "are missing" in looked.lost("r1")
    assert time.monotonic() - started < 5


def test_a_log_without_its_index_is_read_from_a_copy(killed, tmp_path):
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("runs.db", "runs.db-wal"):
        shutil.copy(killed / name, moved / name)
    before = snapshot(moved)
    assert len(open_journal(moved / "runs.db", read_only=True).rows("r1")) == 9
    assert snapshot(moved) == before


def test_a_run_that_is_held_is_read_while_it_is_written(journal, make):
    journal.create(make.info())
    looked = open_journal(journal.path, read_only=True)
    for count in range(1, 4):
        journal.append(Note("status", {"n": count}, run="r1"))
        before = snapshot(journal.path.parent)
        assert [row.data["n"] for row in looked.rows("r1")] == list(range(1, count + 1))
        assert looked.runs()[0].status == "running"
        assert snapshot(journal.path.parent) == before


@pytest.mark.slow
def test_many_looks_while_other_processes_write_open_and_close_the_file_see_whole_rows(tmp_path, start_python):
    write = """
    for n in range(40):
        journal = SqliteJournal(journal.path)
        run = f"{os.getpid()}-{n}"
        journal.create(make.info(run, run))
        make.write(journal, 3, run)
        journal.append(Note("status", run=run))
        journal.close()
        if n % 4 == 3:
            journal = SqliteJournal(journal.path)
            journal.delete(run)
    """
    SqliteJournal(tmp_path / "runs.db").close()
    children = [start_python(write, tmp_path / "runs.db") for _ in range(2)]
    looked, seen = open_journal(tmp_path / "runs.db", read_only=True), 0
    while any(child.poll() is None for child in children):
        listed = looked.runs()
        assert {info.status for info in listed} <= {"running", "interrupted", "not begun"}
        for info in listed[:3]:
            with contextlib.suppress(Unknown):  # it was deleted meanwhile
                assert looked.lost(info.run) == ""
                rows = looked.rows(info.run)
                assert [row.id for row in rows] == list(range(1, len(rows) + 1))
                seen += 1
    assert [child.wait() for child in children] == [0, 0]
    assert seen and len(looked.runs()) == 60


def test_whatever_would_write_is_refused(journal, make):
    looked = open_journal(journal.path, read_only=True)
    writing = (
        lambda: looked.create(make.info()),
        lambda: looked.claim("r1"),
        lambda: looked.append(Note("status", run="r1")),
        lambda: looked.set_status("r1", "done"),
        lambda: looked.delete("r1"),
    )
    for write in writing:
        with pytest.raises(ReadOnly, match="read_only=True"):
            write()


def test_a_journal_that_does_not_exist_is_an_error_if_it_was_named_and_empty_if_it_is_the_users_own(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("AGENTKIT_HOME", str(tmp_path / "home"))
    own = open_journal(read_only=True)
    assert own.runs() == []
    with pytest.raises(Unknown):
        own.rows("r1")
    with pytest.raises(JournalError, match="there is no journal"):
        open_journal(tmp_path / "other.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_damage_is_named_as_in_a_journal_that_is_written(journal, make):
    journal.create(make.info())
    make.write(journal, 2)
    with journal._using() as db:
        db.execute("UPDATE rows SET body = replace(body, 'thought 1', 'thought 9')")
    with pytest.raises(JournalDamaged) as caught:
        open_journal(journal.path, read_only=True).rows("r1")
    assert len(caught.value.sound) == caught.value.row - 1
    journal.path.with_name("text.db").write_text("a diary, and not a journal" * 100)
    with pytest.raises(JournalError, match="is not a journal"):
        open_journal(journal.path.with_name("text.db"), read_only=True).runs()


LOOK = """
import sys
from agentkit.journal import open_journal
looked = open_journal(sys.argv[1], read_only=True)
print(len(looked.rows("r1")), looked.runs()[0].status)
"""


def look_as_nobody(path: Path) -> str:
    """Read a journal in a process that may write nothing, and return what it printed."""
    command = [sys.executable, "-c", LOOK, str(path)]
    if os.geteuid() == 0:
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root)
    return done.stdout.strip() or done.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs setpriv")
@pytest.mark.parametrize("closed", [False, True])
def test_a_user_who_may_only_read_reads_a_journal_that_was_left_and_one_that_was_closed(killed, closed):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(killed, folder, dirs_exist_ok=True)
        journal = Path(folder, "runs.db")
        if closed:
            SqliteJournal(journal).close()
        for file in journal.parent.glob("runs.db*"):
            file.chmod(0o444)
        journal.parent.chmod(0o555)
        assert look_as_nobody(journal) == "9 interrupted"
        journal.chmod(0)
        assert "JournalError: cannot read the journal" in look_as_nobody(journal)
        journal.parent.chmod(0)
        assert "JournalError: cannot read the journal" in look_as_nobody(journal)
        journal.parent.chmod(0o700)


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs the right to mount a disk")
def test_a_journal_on_a_read_only_disk_is_read(killed, tmp_path):
    disk = tmp_path / "disk"
    shutil.copytree(killed, disk / "killed")
    shutil.copytree(killed, disk / "closed")
    SqliteJournal(disk / "closed" / "runs.db").close()
    if subprocess.run(["mount", "--bind", disk, disk]).returncode:
        pytest.skip("this machine does not allow mounts")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", disk], check=True)
        with pytest.raises(OSError):
            (disk / "file").touch()
        for name in ("killed", "closed"):
            looked = open_journal(disk / name / "runs.db", read_only=True)
            assert len(looked.rows("r1")) == 9 and looked.runs()[0].status == "interrupted"
    finally:
        subprocess.run(["umount", disk], check=True)
