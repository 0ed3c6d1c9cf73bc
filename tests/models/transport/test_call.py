"""One call: stopped at once, tried again after a pause, limited in time and in number."""

from __future__ import annotations

import asyncio
import itertools
import socket
import threading
import time
from typing import Any

import pytest
from loopback import Loopback, answer, calling, completion, cut, delta, fault, lines, message, parts, sse, stall

from agentkit import Agent, tool
from agentkit.core import background
from agentkit.core.messages import Chat
from agentkit.errors import ModelBusy, ModelGarbled, ModelTimeout, ModelUnreachable, UsageError
from agentkit.models import dialects
from agentkit.models.anthropic import Anthropic
from agentkit.models.base import Request
from agentkit.models.ollama import Ollama
from agentkit.models.openai import OpenAI
from agentkit.models.stream_collector import acollect, collect
from agentkit.models.transport import retries
from agentkit.models.transport.rate_limit import RateLimit
from agentkit.models.transport.retries import Retries

pytestmark = pytest.mark.slow

QUICK = Retries(2, first=0.02, longest=0.1)
HALF = [sse(delta(content="half"))]


def ask(text: str = "q", **settings: Any) -> Request:
    return Request(Chat.of(text), dialects.get("native"), settings=settings)


def soon(check: Any, seconds: float = 3.0) -> bool:
    end = time.monotonic() + seconds
    while not check() and time.monotonic() < end:
        time.sleep(0.002)
    return bool(check())


# -- stop --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("midway", [False, True])
def test_stop_closes_the_socket_at_once_while_a_run_plays_in_the_background(midway: bool) -> None:
    with Loopback([stall(HALF if midway else [])]) as host:
        run = Agent(OpenAI("m", base_url=host.url), journal=None).start("q")
        assert soon(lambda: host.got) and host.open == 1
        run.stop()
        assert host.wait_closed(), "the socket waits for the host"
        run.wait()
        assert run.status == "stopped" and run.state.error is None and len(run.pending) == 1
        host.acts[:] = [answer(completion("later"))]
        assert run.play().wait().answer == "later"


@pytest.mark.parametrize("midway", [False, True])
def test_stop_closes_the_socket_at_once_while_a_thread_drives(midway: bool) -> None:
    with Loopback([stall(HALF if midway else [])]) as host:
        run = Agent(OpenAI("m", base_url=host.url), journal=None).start("q", paused=True)
        driver = threading.Thread(target=run.drive)
        driver.start()
        assert soon(lambda: host.got) and host.open == 1
        run.stop()
        assert host.wait_closed(), "the socket waits for the host"
        driver.join(2)
        assert not driver.is_alive() and run.status == "stopped" and run.state.error is None and len(run.pending) == 1
        host.acts[:] = [answer(completion("later"))]
        assert run.drive().answer == "later"


def test_stop_ends_a_loop_over_the_run_quietly() -> None:
    with Loopback([stall(HALF)]) as host:
        run = Agent(OpenAI("m", base_url=host.url), journal=None).start("q", paused=True)
        threading.Thread(target=lambda: soon(lambda: host.got) and run.stop()).start()
        assert list(run) == [] and host.wait_closed()


def test_leaving_the_loop_over_the_chunks_closes_the_socket() -> None:
    with Loopback([stall(HALF)]) as host:
        for chunk in OpenAI("m", base_url=host.url)(ask()):
            assert chunk.text == "half"
            break
        assert host.wait_closed()


def test_a_cancelled_task_closes_the_socket() -> None:
    async def main(model: OpenAI) -> None:  # type: ignore[valid-type]
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await acollect(model(ask()))

    with Loopback([stall(HALF)]) as host:
        asyncio.run(main(OpenAI("m", base_url=host.url)))
        assert host.wait_closed()


# -- for and async for -------------------------------------------------------------------------------------------------


def test_for_and_async_for_yield_the_same_chunks() -> None:
    async def awaited(model: Any) -> list[Any]:
        return [chunk async for chunk in model(ask())]

    raw = calling("add", '{"a": 1, "b": 2}')
    with Loopback([parts(cut(raw, 50))]) as host:
        model = OpenAI("m", base_url=host.url)
        chunks = list(model(ask()))
        assert chunks == asyncio.run(awaited(model)) and len(chunks) > 4


def test_a_blocking_read_on_the_private_loop_is_refused() -> None:
    async def on_the_loop() -> None:
        list(OpenAI("m", base_url="http://127.0.0.1:9")(ask()))

    with pytest.raises(UsageError, match="async for"):
        background.submit(on_the_loop()).result(5)


