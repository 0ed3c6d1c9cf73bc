"""The view of a run over a real websocket: what it is sent, what it may do, and what happens when the line breaks."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from elsewhere import driven_elsewhere
from websockets.asyncio.client import connect as connect_async
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from agentkit import Agent, Call, Reply, Run, tool
from agentkit.journal import open_journal
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted
from agentkit.run.followed import me
from agentkit.serve import Server, serve
from agentkit.serve.page import (
    GONE,
    LINGER,
    MAX_CHARACTERS,
    MAX_MESSAGES,
    MAX_SOCKETS,
    TRY_LATER,
    WATCHED,
    Outbox,
    TooSlow,
    WebPage,
)
from agentkit.view import dispatcher

TIMEOUT = 60.0
TOKEN, WATCH = "a-token-that-lets-in", "a-token-for-watching"


@tool
def order(item: str) -> str:
    """Order an item."""
    return f"ordered {item}"


def agent(*replies: Any, **options: Any) -> Agent:
    script = replies or (Reply("I order tea.", (Call("order", {"item": "tea"}, "1"),)), "Done.")
    options = {"journal": "memory", "approve": ["order"], **options}
    return Agent(Scripted(list(script), abilities=Abilities(tools=True)), [order], **options)


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(agent(), token=TOKEN, watch_token=WATCH) as server:
        yield server


class Browser:
    """The other end of a socket: it notes what arrives, and sends commands."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.messages: list[Any] = []
        self.head: Any = {}
        self.cards: list[Any] = []
        self._cids = itertools.count()

    def send(self, message: Any) -> None:
        self.socket.send(json.dumps(message))

    def hello(self) -> Any:
        """Ask for the whole state, and return it."""
        self.send({"t": "hello", "v": 1, "have": 0, "can": {}})
        return self.until(lambda message: message["t"] == "reset")

    def execute(self, cmd: str, **arguments: Any) -> Any:
        """Send a command, and return its answer."""
        cid = f"x-{next(self._cids)}"
        self.send({"t": "cmd", "v": 1, "cid": cid, "cmd": cmd, **arguments})
        return self.until(lambda message: message["t"] in ("ack", "nak") and message["cid"] == cid)

    def read(self) -> Any:
        """Read a frame, note what it says, and return it."""
        frame = json.loads(self.socket.recv(TIMEOUT))
        if (message := frame.get("custom")) is not None:
            self.messages.append(message)
            for event in [message, *message.get("ev", ())]:
                self.head = event.get("head", self.head)
                self.cards = [*([] if event.get("t") == "reset" else self.cards), *event.get("cards", ())]
        return frame

    def until(self, condition: Callable[[Any], bool]) -> Any:
        """Read until a message fulfils a condition, and return it."""
        while True:
            message = self.read().get("custom")
            if message is not None and condition(message):
                return message

    def until_status(self, status: str) -> None:
        while self.head.get("status") != status:
            self.until(lambda _: True)


@contextmanager
def browser(server: Server, run: Run | str, token: str = TOKEN) -> Iterator[Browser]:
    id = run if isinstance(run, str) else run.id
    url = f"{server.url.replace('http', 'ws')}/runs/{id}/socket?token={token}"
    with connect(url, max_size=None) as socket:
        yield Browser(socket)


