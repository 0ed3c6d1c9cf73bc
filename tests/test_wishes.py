"""Runs that another process holds: they are followed, and that process is asked to pause, to stop, or to be told."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from elsewhere import driven_elsewhere
from hostile_text import texts
from postgres_server import Server

import agentkit
from agentkit import Agent, Answer, Call, Loop, Reply, Run, Think, tool
from agentkit.errors import Ended, JournalInUse, ReadOnly, Unknown, UsageError
from agentkit.inert import for_terminal
from agentkit.journal import Note, RunInfo, Wish, open_journal
from agentkit.journal.postgres.journal import PostgresJournal
from agentkit.journal.sqlite import SqliteJournal
from agentkit.models import Scripted
from agentkit.models.base import Abilities
from agentkit.run.followed import Followed, me
from agentkit.run.wishes import obey

SIZE = int(os.environ.get("AGENTKIT_SIZE", "1"))
on_postgres = pytest.param("postgres", marks=pytest.mark.slow)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.remove()


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A journal in a file, or on PostgreSQL."""
    if request.param == "file":
        yield str(tmp_path / "runs.db")
        return
    with request.getfixturevalue("server").journal() as url:
        yield url


both = pytest.mark.parametrize("place", [pytest.param("file", marks=pytest.mark.slow), on_postgres], indirect=True)


def until(check: Callable[[], Any], seconds: float = 60) -> Any:
    end = time.monotonic() + seconds
    while not (value := check()):
        assert time.monotonic() < end, "it did not become true"
        time.sleep(0.02)
    return value


def followed(run: Run) -> Followed:
    assert run.followed is not None
    return run.followed


def warnings_of(run: Run) -> list[str]:
    return [event.data["text"] for event in run.events() if event.kind == "warning"]


@tool(effect="pure")
def look(city: str = "") -> str:
    """Look."""
    return f"rain in {city}"


CALL = Reply("I look", (Call("look", {"city": "Oslo"}, "c"),))


def scripted(*replies: Any, journal: Any) -> Agent:
    return Agent(Scripted([*replies], abilities=Abilities(tools=True)), [look], journal=journal)


# -- two processes -----------------------------------------------------------------------------------------------------


@both
def test_a_run_of_another_process_is_followed_told_paused_and_stopped(place: str) -> None:
    with driven_elsewhere(place) as other:
        run = agentkit.look(other.id, journal=place)
        first = run.entries
        assert str(other.pid) in followed(run).holder and f"process {other.pid}" in run.read_only
        until(lambda: followed(run).catch_up() and len(run) > len(first) + 3)
        assert all(now is before for now, before in zip(run.entries, first, strict=False))
        receipt = run.inject("Look in the attic.")
        assert "was asked to send a message to the model" in run.read_only and not receipt.seen
        until(lambda: followed(run).catch_up() and receipt.seen)
        assert f"{me()} asked this run to send a message to the model: Look in the attic." in warnings_of(run)
        assert run.pause() is run and "was asked to pause" in run.read_only and "was asked to pause" in repr(run)
        until(lambda: followed(run).catch_up() and run.saved_status == "paused")
        assert not followed(run).asked and "was asked" not in run.read_only
        assert other.tell("run.play()") == "running"
        run.stop("It costs too much.")
        until(lambda: followed(run).catch_up() and run.saved_status == "stopped")
        assert f"{me()} asked this run to stop: It costs too much." in warnings_of(run)
        with pytest.raises(JournalInUse):
            Agent(journal=place).resume(other.id)
        assert repr(run) == repr(agentkit.look(other.id, journal=place))


@both
def test_a_wish_dies_with_the_process_that_it_was_made_to(place: str) -> None:
    """The holder is stopped before it can read the wishes, and killed."""
    with driven_elsewhere(place) as other:
        assert other.tell("run.pause().wait()") == "paused"  # so that it is not stopped in the middle of a write
        run = agentkit.look(other.id, journal=place)
        other.process.send_signal(signal.SIGSTOP)
        for _ in range(3):
            run.stop("too late")
            run.inject("too late")
        other.process.send_signal(signal.SIGKILL)
        other.process.wait()
        agent = Agent(lambda request: "The end.", [look], journal=place, engine=Loop("react"))
        resumed = until(lambda: _resumed(agent, other.id))
        assert resumed.drive().answer == "The end."
        time.sleep(1.5)  # longer than wishes are looked for
        resumed.wait()
        assert not [row for row in resumed.rows() if "too late" in str(row)]
        resumed.close()
        followed(run).catch_up()
        assert not followed(run).asked and run.answer == "The end."
        with pytest.raises(Ended):
            run.inject("hello")
        with pytest.raises(UsageError, match="no process holds run"):
            run.pause()


