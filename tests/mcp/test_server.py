"""Tools and agents as an MCP server, used through the SDK's own client and through agentkit's."""

from __future__ import annotations

import asyncio
import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

import agentkit
from agentkit import Agent, Call, Reply, tool
from agentkit.cli import app
from agentkit.errors import UsageError
from agentkit.mcp import mcp, serve
from agentkit.models import Scripted
from agentkit.models.base import Abilities

pytestmark = pytest.mark.slow
NATIVE = Abilities(tools=True)


@tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    print("a tool that prints")
    return a + b


@tool(effect="irreversible")
def pay(amount: int) -> dict[str, int]:
    """Pay an amount."""
    return {"paid": amount}


@tool(effect="idempotent")
async def fail() -> str:
    """Fail."""
    raise KeyError("k")


def ask(server: Any, *calls: tuple[str, dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    """Return the tools that a client of the SDK is offered, and the results of its calls, in one connection."""
    from mcp import Client

    async def talk() -> tuple[list[Any], list[Any]]:
        async with Client(server.server()) as client:
            listed = (await client.list_tools()).tools
            return listed, [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(talk())


def test_a_client_is_offered_tools_with_their_schemas_and_their_effects_as_hints() -> None:
    tools, _ = ask(serve([add, pay, fail]))
    assert [tool.name for tool in tools] == ["add", "pay", "fail"]
    assert tools[0].description == "Add two numbers." and set(tools[0].input_schema["properties"]) == {"a", "b"}
    hints = [(t.annotations.read_only_hint, t.annotations.destructive_hint) for t in tools]
    assert hints == [(True, False), (False, True), (False, False)]


def test_a_call_returns_the_observation_with_data_if_the_tool_declares_an_object() -> None:
    calls = ("add", {"a": 1, "b": "2"}), ("pay", {"amount": 5}), ("fail", {}), ("add", {"a": 1}), ("nothing", {})
    _, (added, paid, failed, missing, unknown) = ask(serve([add, pay, fail]), *calls)
    assert added.content[0].text == "3" and not added.is_error
    assert paid.structured_content == {"paid": 5}
    assert failed.is_error and "KeyError" in failed.content[0].text
    assert missing.is_error and "b: is missing" in missing.content[0].text
    assert unknown.is_error and "'nothing' not found" in unknown.content[0].text


def test_what_guards_a_run_guards_a_served_call() -> None:
    asked: list[Any] = []

    def approver(question: Any) -> bool:
        asked.append(question)
        return False

    _, (paid, added) = ask(serve([add, pay], approve=["pay"]), ("pay", {"amount": 5}), ("add", {"a": 1, "b": 1}))
    assert paid.is_error and "not run" in paid.content[0].text and added.content[0].text == "2"
    _, (paid,) = ask(serve([add, pay], approve=["pay"], approver=approver), ("pay", {"amount": 5}))
    assert paid.is_error and len(asked) == 1
    _, (paid,) = ask(serve([pay], approve=True, approver=lambda question: True), ("pay", {"amount": 5}))
    assert paid.structured_content == {"paid": 5}


def test_served_calls_are_recorded_if_they_are_to_be() -> None:
    ask(serve([add], journal="sqlite"), ("add", {"a": 1, "b": 1}))
    (info,) = agentkit.runs()
    assert info.status == "done" and [e.result.text for e in agentkit.look(info.run).entries if e.kind == "act"] == [
        "2"
    ]


def test_an_agent_is_one_tool_whose_sessions_are_apart_from_those_of_others() -> None:
    model = Scripted(["My name is Agent.", "You are Ann."])
    agent = Agent(model)
    calls = ("ask", {"task": "I am Ann", "session": "s"}), ("ask", {"task": "who am I?", "session": "s"})
    tools, (first, second) = ask(serve(agent), *calls)
    assert [tool.name for tool in tools] == ["ask"]
    assert first.content[0].text == "My name is Agent." and second.content[0].text == "You are Ann."
    assert "I am Ann" in str(model.requests[1].chat if hasattr(model.requests[1], "chat") else model.requests[1])
    assert agent.memory.turns("s") == [] and len(agent.memory.turns("mcp:s")) == 2


def test_an_agent_that_fails_or_is_asked_nothing_is_an_error_of_the_tool() -> None:
    def broken(request: Any) -> Any:
        raise ValueError("no model today")

    _, (failed, empty) = ask(serve(Agent(broken, journal=None)), ("ask", {"task": "x"}), ("ask", {"task": " "}))
    assert failed.is_error and "no model today" in failed.content[0].text
    assert empty.is_error and "ask(task, session)" in empty.content[0].text


def test_a_client_that_cancels_stops_the_run() -> None:
    from mcp import Client

    stopped = asyncio.Event()
    ended: list[str] = []

    async def talk() -> None:
        loop = asyncio.get_running_loop()
        started = asyncio.Event()

        @tool(effect="pure", timeout=None)
        async def wait() -> str:
            """Wait."""
            loop.call_soon_threadsafe(started.set)
            try:
                await asyncio.sleep(600)
            finally:
                ended.append("cancelled")
                loop.call_soon_threadsafe(stopped.set)
            return ""

        model = Scripted([Reply("", (Call("wait", {}, "c"),)), "done"], abilities=NATIVE)
        async with Client(serve(Agent(model, [wait], journal=None)).server()) as client:
            call = asyncio.create_task(client.call_tool("ask", {"task": "x"}))
            await asyncio.wait_for(started.wait(), 60)
            call.cancel()
            await asyncio.wait_for(stopped.wait(), 60)

    asyncio.run(talk())
    assert ended == ["cancelled"]


def test_the_progress_of_an_agent_is_told_to_the_client() -> None:
    from mcp import Client

    told: list[Any] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async def talk() -> None:
        model = Scripted([Reply("", (Call("add", {"a": 1, "b": 2}, "c"),)), "done"], abilities=NATIVE)
        async with Client(serve(Agent(model, [add], journal=None)).server()) as client:
            await client.call_tool("ask", {"task": "x"}, progress_callback=on_progress)

    asyncio.run(talk())
    assert told == ["thought", "add", "thought"]


def test_options_are_those_of_an_agent_and_an_agent_has_its_own() -> None:
    with pytest.raises(UsageError, match="approve"):
        serve(Agent("offline"), approve=True)
    with pytest.raises(UsageError, match="aprove"):
        serve([add], aprove=True)  # type: ignore[call-arg]


def test_the_command_serves_toolboxes_over_stdin_and_stdout_and_an_agent_uses_them() -> None:
    with mcp([sys.executable, "-m", "agentkit", "mcp", "--tools", "math,units"], trust=True) as server:
        names = [schema["name"] for schema in server.get_tool_schemas()]
        assert "calculate" in names
        model = Scripted([Reply("", (Call("calculate", {"expression": "3 * 17"}, "c"),)), "done"], abilities=NATIVE)
        run = Agent(model, server, journal=None).run("q").run
    assert [entry.result.text for entry in run.entries if entry.kind == "act"] == ["51"]


def test_the_command_serves_an_agent() -> None:
    environment = {name: value for name, value in os.environ.items() if name.startswith("AGENTKIT_")}
    with mcp([sys.executable, "-m", "agentkit", "mcp", "--agent", "-m", "offline"], env=environment) as server:
        model = Scripted([Reply("", (Call("ask", {"task": "What is 3 * 17?"}, "c"),)), "done"], abilities=NATIVE)
        run = Agent(model, server, journal=None).run("q").run
    assert "51" in next(entry.result.text for entry in run.entries if entry.kind == "act")


@pytest.fixture
def over_http() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "agentkit", "mcp", "--tools", "math", "--http", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env={**os.environ, "AGENTKIT_MCP_TOKEN": "t0ken"})
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        assert process.poll() is None
        time.sleep(0.1)
    yield f"http://127.0.0.1:{port}/mcp"
    process.kill()
    process.wait()


def test_over_http_a_client_needs_the_token_and_a_page_of_another_site_gets_nothing(over_http: str) -> None:
    import httpx2

    with mcp(over_http, headers={"Authorization": "Bearer t0ken"}, trust=True) as server:
        assert "calculate" in [schema["name"] for schema in server.get_tool_schemas()]
    for headers, status in (
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Bearer t0ken", "Origin": "https://evil.example"}, 403),
        ({"Authorization": "Bearer t0ken", "Host": "evil.example"}, 421),
    ):
        assert httpx2.post(over_http, headers=headers, json={}).status_code == status
    with pytest.raises(UsageError, match="could not be reached"):
        mcp(over_http).connect()
    with pytest.raises(UsageError, match="token is needed"):
        serve([add]).run_http(0, host="0.0.0.0")


def test_the_command_line_uses_and_resumes_with_a_server() -> None:
    server = shlex.join([sys.executable, "-m", "agentkit", "mcp", "--tools", "math"])
    run = ["run", "What is 3 * 17?", "-m", "offline", "-t", "none", "--mcp", server]
    done = CliRunner().invoke(app, run)
    assert done.output.strip() == "3 * 17 is 51."
    (info,) = agentkit.runs()
    assert agentkit.look(info.run).performer.tools.names == ("calculate",)
    missing = CliRunner().invoke(app, ["run", "What is 3 * 17?", "-m", "offline", "--mcp", "no-such-program"])
    assert missing.exit_code == 1 and "there is no program 'no-such-program'" in missing.stderr


def test_the_command_line_says_which_server_a_run_needs() -> None:
    with mcp([sys.executable, "-m", "agentkit", "mcp", "--tools", "math"]) as server:
        run = Agent("offline", server).start("What is 3 * 17?", paused=True)
        next(run)
        run.close()
    without = CliRunner().invoke(app, ["resume", run.id])
    assert without.exit_code == 1 and "--mcp COMMAND" in without.stderr
    command = shlex.join([sys.executable, "-m", "agentkit", "mcp", "--tools", "math"])
    done = CliRunner().invoke(app, ["resume", run.id, "--mcp", command])
    assert done.exit_code == 0 and done.output.strip() == "3 * 17 is 51."
