"""An MCP server that dies, floods, lies or changes: the run gets a clear error, and goes on."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import gzip
import json
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from agentkit import Agent, Call, Reply, Run, tool
from agentkit.errors import UsageError
from agentkit.mcp import McpServer, mcp
from agentkit.models import Scripted
from agentkit.models.base import Abilities

pytestmark = pytest.mark.slow
SERVER = Path(__file__).with_name("hostile_server.py")
Start = Callable[..., McpServer]


@pytest.fixture
def hostile() -> Iterator[Start]:
    """Return a function that makes a server which misbehaves in a certain way."""
    servers: list[McpServer] = []

    def start(way: str = "", *more: Any, **options: Any) -> McpServer:
        servers.append(mcp([sys.executable, str(SERVER), way, *map(str, more)], **options))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def run_of(server: McpServer, *calls: tuple[str, dict[str, Any]], **options: Any) -> Run:
    """Return the run of an agent whose model makes these calls, one by one."""
    replies = [Reply("", (Call(name, arguments, f"c{n}"),)) for n, (name, arguments) in enumerate(calls)]
    model = Scripted([*replies, "done"], abilities=Abilities(tools=True))
    return Agent(model, server, journal="memory", **options).run("q").run


def results(run: Run) -> list[Any]:
    return [entry.result for entry in run.entries if entry.kind == "act"]


SAY = ("say", {"text": "hello"})


def test_a_server_that_dies_in_a_call_is_named_with_its_last_words_and_the_call_may_have_run(hostile: Start) -> None:
    first, second = results(run_of(hostile("dies"), SAY, ("lie", {})))
    assert "ended, or the connection was lost, before it answered" in first.text
    assert "the disk of the server is on fire" in first.text and "sk-proj-a1" not in first.text
    assert first.may_have_run and not first.ok
    assert "the disk of the server is on fire" in second.text  # it was started again, and died again


def test_a_call_is_repeated_on_a_new_connection_only_if_the_server_is_trusted_and_says_that_it_may_be(
    hostile: Start, tmp_path: Path
) -> None:
    (trusted,) = results(run_of(hostile("dies once", tmp_path / "a", trust=True), SAY))
    assert trusted.text == "hello"
    stranger, after = results(run_of(hostile("dies once", tmp_path / "b"), SAY, ("say", {"text": "again"})))
    assert stranger.may_have_run and after.text == "again"


def test_a_server_that_died_between_two_runs_is_started_again(hostile: Start) -> None:
    server = hostile()
    assert results(run_of(server, SAY))[0].ok
    server._connections[0]._portal.call(os.kill, _process(server), 9)
    while not server._connections[0].is_lost:
        time.sleep(0.01)
    assert results(run_of(server, SAY))[0].text == "hello"


def _process(server: McpServer) -> int:
    """Return the id of the process of a server, which is a child of this one."""
    children = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    numbers = [int(number) for file in children for number in file.read_text().split()]
    found = [n for n in numbers if str(SERVER) in Path(f"/proc/{n}/cmdline").read_text()]
    assert len(found) == 1
    return found[0]


def test_a_server_that_does_not_answer_a_call_ends_it_after_the_timeout_and_others_go_on(hostile: Start) -> None:
    (result,) = results(run_of(hostile("hangs", timeout=3.0), SAY))
    assert "did not finish within 3 s" in result.text and result.may_have_run


def test_stopping_a_run_cancels_a_call_that_is_out(hostile: Start) -> None:
    model = Scripted([Reply("", (Call(*SAY, "c"),)), "done"], abilities=Abilities(tools=True))
    run = Agent(model, hostile("hangs"), journal="memory").start("q", paused=True)
    begun = threading.Event()
    run.on_event(lambda event: begun.set() if event.kind == "tool_call" else None)
    run.play()
    assert begun.wait(60)
    run.stop()
    run.wait(60)
    assert run.status == "stopped"


def test_a_server_that_never_answers_cannot_be_connected(hostile: Start) -> None:
    with pytest.raises(UsageError, match="did not answer within 1 s"):
        hostile("silent", timeout=1.0).connect()


def test_a_server_that_ends_at_once_is_reported_with_what_it_wrote_to_its_standard_error(hostile: Start) -> None:
    with pytest.raises(UsageError, match=r"could not be started: .*No module named 'weather'"):
        hostile("exits").connect()


def test_junk_and_a_flood_of_notifications_do_not_lose_the_answer(
    hostile: Start, capfd: pytest.CaptureFixture[str]
) -> None:
    assert results(run_of(hostile("floods"), SAY))[0].text == "hello"
    assert capfd.readouterr().err == ""


def test_a_run_that_an_asynchronous_tool_starts_can_use_a_server(hostile: Start) -> None:
    server = hostile()

    @tool(effect="pure")
    async def delegate() -> str:
        """Delegate."""
        return "".join(results(run_of(server, SAY))[0].text)

    assert results(run_of([delegate], ("delegate", {})))[0].text == "hello"  # type: ignore[arg-type]


def test_a_run_that_is_awaited_can_use_a_server(hostile: Start) -> None:
    async def main() -> Run:
        model = Scripted([Reply("", (Call(*SAY, "c"),)), "done"], abilities=Abilities(tools=True))
        return (await Agent(model, hostile(), journal="memory").start("q")).run

    assert results(asyncio.run(main()))[0].text == "hello"


def test_a_server_that_nobody_uses_any_more_is_ended() -> None:
    server = mcp([sys.executable, str(SERVER)]).connect()
    process = _process(server)
    del server
    gc.collect()
    for _ in range(600):
        if not Path(f"/proc/{process}/cmdline").exists():
            return
        time.sleep(0.1)
    raise AssertionError("its process is still there")


def test_a_closed_server_says_so_and_can_be_connected_again(hostile: Start) -> None:
    server = hostile()
    with server:
        assert results(run_of(server, SAY))[0].ok
    with pytest.raises(UsageError, match=r"was closed; connect\(\) opens it again"):
        run_of(server, SAY)
    assert results(run_of(server.connect(), SAY))[0].text == "hello"


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ("", {}, "is a command"),
        ("a 'b", {}, "is not a command"),
        ("https://host/mcp", {"cwd": "/"}, "for a command"),
        ("server", {"headers": {"a": "b"}}, "headers are for a URL"),
        (3, {}, "server"),
    ],
)
def test_what_is_neither_a_command_nor_a_url_is_refused(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        mcp(arguments, **options)


def test_a_missing_program_or_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no program 'no-such-server'; install it, or write its whole path"):
        mcp("no-such-server --flag").connect()
    with pytest.raises(UsageError, match="there is no folder"):
        mcp("python", cwd=tmp_path / "none").connect()


def test_secrets_in_headers_and_variables_are_masked_where_they_are_shown(hostile: Start) -> None:
    server = hostile("", "sk-proj-" + "a1B2" * 12, env={"TOKEN": "my-own-secret-value-123", "CITY": "Rapperswil-Jona"})
    assert "a1B2" not in repr(server) + repr(server.target)
    assert "my-own-secret" not in repr(vars(server))
    (result,) = results(run_of(server, ("say", {"text": "it is my-own-secret-value-123 in Rapperswil-Jona"})))
    assert "my-own-secret" not in result.text and "Rapperswil-Jona" in result.text


def test_what_a_server_asks_of_its_client_is_refused(hostile: Start) -> None:
    assert json.loads(results(run_of(hostile("asks"), SAY))[0].text) == [True] * 4


def test_a_result_that_is_not_of_the_protocol_is_an_error(hostile: Start) -> None:
    (result,) = results(run_of(hostile("garbled"), SAY))
    assert not result.ok and "content" in result.text


def test_a_result_that_does_not_keep_to_its_schema_is_taken_as_it_is_and_never_matched_with_its_patterns(
    hostile: Start,
) -> None:
    (result,) = results(run_of(hostile(), ("lie", {})))
    assert result.ok and result.text == "\x1b[31mred"
    assert "\x1b" not in repr(result)


def test_a_huge_result_is_kept_within_the_limits_of_any_tool(hostile: Start) -> None:
    (result,) = results(run_of(hostile("big"), SAY))
    assert result.text.startswith("xxx") and len(result.text) <= 20_000_000


def test_only_a_real_picture_is_shown_whatever_its_type_is_said_to_be(hostile: Start) -> None:
    (result,) = results(run_of(hostile("pictures"), SAY))
    assert list(result.value["mime"]) == ["image/png"]
    assert "see" in result.text and result.text.count("a picture of type image/png that is not shown") == 2
    assert "a sound of type audio/wav" in result.text and "the resource a://b" in result.text


def test_hints_count_only_if_the_server_is_trusted(hostile: Start) -> None:
    effects = [[schema["effect"] for schema in hostile(trust=trust).get_tool_schemas()] for trust in (False, True)]
    assert effects == [["irreversible", "irreversible"], ["pure", "pure"]]


def test_tools_that_cannot_be_offered_are_left_out_with_a_warning(hostile: Start) -> None:
    with pytest.warns(RuntimeWarning) as warned:
        schemas = {schema["name"]: schema for schema in hostile("strange").get_tool_schemas()}
    assert {"good", "long", "deep", "slow"} <= schemas.keys()
    assert not {"two\nlines", "big", "x" * 500, "g\u043e\u043ed"} & schemas.keys()
    assert schemas["good"]["description"] == "The tool good." and len(schemas["long"]["description"]) == 10_000
    texts = [str(warning.message) for warning in warned]
    assert any("left out" in text and r"\x1b[31mred" in text for text in texts) and not any("\x1b" in t for t in texts)


def test_a_schema_with_a_slow_pattern_does_not_hold_up_a_call(hostile: Start) -> None:
    server = hostile("strange")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = run_of(server, ("slow", {"text": "a" * 50 + "!"}))
    assert results(run)[0].text == "a" * 50 + "!"


def test_a_list_that_does_not_follow_the_protocol_is_refused_and_the_place_is_named(hostile: Start) -> None:
    with pytest.raises(UsageError, match=r"does not follow the protocol \(tools\.0\.inputSchema\.properties: "):
        hostile("odd").get_tool_schemas()


def test_a_list_that_is_nested_too_deeply_to_be_read_is_said_to_be_so(hostile: Start) -> None:
    with pytest.raises(UsageError, match="did not answer within 5 s; it sent a message that cannot be read"):
        hostile("deep", timeout=5.0).get_tool_schemas()


@pytest.mark.parametrize("way", ["endless", "many"])
def test_a_list_of_tools_without_end_is_read_up_to_a_limit(hostile: Start, way: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(hostile(way).get_tool_schemas()) in (100, 1_000)


def test_a_tool_that_is_renamed_in_the_middle_of_a_run_is_said_to_be_gone(hostile: Start) -> None:
    first, second = results(run_of(hostile("renames"), SAY, SAY))
    assert first.text == "hello"
    assert "no longer has this tool" in second.text and "remove" in second.text and not second.ok


def test_a_new_run_is_offered_the_changed_tools_with_a_warning(hostile: Start) -> None:
    server = hostile("changes", trust=True)
    run_of(server)
    with pytest.warns(RuntimeWarning, match=r"has changed its tools; gone: lie; changed: say"):
        run = run_of(server)
    assert run.performer.tools.names == ("say",)


def test_the_server_sees_few_variables_of_the_environment(hostile: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_MINE", "x")
    server = hostile("", env={"GIVEN": "1"})
    seen = _environment(server)
    assert "GIVEN" in seen and "PATH" in seen and "SECRET_OF_MINE" not in seen


def _environment(server: McpServer) -> list[str]:
    async def call() -> Any:
        return await server.execute_tool("environment", {})

    return list(json.loads(asyncio.run(call())))


class Endless(BaseHTTPRequestHandler):
    """A host that answers everything with a JSON text without end, or with one that is packed."""

    packed = False

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        if self.packed:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        part = gzip.compress(b'"' + b"x" * 10_000_000) if self.packed else b'"' + b"x" * 1_000_000
        with contextlib.suppress(OSError):  # until the client has enough
            for _ in range(1_000):
                self.wfile.write(part)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_over_http_without_end_is_read_up_to_a_limit(packed: bool) -> None:
    handler = type("Handler", (Endless,), {"packed": packed})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        with pytest.raises(UsageError, match=r"could not be reached: .*(packed|longer than 32 MB)"):
            mcp(f"http://127.0.0.1:{host.server_port}/mcp").connect()
        host.shutdown()
