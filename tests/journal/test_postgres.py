"""The journal on PostgreSQL: who holds a run, what a connection that is lost means, and which errors say what to do."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import psycopg
import pytest
from postgres_server import Server

from agentkit.errors import Fenced, JournalDamaged, JournalError, JournalInUse, JournalTooNew, ReadOnly, UsageError
from agentkit.journal import Note, open_journal, verify
from agentkit.journal.postgres import schema
from agentkit.journal.postgres.journal import PostgresJournal

pytestmark = pytest.mark.slow


@pytest.fixture
def journal(database):
    journal = PostgresJournal(database)
    yield journal
    journal.close()


@pytest.fixture(scope="module")
def own_server():
    """Return a server that tests may stop."""
    server = Server()
    yield server
    server.remove()


def execute(url, *statements):
    with psycopg.connect(url, autocommit=True) as connection:
        return [connection.execute(statement).rowcount for statement in statements]


def lease_of(url):
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
        return connection.execute("SELECT until FROM agentkit.runs").fetchone()[0]


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


# -- the chain ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "row"),
    [
        ("UPDATE agentkit.rows SET body = replace(body, 'thought 1', 'taught 1') WHERE number = 4", 4),
        ("UPDATE agentkit.rows SET at = at + 1 WHERE number = 2", 2),
        ("DELETE FROM agentkit.rows WHERE number = 5", 5),
        ("DELETE FROM agentkit.rows WHERE number >= 8", 8),
        ("UPDATE agentkit.rows SET run = 'r2' WHERE number = 1", 1),
    ],
)
def test_a_row_that_was_changed_or_deleted_is_noticed_also_at_the_end(journal, database, make, statement, row):
    journal.create(make.info())
    chat = make.write(journal, 3)
    intact = journal.rows("r1")
    journal.release("r1")
    execute(database, statement)
    with pytest.raises(JournalDamaged, match=rf"row {row} of run r1 .*(changed|missing)") as caught:
        journal.rows("r1")
    assert caught.value.sound == intact[: row - 1]
    assert [verdict.state for verdict in verify(journal=database)] == ["damaged"]
    journal.claim("r1")
    with pytest.raises(JournalDamaged):  # nothing is appended after a damaged row
        journal.append(make.turn(chat, 3)[0][0])


# -- leases ------------------------------------------------------------------------------------------------------------

HOLD = """
journal.create(make.info())
make.write(journal, 2)
print("held", flush=True)
sys.stdin.readline()
"""


def test_a_run_of_a_killed_process_is_free_as_soon_as_the_server_notices(database, start_python):
    child = start_python(HOLD, database)
    assert child.stdout.readline() == "held\n"
    journal = PostgresJournal(database, lease=3600)
    for take in (journal.claim, journal.delete):
        with pytest.raises(JournalInUse, match=f"held by process {child.pid} on "):
            take("r1")
    assert len(journal.rows("r1")) == 6  # reading needs no claim
    execute(database, "UPDATE agentkit.runs SET until = until + interval '1 hour'")
    child.kill()
    child.wait()
    # A server that was started within the time of a lease leaves its clients that time to come back; this one was not.
    short = PostgresJournal(database, lease=0.01)
    wait_until(lambda: short.runs()[0].status == "interrupted")
    assert short.claim("r1").rows == 6
    assert short.append(Note("status", run="r1")) == 7
    journal.close()
    short.close()


def test_behind_a_pooler_a_run_of_a_killed_process_is_free_when_its_lease_is_over(pooled, start_python):
    code = f"""
    from agentkit.journal.postgres.journal import PostgresJournal
    journal.close()
    journal = PostgresJournal(path, lease=2.0)
    {HOLD.replace(chr(10), chr(10) + "    ")}
    """
    child = start_python(code, pooled)
    assert child.stdout.readline() == "held\n"
    journal = PostgresJournal(pooled, lease=2.0)
    first = lease_of(pooled)
    wait_until(lambda: lease_of(pooled) > first)  # it is renewed while nothing is written
    child.kill()
    child.wait()

    def is_free():
        try:
            return journal.claim("r1").rows == 6
        except JournalInUse:
            return False

    wait_until(is_free)
    journal.close()


def test_a_process_that_was_stopped_for_longer_than_its_lease_cannot_go_on_with_its_run(database, start_python):
    """As a laptop that slept: its connection is still there, and its run was taken over meanwhile."""
    code = """
    from agentkit.journal.postgres.journal import PostgresJournal
    journal.close()
    journal = PostgresJournal(path, lease=1.0)
    journal.create(make.info())
    print("held", flush=True)
    sys.stdin.readline()
    try:
        journal.append(Note("call", {"parent": 0, "path": "", "index": 0, "name": "pay"}, run="r1"))
        print("paid", flush=True)
    except Fenced:
        print("fenced", flush=True)
    """
    child = start_python(code, database)
    assert child.stdout.readline() == "held\n"
    journal = PostgresJournal(database, lease=1.0)
    child.send_signal(signal.SIGSTOP)

    def is_free():
        try:
            return journal.claim("r1").run == "r1"
        except JournalInUse:
            return False

    wait_until(is_free)
    child.send_signal(signal.SIGCONT)
    child.stdin.write("go\n")
    child.stdin.flush()
    assert child.stdout.readline() == "fenced\n"
    assert journal.append(Note("status", run="r1")) == 1
    journal.close()


def test_a_process_that_lost_a_run_writes_nothing_more(journal, database, make):
    journal.create(make.info())
    make.write(journal, 1)
    execute(database, "UPDATE agentkit.runs SET epoch = epoch + 1, holder = 'process 7 on elsewhere'")
    for write in (lambda: journal.append(Note("status", run="r1")), lambda: journal.set_status("r1", "x")):
        with pytest.raises(Fenced, match="process 7 on elsewhere"):
            write()
    assert len(journal.rows("r1")) == 3
    execute(database, "DELETE FROM agentkit.runs")
    with pytest.raises(Fenced, match="deleted"):
        journal.sync("r1")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python warns about a fork with threads")
def test_a_forked_child_writes_nothing_for_its_parent_and_keeps_no_run_alive(database, start_forking):
    parent = start_forking(database)
    try:
        assert parent.stdout.readline().split(" ", 1)[1] == f"fenced, parent {parent.pid} named True; 1; 3 4\n"
        parent.kill()
        parent.wait()
        journal = PostgresJournal(database, lease=0.01)
        wait_until(lambda: {each.run: each.status for each in journal.runs()}["r1"] == "interrupted")
        assert journal.claim("r1").rows == 4  # the child is alive, but does not hold the run
        with pytest.raises(JournalInUse):
            journal.claim("mine")
        journal.close()
    finally:
        os.killpg(parent.pid, 9)


# -- connections that come and go --------------------------------------------------------------------------------------


def test_rows_go_on_after_all_connections_were_ended_by_the_server(journal, database, make):
    journal.create(make.info())
    chat = make.write(journal, 1)
    execute(database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    numbers = [journal.append(row) for row in make.turn(chat, 1)[0]]
    assert numbers == [4, 5, 6] and len(journal.rows("r1")) == 6


def test_a_row_whose_answer_was_lost_is_stored_once(journal, database, make):
    """The server has the row, but this process was not told: then its count is one behind."""
    journal.create(make.info())
    make.write(journal, 1)
    note = Note("status", {"n": 1}, run="r1")
    assert journal.append(note) == 4
    claim = journal._claims["r1"]
    claim.seq, claim.tree.number = claim.seq - 1, 3  # as if the answer had been lost
    assert journal.append(note) == 4
    assert journal.append(Note("status", {"n": 2}, run="r1")) == 5
    claim.seq, claim.tree.number = claim.seq - 1, 4
    assert journal.append(Note("status", {"n": 3}, run="r1")) == 6  # another row: that one stays on record
    assert [row.data.get("n") for row in journal.rows("r1")[3:]] == [1, 2, 3]
    claim.seq -= 1
    journal.set_status("r1", "done")
    claim.seq -= 1
    journal.release("r1")
    assert journal.claim("r1").status == "done" and journal.append(note) == 7


@pytest.mark.parametrize("synced", [True, False])
def test_a_server_that_crashes_and_comes_back_has_every_row_once(own_server, make, synced):
    journal = PostgresJournal(own_server.url(own_server.create()), timeout=120)
    runs, written, stop = [f"r{n}" for n in range(4)], {}, threading.Event()
    for run in runs:
        journal.create(make.info(run, "one tree" if run < "r2" else run))

    def write(run):
        written[run] = []
        while not stop.is_set():
            note = Note("status", {"n": len(written[run])}, run=run)
            journal.append(note, sync=synced)
            written[run].append((note.id, note.data["n"]))

    threads = [threading.Thread(target=write, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for _ in range(2):
        before = {run: len(written.get(run, ())) for run in runs}
        wait_until(lambda before=before: all(len(written.get(run, ())) > before[run] + 5 for run in runs))
        own_server.stop("immediate")
        own_server.start()
    stop.set()
    for thread in threads:
        thread.join()
    for run in runs:
        found = [(row.id, row.data["n"]) for row in journal.rows(run) if row.run == run]
        assert found == written[run]
    journal.close()


def test_rows_that_the_server_has_forgotten_are_sent_again_in_order(journal, database, make):
    journal.create(make.info("a", "t"))
    journal.create(make.info("b", "t"))
    journal.append(Note("status", {"n": 1}, run="a"))
    for n, run in ((2, "a"), (3, "b"), (4, "a")):
        journal.append(Note("status", {"n": n}, run=run), sync=False)
    forget(database, 2, {"a": 1, "b": 0})
    assert journal.append(Note("status", {"n": 5}, run="b")) == 5
    assert [(row.id, row.run, row.data["n"]) for row in journal.rows("a")] == [
        *((1, "a", 1), (2, "a", 2), (3, "b", 3), (4, "a", 4), (5, "b", 5))
    ]


def test_a_run_says_that_the_server_has_forgotten_rows_in_whose_place_there_are_others(journal, database, make):
    journal.create(make.info("a", "t"))
    journal.append(Note("status", {"n": 1}, run="a"))
    journal.append(Note("status", {"n": 2}, run="a"), sync=False)
    forget(database, 2, {"a": 1})
    other = PostgresJournal(database)
    other.create(make.info("b", "t"))
    other.append(Note("status", {"n": 9}, run="b"))
    for _ in range(2):
        with pytest.raises(JournalError, match=r"has forgotten rows of run a .* open it again"):
            journal.append(Note("status", {"n": 3}, run="a"))
    journal.release("a")
    assert journal.rows("a") == other.rows("b")
    other.close()


def forget(url, number, seqs):
    """Take a tree back to before a row, as a crash of the server does with rows that were not on its disk."""
    execute(
        url,
        f"DELETE FROM agentkit.rows WHERE number >= {number}",
        f"UPDATE agentkit.trees SET number = {number - 1}, hash = (SELECT hash FROM agentkit.rows ORDER BY number DESC LIMIT 1)",
        *(f"UPDATE agentkit.runs SET seq = {seq} WHERE run = '{run}'" for run, seq in seqs.items()),
    )


def test_a_server_that_is_gone_is_an_error_that_says_so_and_the_row_can_be_appended_when_it_is_back(own_server, make):
    journal = PostgresJournal(own_server.url(own_server.create()), timeout=1)
    journal.create(make.info())
    note = Note("status", run="r1")
    own_server.stop("fast")
    try:
        with pytest.raises(JournalError, match=r"(cannot reach the journal|was lost while)") as caught:
            journal.append(note)
        assert own_server.password not in str(caught.value) and note.id == 0
        with pytest.raises(JournalError, match="cannot reach the journal"):
            PostgresJournal(own_server.url("test_1"), timeout=0.5)
    finally:
        own_server.start()
    journal.connections.timeout = 60
    assert journal.append(note) == 1 and len(journal.rows("r1")) == 1
    journal.close()


def test_a_tail_hears_of_rows_by_a_notice_and_survives_a_lost_connection(journal, database, make):
    reader = PostgresJournal(database, read_only=True)
    journal.create(make.info())
    make.write(journal, 1)
    tail = reader.tail("r1")
    assert len(tail.read()) == 3
    execute(database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    journal.append(Note("status", run="r1"))
    assert [row.id for row in tail.read(timeout=60)] == [4]
    reader.close()


# -- bad input ---------------------------------------------------------------------------------------------------------


def test_no_password_is_shown_anywhere(database, postgres, caplog, make):
    caplog.set_level("DEBUG")
    journal = PostgresJournal(database)
    journal.create(make.info())
    wrong = database.replace(postgres.password, "wr0ng-pa55word-x7")
    shown = [repr(journal), repr(journal.connections.place)]
    for url in (wrong, wrong.replace("5", "%zz", 1), database + "_none", "postgresql://u:s3cr3t-pw-91x@127.0.0.1:1/x"):
        with pytest.raises((JournalError, UsageError)) as caught:
            PostgresJournal(url, timeout=0.1)
        error = caught.value
        while error is not None:
            shown.append(repr(error))
            error = error.__cause__
    shown += [caplog.text]
    for password in (postgres.password, "wr0ng-pa55word-x7", "s3cr3t-pw-91x"):
        assert not [text for text in shown if password in text]
    journal.close()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda url, word: url.replace(word, "wrong-" + word), "refused the user or the password"),
        (lambda url, word: url + "_none", "there is no such database"),
        (lambda url, word: url + "?nonsense=1", "not the URL"),
        (lambda url, word: "postgresql://[::1", "not the URL"),
    ],
)
def test_a_url_that_leads_nowhere_says_why_at_once(database, postgres, change, message):
    begun = time.monotonic()
    with pytest.raises((JournalError, UsageError), match=message):
        open_journal(change(database, postgres.password))
    assert time.monotonic() - begun < 15  # less than the time for which a server is waited for


def test_tables_of_another_version_are_refused_with_what_to_do_and_older_ones_are_migrated(database):
    with psycopg.connect(database, autocommit=True) as connection:
        assert schema.migrate(connection, "here", upto=1) == (0, 1)
        with pytest.raises(
            JournalError, match=rf"version 1, and this agentkit needs version {schema.VERSION}.*agentkit migrate"
        ):
            PostgresJournal(database)
        assert schema.migrate(connection, "here", upto=2) == (1, 2)
        assert schema.migrate(connection, "here") == (2, schema.VERSION)
        assert schema.migrate(connection, "here") == (schema.VERSION, schema.VERSION)
        PostgresJournal(database).close()
        connection.execute("UPDATE agentkit.version SET number = 99")
        for act in (lambda: PostgresJournal(database), lambda: schema.migrate(connection, "here")):
            with pytest.raises(JournalTooNew, match=r"version 99.*upgrade agentkit"):
                act()


def test_several_processes_may_make_the_tables_at_the_same_moment(database, start_python):
    children = [start_python("print('made', flush=True)", database) for _ in range(4)]
    assert [child.stdout.readline() for child in children] == ["made\n"] * 4


def test_a_journal_that_was_opened_to_look_at_creates_and_writes_nothing(database, make):
    with pytest.raises(JournalError, match="no tables"):
        open_journal(database, read_only=True)
    journal = PostgresJournal(database)
    journal.create(make.info())
    make.write(journal, 1)
    looking = open_journal(database, read_only=True)
    assert len(looking.rows("r1")) == 3 and looking.runs()[0].status == "running"
    for write in (lambda: looking.create(make.info("r2")), lambda: looking.claim("r1"), lambda: looking.delete("r1")):
        with pytest.raises(ReadOnly):
            write()
    looking.close()
    journal.close()


def test_a_read_only_server_is_an_error_that_says_so(postgres, make):
    name = postgres.create()
    database = postgres.url(name)
    PostgresJournal(database).close()
    execute(database, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    journal = PostgresJournal(database)
    with pytest.raises(JournalError, match=r"the server is read-only.*primary"):
        journal.create(make.info())
    assert journal.runs() == []
    journal.close()


def test_a_server_without_connections_left_is_an_error_that_says_so_and_is_used_later(postgres, make):
    name = postgres.create()
    execute(
        postgres.url(name),
        "CREATE ROLE few LOGIN PASSWORD 'few-few-few' CONNECTION LIMIT 6",
        f"GRANT CREATE ON DATABASE {name} TO few",
    )
    url = postgres.url(name, "few", password="few-few-few")
    journal = PostgresJournal(url, timeout=1)
    journal.create(make.info())
    taken = []
    with pytest.raises(psycopg.OperationalError):
        while True:
            taken.append(psycopg.connect(url))
    with pytest.raises(JournalError, match=r"no connection left.*PgBouncer"):
        PostgresJournal(url, timeout=1)
    assert journal.append(Note("status", run="r1")) == 1  # over the connection that it has
    for connection in taken:
        connection.close()
    PostgresJournal(url, timeout=60).close()
    journal.close()


def test_a_full_disk_loses_nothing_and_the_row_can_be_appended_again(journal, database, make):
    """No disk is filled here: a trigger reports what PostgreSQL reports then."""
    journal.create(make.info())
    execute(
        database,
        """CREATE FUNCTION agentkit.full_disk() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END$$""",
        "CREATE TRIGGER full_disk BEFORE INSERT ON agentkit.rows FOR EACH ROW EXECUTE FUNCTION agentkit.full_disk()",
    )
    note = Note("status", run="r1")
    for _ in range(2):
        with pytest.raises(JournalError, match=r"disk of the server is full.*try again"):
            journal.append(note)
    assert note.id == 0
    execute(database, "DROP TRIGGER full_disk ON agentkit.rows")
    assert journal.append(note) == 1 and len(journal.rows("r1")) == 1