def _resumed(agent: Agent, id: str) -> Run | None:
    try:
        return agent.resume(id)
    except JournalInUse:
        return None


HOLDER = """
import sys
from agentkit import Agent
from agentkit.errors import JournalInUse
agent = Agent("echo", journal=sys.argv[1])
while True:
    try:
        run = agent.resume("r") if sys.argv[2] != "0" else agent.start("go", paused=True, name="r")
        break
    except JournalInUse:  # the process before has just been killed
        pass
print("held", flush=True)
sys.stdin.read()
"""


@both
@pytest.mark.timeout(0)
def test_wishes_to_processes_that_are_killed_are_obeyed_by_these_processes_or_by_nobody(place: str) -> None:
    """Kill the holder while a thread asks it all the time, and let another process go on, in each of many rounds."""
    dice, rounds = random.Random(18), 6 * SIZE
    current, asked, is_over = [0], [0], threading.Event()
    journal: Any = open_journal(place)

    def ask() -> None:
        for number in itertools.count():
            if is_over.is_set():
                return
            asked[0] = current[0]
            with contextlib.suppress(Unknown, UsageError):  # nobody holds the run at the moment
                journal.wish(Wish("r", "inject", f"{asked[0]} {number}", "Ada"))

    held_by: dict[int, set[int]] = {}
    asking = threading.Thread(target=ask)
    for number in range(rounds):
        command = [sys.executable, "-c", HOLDER, place, str(number)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None and process.stdout.readline() == "held\n"
            before = len(journal.rows("r"))
            current[0] = number
            if not number:
                asking.start()
            time.sleep(dice.uniform(0.2, 2.0))
            current[0] = -1 - number  # what is asked from now on may reach this process or the next one
            until(lambda: asked[0] == current[0])
            process.kill()
            process.wait()
        rows = journal.rows("r")[before:]
        told = [row.data["text"] for row in rows if isinstance(row, Note) and row.kind == "inject"]
        assert len(set(told)) == len(told)
        held_by[number] = {int(text.split()[0]) for text in told}
    is_over.set()
    asking.join()
    for number, rounds_told in held_by.items():
        assert rounds_told <= {number, -1 - number, -number}, held_by
    assert any(held_by.values())
    if "://" not in place:
        journal.close()


WISHER = """
import sys
from agentkit.journal import Wish, open_journal
journal = open_journal(sys.argv[1])
for number in range(int(sys.argv[4])):
    journal.wish(Wish(sys.argv[2], "inject", f"{sys.argv[3]} {number}", sys.argv[3]))
journal.close()
"""


@both
def test_a_thousand_wishes_of_four_processes_are_each_recorded_once_and_in_order(place: str) -> None:
    count = 250 * SIZE
    run = scripted("over", journal=place).start("go", paused=True)
    command = [sys.executable, "-c", WISHER, place, run.id]
    others = [subprocess.Popen([*command, name, str(count)]) for name in "ABCD"]
    assert [other.wait(300) for other in others] == [0] * 4
    until(lambda: len(run.trace.injections.notes) == 4 * count, 300)
    told = [note.data["text"].split() for note in run.rows() if isinstance(note, Note) and note.kind == "inject"]
    for name in "ABCD":
        assert [int(number) for who, number in told if who == name] == list(range(count))
    assert run.drive().answer == "over" and len(run.trace.injections.heard) == 4 * count
    run.close()


# -- in one process: two objects of a file stand for two processes -----------------------------------------------------


@pytest.mark.slow
def test_a_run_that_is_followed_is_the_same_as_one_that_is_looked_at_anew(tmp_path: Path) -> None:
    """Do anything to a run while it is followed: steps, edits, moves, forks, messages, in any order."""
    dice, path = random.Random(18), str(tmp_path / "runs.db")
    for _ in range(3 * SIZE):
        run = scripted(*[CALL, CALL, "over"] * 40, journal=path).start("go", paused=True)
        seen = agentkit.look(run.id, journal=path)
        forks = [run]
        for number in range(25):
            _do_something(dice, run, forks, number)
            if dice.random() < 0.6:
                followed(seen).catch_up()
                _assert_same(seen, agentkit.look(run.id, journal=path))
        for each in forks:
            each.close()
        followed(seen).catch_up()
        _assert_same(seen, agentkit.look(run.id, journal=path))


def _do_something(dice: random.Random, run: Run, forks: list[Run], number: int) -> None:
    verbs: list[Callable[[], Any]] = [
        lambda: next(run, None),
        lambda: next(run, None),
        lambda: next(run, None),
        lambda: run.edit(dice.randrange(1, len(run)), text=f"edited {number}"),
        run.undo,
        run.redo,
        lambda: run.rewind(dice.randrange(len(run))),
        lambda: run.inject(f"message {number}"),
        lambda: forks.append(run.fork(dice.randrange(len(run)))),
        lambda: next(dice.choice(forks), None),
        run.drive,
    ]
    try:
        dice.choice(verbs)()
    except (agentkit.errors.AgentkitError, ValueError, IndexError):  # it is not possible now
        pass


def _assert_same(seen: Run, anew: Run) -> None:
    def facts(run: Run) -> list[Any]:
        ledger = [(past.run, past.begun.id, past.outcome) for past in run.trace.tree.ledger.calls]
        spent = run.state.spent
        return [
            repr(run),
            repr(run.branches()),
            run.usage,
            (spent.model_calls, spent.tool_calls, dict(spent.lost), spent.losses),
            ledger,
            [note.data for note in run.trace.injections.notes.values()],
            run.trace.injections.heard,
            run.hold,
            [event.to_dict() for event in run.events()],
            run.to_json(),
        ]

    for now, then in zip(facts(seen), facts(anew), strict=True):
        assert now == then


def test_hostile_authors_and_messages_are_text_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    run = scripted("over", journal=str(path)).start("go", paused=True)
    other = SqliteJournal(path)
    told = [text for text in texts() if text.strip()]
    for text in told:
        other.wish(Wish(run.id, "inject", text, text))
    until(lambda: len(run.trace.injections.notes) == len(told))
    for text in warnings_of(run):
        author = text.partition(" asked this run to ")[0]
        assert len(author) <= 1000 and author == for_terminal(author)
    assert run.status == "paused" and run.drive().answer == "over"
    run.close()
    other.close()


def test_a_run_that_nobody_holds_or_that_is_only_in_memory_cannot_be_asked(tmp_path: Path) -> None:
    path = str(tmp_path / "runs.db")
    run = scripted(CALL, "over", journal=path).start("go", paused=True)
    seen = agentkit.look(run.id, journal=path)
    with pytest.raises(UsageError, match="lane"):
        seen.inject("hello", to="x")
    with pytest.raises(UsageError, match="needs some text"):
        seen.inject(" ")
    run.close()
    for ask in (seen.pause, seen.stop, lambda: seen.inject("hello")):
        with pytest.raises(UsageError, match=r"no process holds run .* resume it here"):
            ask()
    assert not followed(seen).asked
    open_journal(path).delete(run.id)  # type: ignore[union-attr]
    with pytest.raises(Unknown):
        seen.pause()
    with pytest.raises(Unknown):
        followed(seen).catch_up()
    in_memory = scripted(CALL, "over", journal="memory").start("go", paused=True)
    seen = agentkit.look(in_memory.id, journal="memory")
    next(in_memory)
    assert followed(seen).catch_up() and len(seen) == 2
    with pytest.raises(ReadOnly, match="opened to look at"):
        seen.pause()


def test_a_new_run_with_the_name_of_a_deleted_one_is_not_taken_for_it(tmp_path: Path) -> None:
    path = str(tmp_path / "runs.db")
    scripted("over", journal=path).start("go", paused=True, name="r").close()
    seen = agentkit.look("r", journal=path)
    open_journal(path).delete("r")  # type: ignore[union-attr]
    again = scripted("over", journal=path).start("stay", paused=True, name="r")
    again.drive()
    for _ in range(2):
        with pytest.raises(Unknown):
            followed(seen).catch_up()
    assert followed(seen).has_ended and len(seen) == 1 and agentkit.look("r", journal=path).answer == "over"
    again.close()


def test_a_run_can_be_asked_through_another_object_of_its_own_process(tmp_path: Path) -> None:
    path = str(tmp_path / "runs.db")
    run = scripted(CALL, CALL, "over", journal=path).start("go", paused=True)
    agentkit.look(run.id, journal=path).inject("hello")
    until(lambda: run.trace.injections.notes)
    agentkit.look(run.id, journal=path).stop()
    until(lambda: agentkit.runs(path)[0].status == "stopped")
    run.close()


def test_a_paused_run_that_was_asked_to_stop_is_said_to_be_asked_until_it_has_stopped(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "runs.db")
    run = scripted("over", journal=journal).start("go", paused=True)
    run.fulfils = None  # nobody listens yet
    seen = agentkit.look(run.id, journal=str(journal.path))
    seen.stop("It costs too much.")
    followed(seen).catch_up()
    assert "was asked to stop" in seen.read_only and run.status == "paused"
    obey(run, journal)
    until(lambda: followed(seen).catch_up() and run.status == "stopped")
    until(lambda: not (followed(seen).catch_up() or followed(seen).asked))
    assert "was asked" not in seen.read_only
    run.close()


def test_a_wish_that_comes_true_at_once_is_not_said_to_be_asked_for_ever(tmp_path: Path) -> None:
    path = str(tmp_path / "runs.db")
    run = scripted("over", journal=path).start("go", paused=True)
    seen = agentkit.look(run.id, journal=path)
    in_file: Any = open_journal(path)

    class Slow:
        """A journal in which a wish is read, obeyed and seen before `wish` returns."""

        def wish(self, wish: Wish) -> None:
            in_file.wish(wish)
            until(lambda: any(isinstance(row, Note) and row.kind == "inject" for row in in_file.rows(run.id)))
            followed(seen).catch_up()

    info, after = followed(seen).info, followed(seen).info.rows
    seen.followed = Followed(seen, info, in_file, after, lambda rows, infos: None, Slow)
    seen.inject("hello")
    assert not followed(seen).asked
    run.close()


def test_a_wish_for_a_run_that_is_being_resumed_waits_for_it_and_not_for_the_closed_object(tmp_path: Path) -> None:
    mine, other = SqliteJournal(tmp_path / "runs.db"), SqliteJournal(tmp_path / "runs.db")
    busy = scripted("over", journal=mine).start("go", paused=True)  # keeps the thread that looks alive
    closed = scripted("over", journal=mine).start("go", paused=True)
    closed.close()
    mine.claim(closed.id)  # as resume() does first; reading a long run takes a while
    other.wish(Wish(closed.id, "inject", "hello", "Ada"))
    other.wish(Wish(busy.id, "inject", "hello", "Ada"))
    until(lambda: busy.trace.injections.notes)
    heard: list[Wish] = []
    mine.on_wish(closed.id, listener := heard.append)
    until(lambda: heard)
    assert callable(listener) and [wish.text for wish in heard] == ["hello"]
    busy.close()
    mine.close()
    other.close()


@pytest.mark.slow
def test_a_message_that_comes_while_a_run_is_resumed_is_told_to_it(tmp_path: Path) -> None:
    """The journal is asked for wishes while the engine is brought back to where it was."""
    mine, other = SqliteJournal(tmp_path / "runs.db"), SqliteJournal(tmp_path / "runs.db")
    waiting = [True]

    def slow(task: Any, tools: Any) -> Any:
        if not waiting[0]:
            waiting[0] = True
            other.wish(Wish("r", "inject", "hello", "Ada"))
            time.sleep(1)  # longer than wishes are looked for
        reply = yield Think(task)
        return Answer(reply.text, task)

    agent = Agent(Scripted(["over"]), engine=slow, journal=mine)
    run = agent.start("go", paused=True, name="r")
    run.close()
    waiting[0] = False
    again = agent.resume("r")
    until(lambda: again.trace.injections.notes, 10)
    assert [note.data["text"] for note in again.rows() if isinstance(note, Note) and note.kind == "inject"] == ["hello"]
    assert again.drive().answer == "over"
    again.close()
    mine.close()
    other.close()


def test_the_thread_that_looks_for_wishes_is_there_only_while_a_run_is_held(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    mine = SqliteJournal(path)

    def threads() -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread is mine._looking._thread]

    run = scripted(CALL, "over", journal=mine).start("go", paused=True)
    assert len(threads()) == 1
    run.close()
    until(lambda: not threads())
    again = scripted("over", journal=mine).resume(run.id)
    assert len(threads()) == 1
    other = SqliteJournal(path)
    other.wish(Wish(run.id, "inject", "hello", "Ada"))
    until(lambda: again.trace.injections.notes)
    again.close()
    mine.close()
    other.close()
    until(lambda: not threads())


def test_a_file_of_an_older_version_gets_the_new_tables_and_keeps_its_runs(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    run = scripted(CALL, "over", journal=str(path)).start("go", paused=True)
    run.close()
    open_journal(str(path)).close()  # type: ignore[union-attr]
    with sqlite3.connect(path) as db:
        db.executescript("DROP TABLE wishes; DROP TABLE rate_limits")
    assert [info.run for info in agentkit.runs(str(path))] == [run.id]
    again = scripted("over", journal=str(path)).resume(run.id)
    agentkit.look(run.id, journal=str(path)).inject("hello")
    until(lambda: again.trace.injections.notes)
    with contextlib.closing(SqliteJournal(path)) as journal:
        assert journal.take_turn("calls", 1.0) == 0
    again.close()


def test_a_row_that_somebody_has_changed_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    run = scripted(CALL, "over", journal=str(path)).start("go", paused=True)
    seen = agentkit.look(run.id, journal=str(path))
    next(run)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE rows SET body = replace(body, 'I look', 'I lie') WHERE body LIKE '%I look%'")
    for _ in range(2):
        with pytest.raises(agentkit.errors.JournalDamaged):
            followed(seen).catch_up()
    assert len(seen) == 1 and "it is not followed any more" in seen.read_only
    run.control.lease.drop()


@pytest.mark.slow
def test_a_file_that_another_program_locks_delays_a_wish_and_loses_none(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    run = scripted(CALL, "over", journal=str(path)).start("go", paused=True)
    other = SqliteJournal(path, timeout=0.2)
    other.wish(Wish(run.id, "inject", "first", "Ada"))
    lock = sqlite3.connect(path, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    with pytest.raises(agentkit.errors.JournalError, match="locked"):
        other.wish(Wish(run.id, "inject", "not sent", "Ada"))
    time.sleep(6)  # longer than the holder waits
    lock.execute("ROLLBACK")
    lock.close()
    other.wish(Wish(run.id, "inject", "second", "Ada"))
    until(lambda: len(run.trace.injections.notes) == 2)
    assert [note.data["text"] for note in run.trace.injections.notes.values()] == ["first", "second"]
    run.close()
    other.close()


@pytest.mark.slow
def test_a_server_that_goes_and_comes_back_goes_on_with_wishes_and_followers(server: Server) -> None:
    with server.journal() as url:
        run = scripted(CALL, CALL, "over", journal=url).start("go", paused=True)
        seen = agentkit.look(run.id, journal=url)
        followed(seen).watch()
        next(run)
        until(lambda: len(seen) == 2)
        server.stop("immediate")
        time.sleep(1)
        server.start()
        until(lambda: _asked(seen))
        until(lambda: run.trace.injections.notes)
        next(run)
        until(lambda: len(seen) == 3 and not followed(seen).asked)
        followed(seen).leave()
        run.close()


def _asked(seen: Run) -> bool:
    try:
        seen.inject("hello")
    except (agentkit.errors.JournalError, UsageError):  # the holder has to connect again, too
        return False
    return True


@pytest.mark.slow
def test_a_holder_that_slept_takes_no_wishes_of_the_process_that_took_over(server: Server) -> None:
    """Its lease is over on the server, but it does not know that yet: it has not written since."""
    url = server.url(server.emptied())
    asleep, holder, other = (PostgresJournal(url) for _ in range(3))
    told: dict[str, list[str]] = {"asleep": [], "holder": []}
    hear = [lambda wish, name=name: told[name].append(wish.text) for name in told]
    asleep.create(RunInfo("r", "r", "a task", "react", "a model", "running", 0, 0.0, 0.0))
    asleep.on_wish("r", hear[0])
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE agentkit.runs SET until = clock_timestamp() - interval '1 second'")
        holder.claim("r")
    holder.on_wish("r", hear[1])
    for number in range(20):
        other.wish(Wish("r", "pause", str(number), "Ada"))
        time.sleep(0.05)
    until(lambda: len(told["holder"]) == 20, 10)
    assert told == {"asleep": [], "holder": [str(number) for number in range(20)]}
    for journal in (asleep, holder, other):
        journal.close()
