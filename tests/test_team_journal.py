"""Runs in a PostgreSQL database: started, listed, continued, replayed and exported as those in a file."""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from postgres_server import Server

import agentkit
from agentkit import Agent, Call, Loop, Reply, Run, experiment, tool
from agentkit.errors import Unknown, UsageError
from agentkit.journal import Note, Wish, backup, open_journal
from agentkit.journal.postgres.journal import PostgresJournal
from agentkit.journal.postgres.schema import VERSION
from agentkit.models import Scripted
from agentkit.models.base import Abilities, Request

pytestmark = pytest.mark.slow
SIZE = int(os.environ.get("AGENTKIT_SIZE", "4"))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.remove()


@pytest.fixture
def url(server: Server) -> Iterator[str]:
    with server.journal() as url:
        yield url


@tool(effect="irreversible")
def pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"


def payer() -> Scripted:
    script = [Reply("I pay.", (Call("pay", {"amount": 50}),)), "Paid.", "All paid."]
    return Scripted(script, abilities=Abilities(tools=True))


def test_a_run_is_listed_looked_at_continued_exported_and_loaded(url: str, tmp_path: Path) -> None:
    agent = Agent(payer(), [pay], journal=url)
    run = agent.start("Pay the bill.", paused=True)
    next(run)
    assert [(info.run, info.status) for info in agentkit.runs(url)] == [(run.id, "paused")]
    seen = Agent(journal=url).look(run.id)
    assert len(seen.entries) == len(run.entries)
    run.close()
    again = agent.resume(run.id)
    again.drive()
    assert again.answer == "Paid."
    again.rewind(1)
    again.drive()
    assert again.status == "waiting" and again.reuse().result.text == "paid 50"  # the ledger is in the database
    again.drive()
    loaded = Agent(payer(), [pay], journal=url).load(again.to_json())
    assert [entry.kind for entry in loaded.entries] == [entry.kind for entry in again.entries]
    fork = Agent(payer(), [pay], journal=url).fork(again.id, 1)
    assert {info.run for info in agentkit.runs(url)} == {run.id, loaded.id, fork.id}
    for each in (again, loaded, fork):
        each.close()


