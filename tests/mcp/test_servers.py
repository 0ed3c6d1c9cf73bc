"""The tools of real MCP servers: the reference servers from npm, over a command and over HTTP."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from npm_servers import node_and_program

import agentkit
from agentkit import Agent, Call, Reply, Run
from agentkit.errors import Unknown, UsageError
from agentkit.mcp import McpServer, mcp
from agentkit.models import Scripted
from agentkit.models.base import Abilities

pytestmark = pytest.mark.slow
FILESYSTEM = ("@modelcontextprotocol", "server-filesystem", "dist", "index.js")
EVERYTHING = ("@modelcontextprotocol", "server-everything", "dist", "index.js")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.txt").write_text("the answer is 42")
    return notes


@pytest.fixture
def files(folder: Path) -> Iterator[McpServer]:
    with mcp([*node_and_program(*FILESYSTEM), str(folder)], trust=True) as server:
        yield server


@pytest.fixture(scope="module")
def everything() -> Iterator[McpServer]:
    with mcp(node_and_program(*EVERYTHING), prefix="ev_") as server:
        yield server


def calling(*calls: tuple[str, dict[str, Any]]) -> Scripted:
    replies = [Reply("", (Call(name, arguments, f"c{n}"),)) for n, (name, arguments) in enumerate(calls)]
    return Scripted([*replies, "done"], abilities=Abilities(tools=True))


def texts(run: Run) -> list[str]:
    return [entry.result.text for entry in run.entries if entry.kind == "act"]


def test_an_agent_reads_and_writes_files_through_the_filesystem_server(files: McpServer, folder: Path) -> None:
    read, write = {"path": str(folder / "a.txt")}, {"path": str(folder / "b.txt"), "content": "written"}
    model = calling(("read_text_file", read), ("write_file", write), ("read_text_file", {"path": "/etc/passwd"}))
    run = Agent(model, files, journal="memory").run("q").run
    assert "the answer is 42" in texts(run)[0] and (folder / "b.txt").read_text() == "written"
    assert texts(run)[2].startswith("Error: tool 'read_text_file' failed: Access denied")
    effects = {schema["name"]: schema["effect"] for schema in files.get_tool_schemas()}
    assert effects["read_text_file"] == "pure" and effects["move_file"] == "irreversible"


def test_a_recording_is_replayed_and_resumed_without_a_call(files: McpServer, folder: Path) -> None:
    path = str(folder / "a.txt")
    model = calling(("read_text_file", {"path": path}), ("read_text_file", {"path": path}))
    agent = Agent(model, files)
    run = agent.start("q", paused=True)
    next(run), next(run)
    run.close()
    (folder / "a.txt").write_text("changed since")
    resumed = agent.resume(run.id)
    assert "the answer is 42" in texts(resumed)[0]
    assert "changed since" in texts(resumed.drive().run)[1]
    files.close()
    assert "the answer is 42" in texts(agentkit.look(run.id))[0] and files._connections == []


def test_a_run_whose_server_is_gone_is_resumed_read_only_with_the_reason(files: McpServer, folder: Path) -> None:
    model = calling(("read_text_file", {"path": str(folder / "a.txt")}))
    run = Agent(model, files).start("q", paused=True)
    next(run)
    run.close()
    missing = mcp("agentkit-no-such-server --root notes")
    resumed = Agent(calling(), missing).resume(run.id)
    assert resumed.status == "readonly"
    assert "there is no program 'agentkit-no-such-server'" in resumed.read_only
    assert Agent(model, files).resume(run.id).drive().answer == "done"


def test_each_name_has_the_prefix_and_only_the_tools_of_a_pattern_are_offered(everything: McpServer) -> None:
    names = [schema["name"] for schema in everything.get_tool_schemas()]
    assert {"ev_echo", "ev_get-sum"} <= set(names)
    run = Agent(calling(("ev_echo", {"message": "hi"})), everything, journal="memory").run("q").run
    assert texts(run) == ["Echo: hi"]
    with mcp(node_and_program(*EVERYTHING), only=["get-*"]) as some:
        assert all(schema["name"].startswith("get-") for schema in some.get_tool_schemas())


def test_pictures_data_and_links_of_a_server_are_shown_to_the_person(everything: McpServer) -> None:
    model = calling(
        ("ev_get-tiny-image", {}),
        ("ev_get-structured-content", {"location": "Chicago"}),
        ("ev_get-resource-links", {"count": 2}),
        ("ev_get-resource-reference", {"resourceType": "Text", "resourceId": 1}),
    )
    run = Agent(model, everything, journal="memory").run("q").run
    picture, data, links, _ = (entry.result for entry in run.entries if entry.kind == "act")
    assert list(picture.value["mime"]) == ["image/png"]
    assert set(data.value) == {"temperature", "conditions", "humidity"}
    assert links.text.count("[the resource demo://") == 2


def test_calls_at_the_same_time_are_answered_at_the_same_time(everything: McpServer) -> None:
    calls = tuple(Call("ev_echo", {"message": str(n)}, f"c{n}") for n in range(20))
    model = Scripted([Reply("", calls), "done"], abilities=Abilities(tools=True))
    run = Agent(model, everything, journal="memory").run("q").run
    assert texts(run) == [f"Echo: {n}" for n in range(20)]


def test_resources_and_prompts_can_be_read_by_the_person_and_resources_by_a_model(everything: McpServer) -> None:
    uri = everything.resources()[0]["uri"]
    assert "Architecture" in everything.read(uri)
    model = calling(("ev_list_resources", {}), ("ev_read_resource", {"uri": uri}), ("ev_read_resource", {"uri": "a:b"}))
    run = Agent(model, everything.resource_tools, journal="memory").run("q").run
    assert uri in texts(run)[0] and "Architecture" in texts(run)[1] and "refused the call" in texts(run)[2]
    assert "city" in next(prompt for prompt in everything.prompts() if prompt["name"] == "args-prompt")["arguments"]
    chat = everything.prompt("args-prompt", city="Bern")
    assert "Bern" in chat[0].text and Agent(calling(), journal=None).run(chat).answer == "done"
    with pytest.raises(Unknown, match="args-prompt"):
        everything.prompt("arg-prompt")
    with pytest.raises(UsageError, match="failed"):
        everything.read("demo://no/such/resource")


@pytest.fixture
def restart() -> Iterator[Callable[[], str]]:
    """Return a function that starts the everything server over HTTP, again if it runs, and returns its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes: list[subprocess.Popen[bytes]] = []

    def restart() -> str:
        _stop(processes)
        processes.append(_http_server(port))
        return f"http://127.0.0.1:{port}/mcp"

    yield restart
    _stop(processes)


