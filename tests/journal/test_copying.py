"""`agentkit backup` copies a journal that is in use, and `agentkit verify` says which runs are as they were written."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat

import pytest
from typer.testing import CliRunner

from agentkit.cli import app
from agentkit.errors import JournalError, Unknown, UsageError
from agentkit.journal import Note, backup, open_journal, verify
from agentkit.journal.sqlite import SqliteJournal


def agentkit(*arguments: object) -> tuple[int, str, str]:
    """Return the exit code, the standard output and the standard error of a command."""
    finished = CliRunner().invoke(app, list(map(str, arguments)))
    return finished.exit_code, finished.stdout, finished.stderr


def states(path, run: str = "") -> dict[str, str]:
    return {verdict.run: verdict.state for verdict in verify(run, path)}


def execute(path, statement: str) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(statement)
    db.close()


@pytest.fixture
def two(journal, make):
    """A journal with the runs r1 and r2, which nobody holds."""
    for run, tree in (("r1", "t1"), ("r2", "t2")):
        journal.create(make.info(run, tree, status="done"))
        make.write(journal, 3, run)
        journal.release(run)
    return journal


def test_a_copy_has_all_runs_is_private_and_is_found_intact(two, tmp_path):
    copy = tmp_path / "copies" / "runs-1.db"
    assert backup(copy, two.path) == 2
    assert states(copy) == {"": "intact", "r1": "intact", "r2": "intact"}
    assert sorted(file.name for file in copy.parent.rglob("*")) == [
        "runs-1.db",
        "runs-1.db.heads",
        "t1.head",
        "t2.head",
    ]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert [repr(row) for row in open_journal(copy, read_only=True).rows("r1")] == [repr(row) for row in two.rows("r1")]
    restored = SqliteJournal(copy)
    restored.claim("r1")
    restored.append(Note("status", run="r1"))
    restored.close()
    assert states(copy)["r1"] == "intact"


def test_a_copy_made_during_a_run_says_that_the_run_went_on(two, make, tmp_path):
    two.create(make.info("r3", "t3"))
    make.write(two, 1, "r3")
    backup(tmp_path / "copy.db", two.path)
    make.write(two, 1, "r3", None)
    assert len(open_journal(tmp_path / "copy.db", read_only=True).rows("r3")) == 3
    assert states(tmp_path / "copy.db") == {"": "intact", "r1": "intact", "r2": "intact", "r3": "rows lost"}
    assert "r3 was open when this journal was copied" in open_journal(tmp_path / "copy.db", read_only=True).lost("r3")
    assert states(two.path)["r3"] == "intact"


@pytest.mark.slow
def test_copies_made_while_another_process_writes_are_whole(tmp_path, start_python):
    child = start_python(
        """
        journal.create(make.info())
        print("ready", flush=True)
        make.write(journal, 3000)
        """,
        tmp_path / "runs.db",
    )
    assert child.stdout.readline() == "ready\n"
    lengths = []
    for number in range(20):
        copy = tmp_path / f"copy-{number}.db"
        backup(copy, tmp_path / "runs.db")
        found = {verdict.run: verdict for verdict in verify("", copy)}
        assert found[""].state == "intact" and found["r1"].state in ("rows lost", "intact")
        lengths.append(len(open_journal(copy, read_only=True).rows("r1")))
    child.wait()
    assert lengths == sorted(lengths) and lengths[-1] > lengths[0]


def test_a_copy_of_a_journal_that_lost_rows_says_so_too(two, tmp_path):
    two.close()
    execute(two.path, "DELETE FROM rows WHERE id = (2 << 32) + 9")
    execute(two.path, "UPDATE trees SET sealed_row = 0")
    execute(two.path, "DELETE FROM runs WHERE run = 'r1'")
    execute(two.path, "DELETE FROM trees WHERE id = 1")
    backup(tmp_path / "copy.db", two.path)
    for path in (two.path, tmp_path / "copy.db"):
        assert states(path) == {"": "intact", "r2": "rows lost", "t1": "lost"}


def test_nothing_is_overwritten_and_an_interrupted_copy_is_made_anew(two, tmp_path):
    (tmp_path / "copy.db").write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        backup(tmp_path / "copy.db", two.path)
    assert (tmp_path / "copy.db").read_text() == "mine"
    (tmp_path / "other.db.part").write_text("half")
    (tmp_path / "other.db.part.heads").mkdir()
    assert backup(tmp_path / "other.db", two.path) == 2
    assert not list(tmp_path.glob("*.part*"))
    with pytest.raises(JournalError, match="there is no journal"):
        backup(tmp_path / "third.db", tmp_path / "nothing.db")
    with pytest.raises(JournalError, match="cannot write"):
        backup(tmp_path / "copy.db" / "third.db", two.path)


def test_a_copy_reports_its_progress(two, tmp_path):
    seen = []
    backup(tmp_path / "copy.db", two.path, lambda done, total: seen.append((done, total)))
    assert seen and seen[-1][0] == seen[-1][1] > 0


def test_every_kind_of_damage_has_its_verdict(two, make, tmp_path):
    two.create(make.info("r3", "t3"))
    two.close()
    execute(two.path, "UPDATE rows SET body = replace(body, 'thought 1', 'thought 7') WHERE id >> 32 = 1")
    execute(two.path, "DELETE FROM rows WHERE id >> 32 = 2 AND id & 0xffffffff > 7")
    execute(two.path, "UPDATE trees SET sealed_row = 0")
    assert states(two.path) == {"": "intact", "r1": "damaged", "r2": "rows lost", "r3": "not begun"}
    assert states(two.path, "r2") == {"r2": "rows lost"}
    with pytest.raises(Unknown):
        states(two.path, "r9")
    before = {file: os.stat(file).st_mtime_ns for file in tmp_path.rglob("*")}
    code, out, _ = agentkit("verify", "--file", two.path)
    assert code == 1 and "r1  damaged" in out and "row 4 of run r1 was changed" in out
    assert "r2  rows lost  the last 2 rows of run r2" in out
    assert {file: os.stat(file).st_mtime_ns for file in tmp_path.rglob("*")} == before
    data = bytearray(two.path.read_bytes())
    data[1024:4096] = b"\xff" * 3072
    two.path.write_bytes(data)
    assert "damaged" in states(two.path)[""]


def test_a_loss_that_was_noted_when_the_run_was_claimed_stays_a_verdict(two):
    two.close()
    execute(two.path, "DELETE FROM rows WHERE id = (2 << 32) + 9")
    execute(two.path, "UPDATE trees SET sealed_row = 0")
    journal = SqliteJournal(two.path)
    journal.claim("r2")
    journal.close()
    assert states(two.path)["r2"] == "rows lost"


def test_the_commands_say_what_they_did(two, tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTKIT_HOME", str(two.path.parent))
    assert agentkit("backup", tmp_path / "copy.db") == (0, f"2 runs copied to {tmp_path / 'copy.db'}\n", "")
    assert agentkit("backup", tmp_path / "copy.db")[0] == 1
    code, out, err = agentkit("verify")
    assert (code, sorted(out.splitlines()), err) == (
        0,
        ["r1  intact  9 rows", "r2  intact  9 rows", "the file  intact"],
        "",
    )
    assert agentkit("verify", "r1") == (0, "r1  intact  9 rows\n", "")
    assert agentkit("verify", "x")[::2] == (1, "there is no run whose id begins with 'x'; `agentkit runs` lists them\n")
    assert agentkit("verify", "--file", tmp_path / "no.db")[::2] == (1, f"there is no journal {tmp_path / 'no.db'}\n")
    shutil.rmtree(tmp_path / "copy.db.heads")
    assert agentkit("verify", "--file", tmp_path / "copy.db")[0] == 0