def test_the_commands_of_the_terminal_use_the_journal_that_is_named(url: str, server: Server) -> None:
    def agentkit_(*arguments: str) -> str:
        environment = {**os.environ, "AGENTKIT_JOURNAL": url}
        command = [sys.executable, "-m", "agentkit", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0 and server.password not in done.stdout + done.stderr, done.stderr
        return done.stdout

    assert agentkit_("migrate") == f"version {VERSION}, before none\n"
    assert agentkit_("migrate") == f"version {VERSION}\n"
    assert "51" in agentkit_("run", "What is 3 * 17?", "-m", "offline")
    (run,) = json.loads(agentkit_("runs", "--json"))
    assert "51" in agentkit_("replay", run["run"][:6])
    assert "51" in agentkit_("export", run["run"], "--to", "markdown")
    assert "intact" in agentkit_("verify")
    agentkit_("delete", run["run"])
    assert json.loads(agentkit_("runs", "--json")) == []
    with pytest.raises(UsageError, match="pg_dump"):
        backup("copy.db", url)


def test_a_run_of_another_process_is_paused_told_and_stopped_by_a_colleague(url: str) -> None:
    """Two journal objects stand for two processes."""
    asked = threading.Semaphore(0)
    going_on = threading.Event()

    def think(request: Request) -> str:
        asked.release()
        assert going_on.wait(60)
        return "Thought: I go on.\nAction: look\nAction Input: {}"

    @tool(effect="pure")
    def look() -> str:
        """Look."""
        return "nothing"

    agent = Agent(think, [look], journal=url, engine=Loop("react", max_iterations=1000))
    colleague = PostgresJournal(url)
    run = agent.start("Look for it.")
    assert asked.acquire(timeout=60)
    with pytest.raises(Unknown, match="wish"):
        colleague.wish(Wish(run.id, "dance", "", "Ada"))
    with pytest.raises(UsageError, match="author"):
        colleague.wish(Wish(run.id, "pause", "", ""))
    colleague.wish(Wish(run.id, "inject", "Look in the attic.", "Ada"))
    wait_until(lambda: "Ada asked this run to send a message to the model: Look in the attic." in warnings_of(run))
    colleague.wish(Wish(run.id, "pause", "lunch", "Bob"))
    wait_until(lambda: "Bob asked this run to pause: lunch" in warnings_of(run))
    going_on.set()
    wait_until(lambda: run.status == "paused")
    assert "Look in the attic." in str([row.data for row in run.rows() if isinstance(row, Note)])
    run.play()
    colleague.wish(Wish(run.id, "stop", "", "Ada"))
    wait_until(lambda: run.status != "running")
    assert "Ada asked this run to stop" in warnings_of(run)
    run.close()
    with pytest.raises(UsageError, match=r"no process holds run .* resume it here"):
        colleague.wish(Wish(run.id, "pause", "", "Ada"))
    with pytest.raises(Unknown):
        colleague.wish(Wish("nobody", "pause", "", "Ada"))
    colleague.close()


def warnings_of(run: Run) -> str:
    return str([event.data["text"] for event in run.events() if event.kind == "warning"])


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_an_agent_shows_no_password(url: str, server: Server) -> None:
    agent = Agent("offline", journal=url)
    shown = [repr(agent), agent._repr_html_(), agent._repr_markdown_(), repr(agent.journal), repr(agent.memory)]
    result = agent.run("What is 3 * 17?")
    shown += [
        repr(result),
        json.dumps(result.run.to_json()),
        str(result.run.rows()),
        json.dumps(result.run.to_notebook()),
    ]
    assert not [text for text in shown if server.password in text]
    result.run.close()


def test_an_agent_travels_without_the_password_and_opens_the_journal_once(
    url: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent("offline", ["math"], journal=f"{url}?sslmode=prefer")
    sent = pickle.dumps(agent)
    assert server.password.encode() not in sent
    monkeypatch.setenv("PGPASSWORD", server.password)
    one, other = pickle.loads(sent), pickle.loads(sent)  # noqa: S301  # it was made here
    assert one.journal is other.journal and one.journal.connections.parameters["sslmode"] == "prefer"
    assert "51" in one.run("What is 3 * 17?").answer
    assert len(agentkit.runs(url)) == 1
    for each in (agent, one):
        each.journal.close()


def test_an_experiment_is_answered_from_the_database_when_it_is_run_again(url: str) -> None:
    calls = list[str]()

    def count(request: Request) -> str:
        calls.append("")
        return "51"

    cases = [{"id": str(n), "task": f"What is {n} * 17?", "expected": "51"} for n in range(20)]
    agent = Agent(count, journal=url)

    def try_all() -> Any:
        return experiment(cases, {"one": agent}, score=lambda result, case: result.answer == case["expected"], on=4)

    first = try_all().wait()
    assert len(calls) == 20
    begun = time.monotonic()
    again = try_all().wait()
    assert len(calls) == 20 and len(agentkit.runs(url)) == 20
    print(f"20 finished runs read again in {time.monotonic() - begun:.2f} s")
    assert str(again).splitlines()[1:3] == str(first).splitlines()[1:3]


def test_the_roles_of_the_page_are_enough_and_may_do_no_more(server: Server) -> None:
    page = (Path(__file__).parents[1] / "docs/team-journal.md").read_text()
    roles = page.partition("```sql\n")[2].partition("```")[0]
    url = server.url(server.emptied())
    agentkit.journal.migrate(url)
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(roles.encode())
        for role in ("agentkit_reader", "agentkit_writer"):
            owner.execute(f"CREATE ROLE {role}_1 LOGIN PASSWORD '{role}-pw' IN ROLE {role}".encode())
    writer = server.url(url.rpartition("/")[2], "agentkit_writer_1", password="agentkit_writer-pw")
    reader = server.url(url.rpartition("/")[2], "agentkit_reader_1", password="agentkit_reader-pw")
    agent = Agent("offline", journal=writer)
    run = agent.run("What is 3 * 17?", session="s", user="Ada").run
    run.close()
    journal: Any = agent.journal
    with pytest.raises(agentkit.errors.JournalError, match="this role may not do that"):
        journal.delete(run.id)
    with psycopg.connect(writer, autocommit=True) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("UPDATE agentkit.rows SET body = ''")
    assert Agent("offline", journal=reader).look(run.id).answer == run.answer
    with psycopg.connect(reader, autocommit=True) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("UPDATE agentkit.runs SET status = ''")
    with pytest.raises(agentkit.errors.JournalError, match="this role may not do that"):
        Agent("offline", journal=reader).run("What is 3 * 17?")
    for each, read_only in ((writer, False), (reader, False), (reader, True)):
        opened: Any = open_journal(each, read_only=read_only)
        opened.close()
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("DROP OWNED BY agentkit_reader, agentkit_writer")
        owner.execute("DROP ROLE agentkit_reader_1, agentkit_writer_1, agentkit_reader, agentkit_writer")


@pytest.mark.timeout(0)
def test_clients_that_are_killed_and_a_server_that_crashes_double_no_payment(server: Server, tmp_path: Path) -> None:
    """Kill each client once or twice, crash the server in each third round, and let another process go on.

    `AGENTKIT_SIZE` is the number of rounds.
    """
    url, dice, script = server.url(server.emptied()), random.Random(18), Path(__file__).with_name("team_payments.py")
    agentkit.journal.migrate(url)
    kills = asked = 0
    for number in range(SIZE):
        paid, names = tmp_path / f"paid-{number}", list[str]()
        for is_last in (False, dice.random() < 0.5, True):
            command = [sys.executable, str(script), url, str(paid), str(100 * number), *names]
            with (tmp_path / "errors").open("w") as errors:
                process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
            assert process.stdout is not None
            names = [process.stdout.readline().strip()]
            assert names[0], (tmp_path / "errors").read_text()
            if is_last:
                out = process.stdout.read()
                assert process.wait() == 0, (tmp_path / "errors").read_text()
                asked += int(out)
                process.stdout.close()
                break
            time.sleep(dice.uniform(0.0, 0.6))
            if number % 3 == 0:
                server.stop("immediate")
                server.start()
                time.sleep(dice.uniform(0.0, 0.3))
            process.kill()
            kills += not process.stdout.read()
            process.wait()
            process.stdout.close()
        lines = paid.read_text().split()
        assert sorted(lines) == sorted(str(100 * number + n) for n in range(8)), number
    print(f"{kills} clients killed, {asked} calls that may have run were asked about")
    states = [verdict.state for verdict in agentkit.journal.verify(journal=url)]
    assert states == ["intact"] * SIZE