def test_this_machine_is_asked_directly_in_spite_of_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with Loopback([answer(completion("ok"))]) as host:
        model = OpenAI("m", base_url=host.url, retries=0)
        assert asyncio.run(acollect(model(ask()))).text == "ok"  # each event loop has its own clients


# -- retries -----------------------------------------------------------------------------------------------------------


def test_429_twice_and_then_an_answer_takes_three_requests_that_obey_retry_after() -> None:
    busy = fault("429 Too Many Requests", "slow", retry_after="0.2")
    with Loopback([busy, busy, answer(completion("ok"))]) as host:
        result = Agent(OpenAI("m", base_url=host.url, retries=QUICK), journal=None).run("q")
        gaps = [late.at - early.at for early, late in itertools.pairwise(host.got)]
    assert result.answer == "ok" and len(host.got) == 3 and min(gaps) >= 0.2
    assert len({got.body for got in host.got}) == 1
    problems = result.run.entries[1].result.problems
    assert len(problems) == 2 and all("asked again" in problem and "429" in problem for problem in problems)


def test_without_retry_after_the_pauses_grow() -> None:
    pauses = [Retries(5, first=1, longest=100).pause(ModelBusy(""), n) or 0 for n in range(1, 6)]
    assert all(later > earlier * 1.2 for earlier, later in itertools.pairwise(pauses))
    assert Retries(5).pause(ModelBusy(""), 6) is None
    assert Retries(patience=10).pause(ModelBusy("", retry_after=11), 1) is None


def test_pauses_are_random_so_that_callers_do_not_come_back_together() -> None:
    alone = [Retries(first=1).pause(ModelBusy(""), 1) or 0 for _ in range(20)]
    asked = [Retries().pause(ModelBusy("", retry_after=10), 1) or 0 for _ in range(20)]
    assert len(set(alone)) > 1 and min(alone) >= 0.8 and max(alone) <= 1.2
    assert len(set(asked)) > 1 and min(asked) >= 10 and max(asked) < 12


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        *(({"retry-after": odd}, None) for odd in ("", "-1", "nan", "inf", "soon", "Wed, 99 Oct")),
    ],
)
def test_every_form_of_retry_after_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retries.retry_after(headers) == seconds


def test_a_connection_that_drops_midway_is_tried_again_and_no_text_is_repeated() -> None:
    events: list[Any] = []
    half = [sse(delta(content="half a "))]  # the last word is held back until it is whole, since it may be a secret
    with Loopback([parts(half, whole=False), parts(half), answer(completion("whole"))]) as host:
        agent = Agent(OpenAI("m", base_url=host.url, retries=QUICK), journal=None, on_event=events.append)
        assert agent.run("q").answer == "whole"
    pieces = [(event.data["text"], bool(event.data["again"])) for event in events if event.kind == "model_chunk"]
    assert pieces == [("half a ", False), ("", True), ("half a ", False), ("", True), ("whole", False)]