def get(server: Server, path: str, token: str = TOKEN, method: str = "GET", body: bytes = b"{}") -> tuple[int, str]:
    """Return the status and the text of an answer."""
    request = urllib.request.Request(
        server.url + path,
        method=method,
        headers={"Authorization": f"Bearer {token}", "Origin": server.url},
        data=body if method == "POST" else None,
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def eventually(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


# -- driving -----------------------------------------------------------------------------------------------------------


def test_a_run_is_driven_over_a_socket(server: Server) -> None:
    run = server.hub.start("Tea, please.", paused=True)
    with browser(server, run) as there:
        assert there.hello()["head"]["task"] == "Tea, please."
        assert there.execute("play")["t"] == "ack"
        there.until_status("waiting")
        assert there.execute("approve", which=there.head["pending"][0]["which"])["t"] == "ack"
        there.execute("play")
        there.until_status("done")
        if len(there.cards) < 5:  # the state may be newer than the cards before it
            there.until(lambda _: len(there.cards) == 5)
        assert [card["kind"] for card in there.cards] == ["begin", "think", "act", "think", "conclude"]
    assert run.answer == "Done."


def test_what_python_does_is_shown_at_once_and_traits_say_what_was_sent_last(server: Server) -> None:
    run = server.hub.start("Tea, please.", paused=True)
    with browser(server, run) as there:
        there.hello()
        next(run)
        there.until(lambda message: any(event["k"] == "line" for event in message.get("ev", ())))
        while (traits := there.read().get("traits")) is None or traits["status"] != "paused":
            pass  # the card may be sent while the step still ends, and the new status after it
        assert traits["seq"] == there.messages[-1]["seq"]


def test_two_browsers_and_python_see_the_same_run(server: Server) -> None:
    run = server.hub.start("Tea, please.", paused=True)
    with browser(server, run) as one, browser(server, run) as two:
        one.hello(), two.hello()
        one.execute("step")
        two.until(lambda _: any(card["kind"] == "think" for card in two.cards))
        run.inject("And milk.")
        for each in (one, two):
            each.until(lambda _, each=each: each.head["injections"] != [])
            assert each.head["injections"][0]["text"] == "And milk."


def test_a_fork_is_shown_by_the_server_too(server: Server) -> None:
    run = server.hub.start("Tea, please.", paused=True)
    next(run)
    with browser(server, run) as there:
        there.hello()
        fork = there.execute("fork", entry=run.entries[1].id)["result"]["run"]
    with browser(server, fork) as there:
        assert there.hello()["head"]["forked"] == {"run": run.id, "n": 1}


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_a_page_evaluates_no_python_and_writes_no_files_here(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = server.hub.start("Tea, please.", paused=True)
    with browser(server, run) as there:
        assert there.hello()["head"]["refused"] == ["notebook", "python", "settings"]
        attack = f"open({str(tmp_path / 'x')!r}, 'w')"
        for answer in (
            there.execute("break", kind="when", value=attack),
            there.execute("export", format="cells"),
            there.execute("freeze"),
            there.execute("approve", which="", remember="always"),
            there.execute("reject", which="", remember="always"),
        ):
            assert (answer["t"], answer["type"]) == ("nak", "UsageError")
        assert there.execute("export", format="markdown")["result"]["text"].startswith("#")
    assert list(tmp_path.iterdir()) == [] and not run.state.breakpoints


def test_who_may_only_watch_sees_the_run_but_not_the_engine(server: Server) -> None:
    run = server.hub.start("Tea, please.", paused=True)
    next(run)
    with browser(server, run, WATCH) as there:
        reset = there.hello()
        assert reset["head"]["refused"] == ["change", "inside", "notebook", "python", "settings"]
        assert reset["head"]["where"] == [] and "order" in json.dumps(reset["cards"])
        assert there.execute("request", entry=run.entries[1].id)["t"] == "ack"
        assert there.execute("branches")["t"] == "ack"


@pytest.mark.parametrize("name", sorted(set(dispatcher._COMMANDS) - WATCHED))
def test_who_may_only_watch_can_do_nothing_else(server: Server, name: str) -> None:
    run = server.hub.start("Tea, please.", paused=True)
    next(run)
    rows = len(run.rows())
    with browser(server, run, WATCH) as there:
        there.hello()
        answer = there.execute(name, entry=run.entries[1].id, text="x", file="", format="json", seconds=1)
        assert (answer["t"], answer["error"]) == ("nak", "this token is for watching only")
    assert len(run.rows()) == rows


def test_every_command_that_may_be_watched_exists() -> None:
    assert set(dispatcher._COMMANDS) >= WATCHED


@pytest.mark.parametrize("token", [TOKEN, WATCH])
def test_messages_that_are_not_commands_change_nothing(server: Server, token: str) -> None:
    run = server.hub.start("Tea, please.", paused=True)
    with browser(server, run, token) as there:
        for text in ("", "null", "[]", "{", '"x"', "[" * 100_000, '{"t": "cmd"}', '{"t": 7}', '{"t": "module"}'):
            there.socket.send(text)
        for text in ('{"t": "cmd", "cmd": ["play"]}', '{"t": "cmd", "cmd": {"play": 1}}', b"\x00\xff", b'{"t": "cmd"}'):
            there.socket.send(text)
        assert there.hello()["head"]["status"] == "paused"
    assert len(run) == 1


def test_a_browser_that_asks_for_many_answers_again_is_not_sent_more_than_others_can_take(server: Server) -> None:
    run = server.hub.start("Tea, please.", paused=True)
    with browser(server, run, WATCH) as one, browser(server, run, WATCH) as other:
        other.hello()
        one.send({"t": "hello", "v": 1, "have": 0, "can": {}, "unanswered": [str(n) for n in range(MAX_MESSAGES + 50)]})
        one.until(lambda message: message.get("cid") == str(MAX_MESSAGES + 49))
        assert other.execute("branches")["t"] == "ack"


def test_a_damaged_run_is_said_to_be_damaged(tmp_path: Path) -> None:
    path = str(tmp_path / "runs.db")
    first = agent(journal=path).start("Tea, please.", paused=True)
    next(first)
    first.close()
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM rows")
    with serve(agent(journal=path), token=TOKEN, watch_token=WATCH) as server:
        status, text = get(server, f"/runs/{first.id}/view")
        assert status == 409 and "cannot be shown" in text
        with browser(server, first.id) as there, pytest.raises(ConnectionClosed) as closed:
            there.hello()
        assert closed.value.rcvd is not None and closed.value.rcvd.code == GONE


def test_a_run_that_is_damaged_while_it_is_shown_does_not_end_the_pages_of_the_others(tmp_path: Path) -> None:
    path = str(tmp_path / "runs.db")
    first = agent(journal=path).start("Tea, please.", paused=True)
    next(first)
    first.close()
    with serve(agent(journal=path)) as server:
        shown = WebPage(server.hub, first.id, "drive")
        with sqlite3.connect(path) as db:
            db.execute("DELETE FROM rows")
        shown.follow()  # an error would end the task that does this for all pages
        assert len(shown.run) == 2
        shown.close()


@pytest.mark.parametrize("is_driven", [False, True])
def test_a_new_run_with_the_name_of_a_deleted_one_is_shown_in_its_place(tmp_path: Path, is_driven: bool) -> None:
    path = str(tmp_path / "runs.db")
    agent(journal=path).start("Tea, please.", paused=True, name="order").close()
    with serve(agent(journal=path)) as server:
        shown = WebPage(server.hub, "order", "drive")
        journal: Any = open_journal(path)
        journal.delete("order")
        eventually(lambda: shown.run.followed is not None and shown.run.followed.has_ended)
        shown.follow()
        assert shown.run.info().task == "Tea, please."  # the last that was known
        for task in ("Cake, please.", "Toast, please."):
            run = agent(journal=path).start(task, paused=True, name="order")
            if is_driven:
                next(run)
            run.close()
            eventually(lambda wanted=task: server.hub.follow("order").info().task == wanted)
            shown.follow()
            assert shown.run is server.hub.follow("order")
            journal.delete("order")
        shown.close()


# -- lines that break --------------------------------------------------------------------------------------------------


def test_a_run_that_does_not_exist_closes_the_socket_for_good(server: Server) -> None:
    with browser(server, "nowhere") as there, pytest.raises(ConnectionClosed) as closed:
        there.hello()
    assert closed.value.rcvd is not None and closed.value.rcvd.code == GONE


def test_a_browser_that_comes_back_is_sent_the_state(server: Server) -> None:
    run = server.hub.start("Tea, please.", paused=True)
    with browser(server, run) as there:
        seq = there.hello()["seq"]
    next(run)
    with browser(server, run) as there:
        reset = there.hello()
        assert reset["total"] == 2 and reset["seq"] > seq


def test_a_socket_that_is_not_read_is_closed_and_the_others_go_on() -> None:
    async def fill() -> None:
        slow, large = Outbox(), Outbox()
        for number in range(MAX_MESSAGES):
            slow.put(str(number))
        assert await slow.take() == [str(number) for number in range(MAX_MESSAGES)]
        for number in range(MAX_MESSAGES + 1):
            slow.put(str(number))
        with pytest.raises(TooSlow):
            await slow.take()
        large.put("x" * (MAX_CHARACTERS + 1))
        assert len(await large.take()) == 1
        large.put("x" * MAX_CHARACTERS)
        large.put("x")
        with pytest.raises(TooSlow):
            await large.take()

    asyncio.run(fill())


@pytest.mark.slow
def test_a_browser_that_reads_too_slowly_is_told_to_come_back(server: Server) -> None:
    lots = random.Random(1)
    run = server.hub.start(" ".join(str(lots.random()) for _ in range(20_000)), paused=True)  # is hardly compressed
    with browser(server, run) as slow, browser(server, run) as quick, pytest.raises(ConnectionClosed) as closed:
        slow.hello()
        for _ in range(150):  # both are sent the answers, which are 58 MB; one of them reads
            quick.execute("text", entry=run.entries[0].id, field="message0")
        while True:
            slow.until(lambda _: True)
    assert closed.value.rcvd is not None and closed.value.rcvd.code == TRY_LATER
    with browser(server, run) as slow:
        assert slow.hello()["head"]["status"] == "paused"


@pytest.mark.slow
def test_a_page_that_nobody_looks_at_is_closed_after_a_while(server: Server) -> None:
    run = server.hub.start("Tea, please.", paused=True)
    listeners = run.control.scheduler.listeners._listeners
    before = len(listeners)
    with browser(server, run) as there:
        there.hello()
        assert len(listeners) == before + 1
    left = time.monotonic()
    eventually(lambda: len(listeners) == before)
    assert time.monotonic() - left > 0.9 * LINGER


@pytest.mark.slow
def test_lists_have_only_so_many_sockets(server: Server) -> None:
    url = f"{server.url.replace('http', 'ws')}/socket?token={WATCH}"

    async def crowd() -> int:
        async with contextlib.AsyncExitStack() as sockets:
            for _ in range(MAX_SOCKETS):
                socket = await sockets.enter_async_context(connect_async(url))
                assert "runs" in str(await socket.recv())
            last = await sockets.enter_async_context(connect_async(url))
            await last.wait_closed()
            return int(last.close_code or 0)

    assert asyncio.run(crowd()) == TRY_LATER


def test_the_end_of_the_server_ends_its_views() -> None:
    with serve(agent()) as server:
        run = server.hub.start("Tea, please.", paused=True)
        with browser(server, run, server.app.token) as there:
            there.hello()
            server.close()
            with pytest.raises(ConnectionClosed):
                there.until(lambda _: False)
    assert not run.control.scheduler.listeners


# -- recorded runs -----------------------------------------------------------------------------------------------------


def test_a_recorded_run_is_shown_and_goes_on_in_the_same_socket_once_it_is_held_here(tmp_path: Path) -> None:
    path = str(tmp_path / "runs.db")
    first = agent(journal=path).start("Tea, please.", paused=True)
    next(first)
    first.close()
    rows = (tmp_path / "runs.db").read_bytes()
    with serve(agent("Done.", journal=path), token=TOKEN, watch_token=WATCH) as server:
        with browser(server, first.id) as there, browser(server, first.id, WATCH) as other:
            assert there.hello()["head"]["status"] == "readonly" == other.hello()["head"]["status"]
            assert (tmp_path / "runs.db").read_bytes() == rows  # looking writes nothing
            assert "Go on with this run here" in get(server, f"/runs/{first.id}/view")[1]
            assert "Go on with this run here" not in get(server, f"/runs/{first.id}/view", WATCH)[1]
            assert get(server, f"/runs/{first.id}/hold", WATCH, "POST")[0] == 403
            assert get(server, f"/runs/{first.id}/hold", method="POST")[0] == 204
            there.until(lambda _: there.head["status"] == "paused")
            other.until(lambda _: other.head["status"] == "paused")
            there.execute("play")
            there.until_status("waiting")
            there.execute("approve", which=there.head["pending"][0]["which"])
            there.execute("play")
            there.until_status("done")
        assert get(server, "/runs/nowhere/hold", method="POST")[0] == 404


def test_a_run_that_the_server_cannot_drive_is_not_held_so_that_another_program_can(tmp_path: Path) -> None:
    path = str(tmp_path / "runs.db")
    first = agent(journal=path).start("Tea, please.")
    first.wait()
    assert first.status == "waiting"
    first.close()
    lacking = Agent(Scripted(["Done."]), journal=path)  # has no tool `order`
    with serve(lacking, token=TOKEN) as server:
        for what, body in (("hold", b"{}"), ("resume", b"{}"), ("pause", b"{}"), ("decide", b'{"approve": true}')):
            status, text = get(server, f"/runs/{first.id}/{what}", method="POST", body=body)
            assert status == 409 and "without tool 'order'" in text, (what, text)
        assert server.hub.list()[0].status == "waiting"
        run = agent("Done.", journal=path).resume(first.id)
        run.approve()
        assert run.drive().answer == "Done."


OTHER = """
import sys
from agentkit import Agent, Reply
from agentkit.models.scripted import Scripted

def engine(task):
    from agentkit import Answer, Chat, Think
    chat = Chat.of(task)
    for _ in range(3):
        yield Think(chat)
    return Answer("over", chat)

run = Agent(Scripted(["one", "two", "three"]), engine=engine, journal=sys.argv[1]).start("Think.", paused=True)
print(run.id, flush=True)
for _ in sys.stdin:
    next(run)
    print(len(run), flush=True)
"""


@pytest.mark.slow
def test_a_run_of_another_process_is_followed_and_cannot_be_driven(tmp_path: Path) -> None:
    path = str(tmp_path / "runs.db")
    with subprocess.Popen(
        [sys.executable, "-c", OTHER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin is not None and other.stdout is not None
        id = other.stdout.readline().strip()
        with serve(agent(journal=path), token=TOKEN) as server, browser(server, id) as there:
            assert there.hello()["head"]["status"] == "readonly"
            for length in (2, 3):
                other.stdin.write("\n")
                other.stdin.flush()
                assert other.stdout.readline().strip() == str(length)
                there.until(lambda message, n=length: n in [part.get("total") for part in message.get("ev", ())])
            status, text = get(server, f"/runs/{id}/hold", method="POST")
            assert status == 409 and "is held by process" in text
            assert there.execute("step")["t"] == "nak"
        other.stdin.close()


@pytest.mark.slow
def test_the_process_that_holds_a_run_is_asked_by_who_may_drive_and_by_nobody_else(tmp_path: Path) -> None:
    path = str(tmp_path / "runs.db")
    with (
        driven_elsewhere(path) as other,
        serve(agent(journal=path), token=TOKEN, watch_token=WATCH) as server,
        browser(server, other.id) as there,
        browser(server, other.id, WATCH) as watcher,
    ):
        held = there.hello()["head"]["held"]
        assert held["status"] == "running" and f"process {other.pid}" in held["by"] and held["asked"] == ""
        (line,) = server.hub.list()
        assert (line.status, line.holder, line.is_here) == ("running", held["by"], False)
        assert f"held by process {other.pid}" in get(server, "/")[1]
        assert json.loads(get(server, f"/runs/{other.id}")[1])["holder"] == held["by"]
        watcher.hello()
        for what in ("pause", "stop", "inject"):
            told = {"text": "hello"} if what == "inject" else {}
            answer = watcher.execute(what, **told)
            assert answer["t"] == "nak" and "watching only" in answer["error"]
            assert get(server, f"/runs/{other.id}/{what}", WATCH, "POST", json.dumps(told).encode())[0] == 403
        assert there.execute("inject", text="Look in the attic.")["t"] == "ack"
        assert there.execute("pause")["t"] == "ack"
        while (there.head["held"] or {}).get("status") != "paused":
            there.until(lambda _: True)
        while watcher.head["held"]["status"] != "paused":
            watcher.until(lambda _: True)
        assert there.head["held"]["asked"] == "" and there.execute("play")["t"] == "nak"
        told = [event.data["text"] for event in server.hub.follow(other.id).events() if event.kind == "warning"]
        assert [text.partition(" asked")[0] for text in told] == [f"{me()} (server on {socket.gethostname()})"] * 2
        assert "Look in the attic." in told[0] and told[1].endswith("asked this run to pause")
        other.tell("run.play()")
        status, text = get(server, f"/runs/{other.id}/stop", method="POST")
        assert status == 202 and "was asked to stop" in json.loads(text)["asked"]
        eventually(lambda: server.hub.list()[0].status == "stopped")
        other.process.kill()
        other.process.wait()
        while there.head["held"] is not None:
            there.until(lambda _: True)
        status, text = get(server, f"/runs/{other.id}/pause", method="POST")
        assert status == 409 and "without" in text  # nobody holds it, and the agent of the server cannot drive it


@pytest.mark.slow
def test_a_page_shows_a_run_of_another_process_without_sending_it_all_again(tmp_path: Path) -> None:
    path = str(tmp_path / "runs.db")
    with (
        driven_elsewhere(path) as other,
        serve(agent(journal=path), token=TOKEN) as server,
        browser(server, other.id) as there,
    ):
        there.hello()
        run = server.hub.follow(other.id)
        first = run.entries
        there.until(lambda message: message["t"] == "events" and len(run) > len(first) + 20)
        assert [message["t"] for message in there.messages].count("reset") == 1
        assert server.hub.follow(other.id) is run and all(a is b for a, b in zip(first, run.entries, strict=False))
        count = run.followed._watchers  # type: ignore[union-attr]
        assert count == 1
    eventually(lambda: not run.followed.is_watched)  # type: ignore[union-attr]
