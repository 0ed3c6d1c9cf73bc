"""A server in a thread of its own: in a notebook, in a script, as a command, and with clients that do odd things."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import TOKEN, Client, serving
from typer.testing import CliRunner

import agentkit
from agentkit import Agent, Call, Reply, tool
from agentkit.cli import app as command
from agentkit.errors import UsageError
from agentkit.models import Scripted
from agentkit.serve import Server, app, serve
from agentkit.serve import streams as open_streams

SIZE = int(os.environ.get("AGENTKIT_SIZE", "100"))
curl = shutil.which("curl")
needs_curl = pytest.mark.skipif(curl is None, reason="there is no curl")


def until(check: Any, timeout: float = 60) -> Any:
    """Return the value of `check()` as soon as it is true."""
    end = time.monotonic() + timeout
    while not (value := check()):
        assert time.monotonic() < end, "it did not become true"
        time.sleep(0.01)
    return value


class Held:
    """A tool that waits until it is let go."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()

        @tool(effect="pure", timeout=None)
        def wait() -> str:
            """Wait."""
            self.begun.set()
            self.go.wait(60)
            return "waited"

        self.agent = Agent(Scripted([Reply("", (Call("wait", {}, "c"),)), "end"]), [wait], journal="memory")


@pytest.fixture
def held() -> Iterator[Held]:
    held = Held()
    yield held
    held.go.set()


# -- in a notebook and in a script -------------------------------------------------------------------------------------


def test_the_address_is_printed_with_the_token_and_the_repr_masks_it(capsys: pytest.CaptureFixture[str]) -> None:
    with serve(Agent(Scripted(["x"]), journal="memory")) as server:
        printed = capsys.readouterr().out
        assert printed == f"{server.url}/?token={server.app.token}\n"
        assert server.url.startswith("http://127.0.0.1:") and server.url in repr(server)
        assert server.app.token not in repr(server) + repr(server.app)
        assert server.watch_address == f"{server.url}/?token={server.app.watch_token}"
    assert repr(server) == "<server that is closed>" and not server.is_running
    server.close()  # once more does nothing


def test_a_server_runs_beside_the_loop_of_a_notebook() -> None:
    import httpx2

    async def cell() -> Any:
        agent = Agent(Scripted(["hello"]), journal="memory")
        with serve(agent, token=TOKEN) as server:
            headers = {"authorization": f"Bearer {TOKEN}"}
            async with httpx2.AsyncClient(base_url=server.url, headers=headers) as client:
                run = agent.start("from a cell")
                result = await run
                text = (await client.get(f"/runs/{run.id}/events")).text
                return result.answer, text

    answer, text = asyncio.run(cell())
    assert answer == "hello" and "event: done" in text


def test_two_servers_serve_the_same_agent_and_one_may_be_closed(held: Held) -> None:
    with serving(held.agent) as (_, first):
        id = first.start()
        with serving(held.agent) as (_, second), second.stream(id) as found:
            assert next(found).event == "started"
        held.go.set()
        assert first.events(id)[-1].data["answer"] == "end"


@pytest.mark.parametrize(
    "options",
    [
        {"host": "0.0.0.0"},
        {"host": "0.0.0.0", "hosts": ["agents.example"]},
        {"host": "0.0.0.0", "token": TOKEN},
        {"host": "::"},
        {"host": "192.168.0.7"},
        {"host": "a name that is none.invalid", "hosts": ["x"], "token": TOKEN},
        {"port": 1 << 20},
    ],
)
def test_an_address_that_others_can_reach_needs_names_and_a_token(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"hosts=|cannot serve"):
        serve(Agent("offline"), **options)


def test_an_address_that_others_can_reach_answers_under_the_names_that_were_passed() -> None:
    with serving(Agent(Scripted([]), journal="memory"), host="0.0.0.0", hosts="agents.example") as (server, _):
        client = Client(f"http://127.0.0.1:{server.port}")
        assert client.get("/runs", headers={"host": "agents.example"}).status_code == 200
        assert client.get("/runs", headers={"host": "other.example"}).status_code == 421
        client.close()


def test_a_closed_server_shows_no_run_at_an_address_that_does_not_answer() -> None:
    run = Agent("offline", journal="memory").start("Say hello.", paused=True)
    with serving(run.agent) as (server, _):
        pass
    with pytest.raises(UsageError, match=r"closed; serve\(agent\) starts another"):
        server.show(run)


def test_one_name_of_an_application_may_be_a_text() -> None:
    with Server(app(Agent("offline", journal="memory"), token=TOKEN, hosts="agents.example"), "127.0.0.1", 0) as server:
        client = Client(server.url)
        assert client.get("/runs", headers={"host": "agents.example"}).status_code == 200
        client.close()


@pytest.mark.parametrize("name", ["http://agents.example", "agents.example/", "agents example"])
def test_an_address_in_place_of_a_name_is_an_error(name: str) -> None:
    with pytest.raises(UsageError, match=r"not a name such as agents\.example\.com"):
        serve(Agent("offline", journal="memory"), hosts=[name])


