"""Connections are kept for the next call to the same host."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from loopback import Loopback, answer, calling, completion, cut, fault, parts, stall

from agentkit import Agent, tool
from agentkit.core.messages import Chat
from agentkit.errors import ModelUnreachable
from agentkit.models import dialects
from agentkit.models.base import Request
from agentkit.models.openai import OpenAI
from agentkit.models.stream_collector import acollect, collect

ASKED = Request(Chat.of("q"), dialects.get("native"))


@tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.mark.parametrize("act", [answer, lambda raw: parts(cut(raw, 60)), lambda raw: parts([raw])])
@pytest.mark.parametrize("background", [True, False])
def test_all_turns_of_a_run_use_one_connection(act: Any, background: bool) -> None:
    acts = [act(calling("add", '{"a": 1, "b": 2}')), act(calling("add", '{"a": 3, "b": 4}')), act(completion("ten"))]
    with Loopback(acts, keeps=True) as host:
        run = Agent(OpenAI("m", base_url=host.url), [add], journal=None).start("1+2+3+4?", paused=True)
        assert (run.play().wait() if background else run.drive()).answer == "ten"
        assert (len(host.got), host.connections) == (3, 1)


def test_a_refusal_does_not_cost_the_connection() -> None:
    with Loopback([fault("429 Too Many", "slow", retry_after="0"), answer(completion("hi"))], keeps=True) as host:
        assert collect(OpenAI("m", base_url=host.url)(ASKED)).text == "hi"
        assert (len(host.got), host.connections) == (2, 1)


def test_calls_at_the_same_time_use_connections_of_their_own() -> None:
    both = threading.Barrier(2)

    def act(connection: socket.socket, over: threading.Event) -> None:
        both.wait(10)
        connection.sendall(answer(completion("hi")))

    with Loopback([act], keeps=True) as host:
        model = OpenAI("m", base_url=host.url)
        threads = [threading.Thread(target=lambda: collect(model(ASKED))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert (len(host.got), host.connections) == (2, 2)


def test_a_kept_connection_that_the_host_has_closed_is_replaced_without_a_word() -> None:
    def close(connection: socket.socket, over: threading.Event) -> None:
        connection.shutdown(socket.SHUT_RDWR)  # the request was read, but there is no response

    with Loopback([answer(completion("one")), close, answer(completion("two"))], keeps=True) as host:
        model = OpenAI("m", base_url=host.url, retries=0)
        assert collect(model(ASKED)).text == "one"
        reply = collect(model(ASKED))
        assert (reply.text, reply.problems, host.connections) == ("two", (), 2)
    with Loopback([close]) as host, pytest.raises(ModelUnreachable):
        collect(OpenAI("m", base_url=host.url, retries=0)(ASKED))
    assert len(host.got) == 1


def test_a_reply_does_not_wait_for_the_end_of_its_response() -> None:
    with Loopback([stall([completion("hi")])], keeps=True) as host:
        assert collect(OpenAI("m", base_url=host.url)(ASKED)).text == "hi"
        assert host.wait_closed()


def test_stop_closes_a_connection_that_was_kept_before() -> None:
    acts = [answer(calling("add", '{"a": 1, "b": 2}')), stall([completion("ten")[:80]])]
    with Loopback(acts, keeps=True) as host:
        run = Agent(OpenAI("m", base_url=host.url), [add], journal=None).start("q")
        while len(host.got) < 2:
            time.sleep(0.01)
        run.stop()
        assert host.wait_closed() and host.connections == 1


def test_another_event_loop_leaves_nothing_open() -> None:
    async def ask(model: Any) -> str:
        return (await acollect(model(ASKED))).text

    with Loopback([answer(completion("hi"))], keeps=True) as host:
        assert asyncio.run(ask(OpenAI("m", base_url=host.url))) == "hi"
        assert host.wait_closed()


def test_kept_connections_are_closed_when_the_process_exits() -> None:
    code = """
import sys
from agentkit import Agent
from agentkit.models import OpenAI
print(Agent(OpenAI("m", base_url=sys.argv[1]), journal=None).run("q").answer)
"""
    with Loopback([answer(completion("hi"))], keeps=True) as host:
        done = subprocess.run([sys.executable, "-W", "error", "-c", code, host.url], capture_output=True, timeout=60)
        assert (done.stdout, done.stderr, done.returncode) == (b"hi\n", b"", 0)
        assert host.wait_closed()