def _stop(processes: list[subprocess.Popen[bytes]]) -> None:
    while processes:
        process = processes.pop()
        process.kill()
        process.wait()


def _http_server(port: int) -> subprocess.Popen[bytes]:
    """Start the everything server on a port, and wait until it listens."""
    command = [*node_and_program(*EVERYTHING), "streamableHttp"]
    process = subprocess.Popen(command, env={**os.environ, "PORT": str(port)}, stdout=-3, stderr=-3)
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process
        assert process.poll() is None
        time.sleep(0.1)
    raise AssertionError("the server does not listen")


def test_a_server_over_http_works_like_one_of_a_command(restart: Callable[[], str]) -> None:
    with mcp(restart(), headers={"X-Test": "1"}) as server:
        agent = Agent(calling(("echo", {"message": "hi"})), server, journal="memory")
        assert texts(agent.run("q").run) == ["Echo: hi"]


def test_a_server_over_http_is_found_again_after_a_restart(restart: Callable[[], str]) -> None:
    with mcp(restart()) as server:
        hi = Call("echo", {"message": "hi"}, "c")
        model = Scripted([Reply("", (hi,)), Reply("", (hi,)), "done"] * 2, abilities=Abilities(tools=True))
        agent = Agent(model, server, journal="memory")
        run = agent.start("q", paused=True)
        next(run), next(run)
        restart()
        run.drive()
        assert texts(run) == ["Echo: hi"] * 2
        restart()
        assert texts(agent.run("q").run) == ["Echo: hi"] * 2


def test_a_url_where_nobody_listens_is_a_clear_error() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(UsageError, match=rf"127\.0\.0\.1:{port}/mcp could not be reached"):
        mcp(f"http://127.0.0.1:{port}/mcp").connect()