def test_a_port_that_is_taken_is_an_error() -> None:
    with serving(Agent("offline", journal="memory")) as (server, _), pytest.raises(UsageError, match="cannot serve"):
        serve(Agent("offline"), port=server.port)


def test_the_address_may_be_one_of_ip_6() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with serving(Agent("offline", journal="memory"), host="::1") as (server, client):
        assert server.url.startswith("http://[::1]:") and client.get("/runs").status_code == 200


# -- the end of a server -----------------------------------------------------------------------------------------------


def test_a_server_with_open_streams_closes_at_once_and_quietly_and_the_run_goes_on(
    held: Held, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    with serving(held.agent) as (server, client):
        id = client.start()
        assert held.begun.wait(60)
        with contextlib.ExitStack() as stack:
            opened = [stack.enter_context(client.stream(id)) for _ in range(20)]
            assert all(next(found).event == "started" for found in opened)
            begun = time.monotonic()
            server.close()
            rests = [list(found) for found in opened]  # a body that is broken off would raise
            assert time.monotonic() - begun < 5
    assert all(rest[-1].event != "done" for rest in rests)
    held.go.set()
    until(lambda: agentkit.look(id, journal="memory").answer == "end")
    assert not caplog.records, caplog.text


AGENT = """
import itertools
import agentkit
from agentkit import Agent, Call, Reply, tool
from agentkit.models import Scripted
from agentkit.models.base import Abilities
import time

@tool(effect="pure")
def nap() -> str:
    \"\"\"Sleep for a moment.\"\"\"
    time.sleep(0.05)
    return "slept"

def answer(request):
    return Reply("", (Call("nap", {}, "c"),))

agent = Agent(Scripted(itertools.repeat(answer), abilities=Abilities(tools=True)), [nap], engine={"engine": "react", "max_iterations": 10_000})
number = 7
"""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[tuple[subprocess.Popen[str], Client]]:
    """The command, serving an agent of a module in a folder, as a process of its own."""
    (folder / "shop.py").write_text(AGENT, encoding="utf-8")
    environment = {**os.environ, "AGENTKIT_SERVE_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "agentkit", "serve", "shop:agent", "--port", "0"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.endswith(f"/?token={TOKEN}"), (address, process.stderr)
        client = Client(address.partition("/?")[0])
        yield process, client
        client.close()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_the_command_within_a_stream_without_a_traceback_and_nothing_is_lost(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    with served(tmp_path) as (process, client):
        id = client.start()
        with client.stream(id) as found:
            seen = [next(found) for _ in range(20)]
            process.send_signal(number)
            seen += list(found)
        _, error = process.communicate(timeout=60)
        assert process.returncode == code and error == ""
    assert not [frame for frame in seen if frame.event in ("error", "done")]
    with served(tmp_path) as (_, client):
        last = [frame.id for frame in seen if frame.id][-1]
        assert [line["status"] for line in client.get("/runs").json()["runs"] if line["id"] == id] == ["paused"]
        client.post(f"/runs/{id}/resume")
        with client.stream(id, last) as found:
            ids = [tuple(map(int, frame.id.split("."))) for frame in (next(found) for _ in range(20)) if frame.id]
        assert ids == sorted(set(ids)) and ids[0] > tuple(map(int, last.split(".")))


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("shop", "MODULE:AGENT"),
        ("shop:", "MODULE:AGENT"),
        ("shop:number", "not an Agent"),
        ("shop:nothing", "cannot find"),
        ("no_such_module:agent", "cannot find"),
    ],
)
def test_the_command_says_why_it_finds_no_agent(
    path: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop.py").write_text(AGENT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    done = CliRunner().invoke(command, ["serve", path, "--port", "0"])
    assert done.exit_code == 1 and problem in done.output


def test_the_command_needs_names_and_a_token_for_another_address() -> None:
    done = CliRunner().invoke(command, ["serve", "-m", "offline", "--port", "0", "--host", "0.0.0.0"])
    assert done.exit_code == 1 and "--name" in done.output and "AGENTKIT_SERVE_TOKEN" in done.output


def test_no_log_has_the_token(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(Agent(Scripted([ValueError(f"the token is {TOKEN}")]), journal="memory")) as (server, client):
        client.events(client.start(f"what is {TOKEN}?"))
        paths = [f"/?token={TOKEN}", f"/runs?token={TOKEN}", f"/no%zz?token={TOKEN}", f"/runs/x/socket?token={TOKEN}"]
        for path in paths:
            upgrade = "Upgrade: websocket\nConnection: Upgrade\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: x\n"
            for extra in ("", upgrade, "Host: twice\n", "Content-Length: nonsense\n"):
                with raw(server, f"GET {path} HTTP/1.1\nHost: localhost\n{extra}\n") as connection:
                    connection.recv(1 << 16)
    assert caplog.records and TOKEN not in caplog.text


# -- clients that do odd things ----------------------------------------------------------------------------------------


def raw(server: Any, lines: str) -> socket.socket:
    """Return a connection on which a request was sent."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    connection.sendall(lines.replace("\n", "\r\n").encode())
    return connection


def events_of(id: str) -> str:
    return f"GET /runs/{id}/events HTTP/1.1\nHost: localhost\nAuthorization: Bearer {TOKEN}\n\n"


@needs_curl
def test_curl_reads_a_stream_and_sees_the_answer_to_a_body_that_is_too_large(held: Held, tmp_path: Path) -> None:
    held.go.set()
    large = tmp_path / "large"
    large.write_bytes(b'{"task": "' + b"x" * 2_000_000 + b'"}')
    with serving(held.agent) as (server, client):
        base = [str(curl), "-sS", "-H", f"Authorization: Bearer {TOKEN}"]

        def ask(*arguments: str) -> str:
            done = subprocess.run([*base, *arguments], capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stderr
            return done.stdout

        text = ask("-N", "-H", "Accept: text/event-stream", "-d", '{"task": "x"}', f"{server.url}/runs")
        assert text.startswith("retry: ") and text.count("event: done\n") == 1
        status = ("-w", "\n%{http_code}", f"{server.url}/runs")
        with_length = ask("--data-binary", f"@{large}", *status)
        without = ask("-H", "Transfer-Encoding: chunked", "--data-binary", f"@{large}", *status)
        at_once = ask("-H", "Expect:", "--data-binary", f"@{large}", *status)
        for answer in (with_length, without, at_once):
            body, _, code = answer.rpartition("\n")
            assert code == "413" and "1,000,000 bytes" in json.loads(body)["error"]
        assert len(client.get("/runs").json()["runs"]) == len({r["id"] for r in client.get("/runs").json()["runs"]})


@pytest.mark.slow
def test_a_reader_that_stops_reading_holds_up_nobody_and_loses_nothing(held: Held) -> None:
    texts = [Reply("y" * 600_000, (Call("wait", {}, f"c{n}"),)) for n in range(8)]
    agent = held.agent.using(model=Scripted([*texts, "end"]))
    held.go.set()
    with serving(agent) as (server, client):
        id = client.start(paused=True)
        slow = raw(server, events_of(id))
        until(lambda: server.app.streams.open)
        client.post(f"/runs/{id}/resume")
        whole = client.events(id)
        assert whole[-1].data["answer"] == "end"
        got = b""
        while b"event: done" not in got:
            part = slow.recv(1 << 16)
            assert part
            got += part
        slow.close()
    assert got.count(b"\nid: ") == len([frame for frame in whole if frame.id])


@pytest.mark.slow
def test_a_reader_that_never_reads_is_given_up(held: Held) -> None:
    texts = [Reply("y" * 900_000, (Call("wait", {}, f"c{n}"),)) for n in range(8)]
    agent = held.agent.using(model=Scripted([*texts, "end"]))
    held.go.set()
    with serving(agent) as (server, client):
        server.app.streams.slow = 0.5
        id = client.start(paused=True)
        stuck = raw(server, events_of(id))
        until(lambda: server.app.streams.open)
        client.post(f"/runs/{id}/resume")
        assert client.events(id)[-1].event == "done"
        until(lambda: not server.app.streams.open)
        stuck.close()


def test_sockets_that_are_half_open_or_send_half_a_request_do_not_keep_a_server_from_closing(
    held: Held, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(held.agent) as (server, client):
        id = client.start()
        opened = []
        for lines in ("", "GET", "GET /runs HTTP/1.1\nHost: ", "POST /runs HTTP/1.1\nHost: localhost\n", "\n\n\n"):
            opened.append(raw(server, lines))
        half = raw(server, events_of(id))
        half.shutdown(socket.SHUT_WR)  # it still reads, or it is gone: nobody can know
        body = f"POST /runs HTTP/1.1\nHost: localhost\nAuthorization: Bearer {TOKEN}\nContent-Length: 50\n\n"
        opened += [half, raw(server, body)]
        assert client.get("/health").status_code == 200
        begun = time.monotonic()
    assert time.monotonic() - begun < 10
    assert "Traceback" not in caplog.text
    for connection in opened:
        connection.close()


@pytest.mark.slow
def test_many_clients_that_connect_and_leave_leave_nothing_behind(held: Held) -> None:
    with serving(held.agent, rate=1e6, burst=1e6) as (server, client):
        id = client.start()
        assert held.begun.wait(60)
        log_of = open_streams.Log.of(server.hub.get(id))
        for n in range(SIZE * 2):
            connection = raw(server, events_of(id))
            if n % 2:
                connection.recv(100)
            if n % 3:  # with a reset, not with a farewell
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            connection.close()
        until(lambda: not server.app.streams.open)
        until(lambda: not log_of._readers)
        held.go.set()
        assert client.events(id)[-1].data["answer"] == "end"


def test_a_message_over_a_websocket_has_a_limit() -> None:
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect

    with serving(Agent(Scripted(["x"]), journal="memory")) as (server, client):
        id = client.start(paused=True)
        address = f"ws://127.0.0.1:{server.port}/runs/{id}/socket"
        with connect(address, additional_headers={"authorization": f"Bearer {TOKEN}"}, max_size=None) as socket_:
            socket_.recv()
            with pytest.raises(ConnectionClosed) as closed:
                socket_.send("x" * 6_500_000)
                while True:
                    socket_.recv()
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 1009