def test_a_tool_runs_once_however_often_the_model_is_asked_again() -> None:
    ran: list[int] = []

    @tool
    def fire(n: int) -> str:
        """Fire."""
        ran.append(n)
        return "fired"

    begun = calling("fire", '{"n": 1}')
    acts = [
        parts([begun[: len(begun) // 2]], whole=False),
        answer(begun),
        parts(HALF, whole=False),
        answer(completion("done")),
    ]
    with Loopback(acts) as host:
        result = Agent(OpenAI("m", base_url=host.url, retries=QUICK), [fire], journal=None).run("go")
    assert (result.answer, ran, len(host.got)) == ("done", [1], 4)


@pytest.mark.parametrize("status", ["400 Bad Request", "422 Unprocessable Entity"])
def test_a_parameter_that_a_host_does_not_know_is_left_out_from_then_on(status: str) -> None:
    picky = fault(status, "Unrecognized request argument supplied: stream_options")
    with Loopback([picky, answer(completion("ok")), answer(completion("ok"))]) as host:
        agent = Agent(OpenAI("m", base_url=host.url), journal=None)
        first, second = agent.run("q"), agent.run("q")
        assert (first.answer, second.answer, len(host.got)) == ("ok", "ok", 3)
        assert ["stream_options" in got.json for got in host.got] == [True, False, False]
        assert first.run.request(1) == host.got[1].json


def test_a_refusal_is_not_tried_again() -> None:
    with Loopback([fault("400 Bad Request", "no")]) as host:
        assert Agent(OpenAI("m", base_url=host.url), journal=None).run("q").error
        assert len(host.got) == 1


# -- limits ------------------------------------------------------------------------------------------------------------


def test_a_request_can_have_its_own_time_limit() -> None:
    with Loopback([stall([])]) as host:
        model = OpenAI("m", base_url=host.url)
        with pytest.raises(ModelTimeout, match=r"within 0\.2 s"):
            collect(model(ask(timeout=0.2)))
        error = Agent(model, journal=None, settings={"timeout": 0.3}).run("q").error
        assert isinstance(error, ModelTimeout) and "within 0.3 s" in str(error)
        assert "timeout" not in host.got[0].json
    with pytest.raises(UsageError, match="timeout must be"):
        model(ask(timeout=-1))


def slow_head(connection: socket.socket, over: threading.Event) -> None:
    """Keep sending a header that never ends."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nx: ")
    for _ in range(40):
        connection.sendall(b"y")
        over.wait(0.05)


def only_promises(connection: socket.socket, over: threading.Event) -> None:
    """Keep promising an answer."""
    for _ in range(40):
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        over.wait(0.05)


def late_and_silent(connection: socket.socket, over: threading.Event) -> None:
    """Send something shortly before the deadline, and then nothing."""
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    over.wait(0.4)
    connection.sendall(b": here\n\n")
    over.wait(1.0)


@pytest.mark.parametrize("act", [slow_head, only_promises, late_and_silent])
@pytest.mark.parametrize("read", [collect, lambda stream: asyncio.run(acollect(stream))], ids=["for", "async for"])
def test_no_host_can_hold_a_call_beyond_its_time(act: Any, read: Any) -> None:
    with Loopback([act]) as host, pytest.raises(ModelTimeout, match=r"did not finish its reply within 0\.5 s"):
        read(OpenAI("m", base_url=host.url, timeout=0.5, silence=0.5, retries=0)(ask()))


WHOLE = {
    OpenAI: completion("hi").removesuffix(b"data: [DONE]\n\n"),
    Anthropic: message({"type": "text", "text": "hi"}),
    Ollama: lines({"message": {"content": "hi"}, "done": True}),
}


@pytest.mark.parametrize("make", WHOLE)
def test_a_whole_reply_does_not_wait_for_a_host_that_keeps_the_connection_open(make: Any) -> None:
    closed: list[bytes] = []

    def hold(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + WHOLE[make])
        connection.settimeout(10)
        closed.append(connection.recv(1))

    with Loopback([hold]) as host:
        assert collect(make("m", base_url=host.url)(ask())).text == "hi"
        assert host.wait_closed() and closed == [b""]


def test_a_rate_limit_spaces_the_requests_evenly() -> None:
    with Loopback([answer(completion("ok"))]) as host:
        limit = RateLimit(600)
        models = [OpenAI("m", base_url=host.url, per_minute=limit) for _ in range(2)]
        began = time.monotonic()
        for model in models * 2:
            collect(model(ask()))
        assert len(host.got) == 4 and host.got[3].at - began >= 0.3


def test_all_runs_that_share_a_rate_limit_get_their_turn() -> None:
    with Loopback([answer(completion("ok"))]) as host:
        model, began = OpenAI("m", base_url=host.url, per_minute=1200), time.monotonic()
        runs = [Agent(model, journal=None).start("q") for _ in range(8)]
        assert [run.wait().answer for run in runs] == ["ok"] * 8
        assert max(got.at for got in host.got) - began >= 0.35


def test_the_wait_for_a_turn_does_not_count_towards_the_timeout() -> None:
    with Loopback([answer(completion("ok"))]) as host:
        model = OpenAI("m", base_url=host.url, per_minute=24, timeout=2)
        assert [collect(model(ask())).text for _ in range(2)] == ["ok"] * 2


class WatchedLimit(RateLimit):
    """A rate limit that tells when a call waits for its turn."""

    waited = threading.Semaphore(0)

    async def wait(self) -> float:
        self.waited.release()
        return await super().wait()


def test_a_call_that_is_stopped_before_its_turn_takes_no_turn() -> None:
    with Loopback([answer(completion("ok"))]) as host:
        limit = WatchedLimit(0.001)
        agent = Agent(OpenAI("m", base_url=host.url, per_minute=limit), journal=None)
        assert agent.run("q").answer == "ok" and limit.waited.acquire(timeout=10)
        before, run = limit._next, agent.start("q")
        assert limit.waited.acquire(timeout=10)
        run.stop()
        assert run.wait().run.status == "stopped" and limit._next == before and len(host.got) == 1


def test_a_reply_that_was_cut_off_is_not_accepted_without_retries_either() -> None:
    with Loopback([parts(HALF)]) as host, pytest.raises(ModelGarbled):
        collect(OpenAI("m", base_url=host.url, retries=0)(ask()))
    with Loopback([parts(HALF, whole=False)]) as host, pytest.raises(ModelUnreachable):
        collect(OpenAI("m", base_url=host.url, retries=0)(ask()))
