"""Against a third-party server with the APIs of OpenAI, Anthropic and Ollama: aimock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from aimock_pytest._server import AIMockServer

from agentkit import Agent, tool
from agentkit.errors import ModelBusy, ModelDenied, ModelError
from agentkit.models.anthropic import Anthropic
from agentkit.models.ollama import Ollama
from agentkit.models.openai import OpenAI
from agentkit.models.remote import Remote
from agentkit.models.transport.retries import Retries

pytestmark = pytest.mark.slow

QUICK = Retries(2, first=0.05)
PROVIDERS = ("openai", "anthropic", "ollama")
EACH = pytest.mark.parametrize("provider", PROVIDERS)


@contextmanager
def started(manager: Any, **options: Any) -> Iterator[AIMockServer]:
    """Start a server for one test; the fixtures of the plugin leave a pipe open."""
    server = AIMockServer(manager, **options)
    server.start()
    process, reading = server._proc, server._reader_thread
    try:
        yield server
    finally:
        server.stop()
        if process and process.stdout and reading:
            reading.join(5)
            process.stdout.close()


@pytest.fixture(scope="module")
def shared(aimock_cli: str, _aimock_node_manager: Any) -> Iterator[AIMockServer]:
    with started(_aimock_node_manager) as server:
        yield server


@pytest.fixture
def server(shared: AIMockServer) -> AIMockServer:
    shared.reset()
    return shared


def model(url: str, provider: str, **more: Any) -> Remote:
    more = {"retries": QUICK, "timeout": 20, **more}
    if provider == "openai":
        return OpenAI("m", base_url=f"{url}/v1", **more)
    return (Anthropic if provider == "anthropic" else Ollama)("m", base_url=url, **more)


@EACH
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_streamed_text_and_thinking_are_joined_correctly(server: Any, provider: str, size: int) -> None:
    text, thought = "Grüße — 5 × 5 is 25 😀.", "Let me see: five times five."
    server.add_fixture({"userMessage": "5*5"}, {"content": text, "reasoning": thought}, chunkSize=size)
    events: list[Any] = []
    result = Agent(model(server.base_url, provider), journal=None, on_event=events.append).run("5*5?")
    assert (result.answer, result.error) == (text, None)
    thought = "" if provider == "ollama" else thought  # the Ollama API of this server sends no thinking
    assert result.run.entries[1].result.reasoning == thought
    pieces = [event.data for event in events if event.kind == "model_chunk"]
    assert "".join(piece["text"] for piece in pieces) == text
    assert "".join(piece["reasoning"] for piece in pieces) == thought
    assert len(pieces) >= (10 if size == 1 else 1)


@EACH
@pytest.mark.parametrize("size", [1, 1000])
def test_parallel_calls_all_run_each_with_its_own_arguments(server: Any, provider: str, size: int) -> None:
    ran: list[tuple[int, int]] = []

    @tool(effect="pure")
    def add(a: int, b: int) -> int:
        """Add."""
        ran.append((a, b))
        return a + b

    calls = [{"name": "add", "arguments": f'{{"a": {n}, "b": 1}}', "id": f"call_{n}"} for n in range(3)]
    server.add_fixture({"userMessage": "sums", "hasToolResult": False}, {"toolCalls": calls}, chunkSize=size)
    server.add_fixture({"userMessage": "sums", "hasToolResult": True}, {"content": "1, 2, 3"})
    result = Agent(model(server.base_url, provider), [add], journal=None).run("sums")
    assert (result.answer, result.error) == ("1, 2, 3", None)
    assert sorted(ran) == [(0, 1), (1, 1), (2, 1)]


@EACH
def test_a_busy_host_is_asked_again(server: Any, provider: str) -> None:
    server.on_message("hi", {"content": "hello"})
    server.next_error(503, {"message": "down for a moment"})
    result = Agent(model(server.base_url, provider), journal=None).run("hi")
    assert result.answer == "hello" and len(result.run.entries[1].result.problems) == 1


@EACH
def test_a_busy_host_that_stays_busy_is_an_error(server: Any, provider: str) -> None:
    server.add_fixture({"userMessage": "hi"}, {"error": {"message": "no", "type": "overloaded_error"}, "status": 503})
    result = Agent(model(server.base_url, provider), journal=None).run("hi")
    assert type(result.error) is ModelBusy and "tried 3 times" in str(result.error)


@EACH
@pytest.mark.parametrize(
    "cut", [{"truncateAfterChunks": 3}, {"chaos": {"malformedRate": 1}}, {"chaos": {"disconnectRate": 1}}]
)
def test_a_broken_stream_is_never_an_answer(server: Any, provider: str, cut: dict[str, Any]) -> None:
    server.add_fixture({"userMessage": "hi"}, {"content": "hello, this is long enough to be cut"}, chunkSize=2, **cut)
    result = Agent(model(server.base_url, provider, retries=0), journal=None).run("hi")
    assert isinstance(result.error, ModelError) and result.answer == ""


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_wrong_key_is_refused_and_the_right_one_accepted(
    aimock_cli: str, _aimock_node_manager: Any, provider: str
) -> None:
    with started(_aimock_node_manager, api_key="right-key-0001") as guarded:
        guarded.on_message("hi", {"content": "hello"})
        wrong = Agent(model(guarded.base_url, provider, api_key="wrong-key-0001"), journal=None).run("hi")
        right = Agent(model(guarded.base_url, provider, api_key="right-key-0001"), journal=None).run("hi")
    assert type(wrong.error) is ModelDenied and "wrong-key-0001" not in str(wrong.error)
    assert right.answer == "hello"
