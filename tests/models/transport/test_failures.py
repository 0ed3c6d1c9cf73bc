"""Everything that can go wrong on the way ends in time, in a typed error that names host, model and what to do.

Each case runs twice: driven in this thread, and in the background. Nothing is left open, and the run can be tried
again.
"""

from __future__ import annotations

import gzip
import random
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback import Act, Loopback, answer, completion, cut, delta, fault, parts, sse, stall

from agentkit import Agent
from agentkit.errors import (
    ContextOverflow,
    ModelBusy,
    ModelDenied,
    ModelError,
    ModelGarbled,
    ModelMissing,
    ModelRejected,
    ModelTimeout,
    ModelUnreachable,
    UsageError,
)
from agentkit.models.openai import OpenAI
from agentkit.models.transport import clients
from agentkit.models.transport.retries import Retries

pytestmark = pytest.mark.slow

QUICK = Retries(2, first=0.01, longest=0.05)
TIMEOUT = 20.0
SHORTER = dict.fromkeys(("silent", "silent midway", "dripping"), 1.0)  # what ends only when the time is up
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"


def drop(connection: socket.socket, over: threading.Event) -> None:
    """Reset the connection without a word."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()


def half_closed(connection: socket.socket, over: threading.Event) -> None:
    """Announce more than is sent."""
    connection.sendall(HEAD + b"content-length: 100000\r\n\r\n" + sse(delta(content="half")))
    connection.shutdown(socket.SHUT_WR)
    over.wait(0.2)


def drip(connection: socket.socket, over: threading.Event) -> None:
    """Keep sending without ever finishing."""
    connection.sendall(HEAD + b"\r\n")
    while not over.wait(0.05):
        connection.sendall(b": still here\n\n")


def endless(connection: socket.socket, over: threading.Event) -> None:
    """Send a gigabyte."""
    connection.sendall(HEAD + b"\r\n")
    piece = sse(delta(content="x" * 1_000_000))
    for _ in range(1000):
        connection.sendall(piece)


def endless_error(connection: socket.socket, over: threading.Event) -> None:
    """Refuse, and explain why without end."""
    connection.sendall(b"HTTP/1.1 500 Oops\r\n\r\nwhy: ")
    while not over.is_set():
        connection.sendall(b"because " * 100_000)


GZIP = {"content_encoding": "gzip"}
PACKED = gzip.compress(completion("hi"))
NOISE = random.Random(5).randbytes(5000)
CASES: dict[str, tuple[Act | bytes, type[ModelError], str]] = {
    "401": (fault("401 Unauthorized", "Incorrect API key provided"), ModelDenied, "Check the key"),
    "403": (fault("403 Forbidden", "not for you"), ModelDenied, "may use this model"),
    "402": (fault("402 Payment Required", "no credit"), ModelDenied, "in credit"),
    "404": (fault("404 Not Found", "The model `m` does not exist"), ModelMissing, "Check the model's name"),
    "400": (fault("400 Bad Request", "messages: bad"), ModelRejected, "run.request"),
    "no tools": (fault("400 Bad Request", "m does not support tools"), ModelRejected, "dialect="),
    "overflow": (
        fault("400 Bad Request", "This model's maximum context length is 9 tokens"),
        ContextOverflow,
        "too long",
    ),
    "429": (fault("429 Too Many Requests", "slow down"), ModelBusy, "try again later"),
    "429 for long": (fault("429 Too Many Requests", "slow down", retry_after="3600"), ModelBusy, "in 60 minutes"),
    "429 now": (fault("429 Too Many Requests", "slow down", retry_after="0"), ModelBusy, "tried 3 times"),
    "500": (fault("500 Internal Server Error", "oops"), ModelBusy, "tried 3 times"),
    "503": (answer("<html><b>Bad gateway</b></html>", "503 Unavailable", "text/html"), ModelBusy, "Bad gateway"),
    "529": (fault("529 Overloaded", "overloaded"), ModelBusy, "Fallback"),
    "dropped": (drop, ModelUnreachable, "tried 3 times"),
    "dropped midway": (parts([sse(delta(content="half"))], whole=False), ModelUnreachable, "broke the connection"),
    "silent": (stall([]), ModelTimeout, "timeout="),
    "silent midway": (stall([sse(delta(content="half"))]), ModelTimeout, "timeout="),
    "dripping": (drip, ModelTimeout, "within 1 s"),
    "half closed": (half_closed, ModelUnreachable, "broke the connection"),
    "a gigabyte": (endless, ModelGarbled, "more than 32,000,000 bytes"),
    "an error without end": (endless_error, ModelBusy, "answered 500: why: because"),
    "a page": (answer("<!doctype html><title>Sign in</title>", kind="text/html"), ModelGarbled, "base URL"),
    "no gzip": (answer(completion("hi"), **GZIP), ModelGarbled, "damaged"),
    "cut gzip": (answer(PACKED[:20], **GZIP), ModelGarbled, "nothing of it was used"),
    "garbage": (answer(b"data: \xff{{{\n\n"), ModelGarbled, "not JSON"),
    "noise": (answer(NOISE), ModelGarbled, "nothing of it was used"),
    "noise like a page": (answer(b"<\x8a" + NOISE), ModelGarbled, "nothing of it was used"),
    "noise like an object": (answer(b"{" + NOISE), ModelGarbled, "nothing of it was used"),
    "a page in pieces": (parts([b"<", b"html>", b"Sign in"]), ModelGarbled, "base URL"),
    "nothing": (answer(b""), ModelGarbled, "cut off its reply after 0 bytes"),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", ModelUnreachable, "Try again"),
    "an error inside": (answer(sse(delta(content="a"), {"error": {"message": "odd tool"}})), ModelRejected, "odd tool"),
    "cut": (parts([sse(delta(content="half"))]), ModelGarbled, "without a finish reason"),
    "elsewhere": (answer("", "302 Found", location="https://login.example/?token=abc"), ModelMissing, "login.example"),
}


@pytest.fixture(autouse=True)
def nothing_left_open() -> Iterator[None]:
    """Check that no thread and no file is left open, apart from the connections that are kept."""
    with Loopback([answer(completion("warm"))]) as host:  # whatever is kept for good exists by now
        Agent(OpenAI("m", base_url=host.url), journal=None).run("q")
        Agent(OpenAI("m", base_url=host.url), journal=None).start("q").wait()
    clients.close_kept()
    before = open_files()
    yield
    clients.close_kept()
    end = time.monotonic() + 3
    while time.monotonic() < end and (
        open_files() > before or "agentkit-call" in {t.name for t in threading.enumerate()}
    ):
        time.sleep(0.01)
    assert "agentkit-call" not in {thread.name for thread in threading.enumerate()}
    assert open_files() <= before


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0


@pytest.mark.parametrize("background", [False, True], ids=["foreground", "background"])
@pytest.mark.parametrize("case", CASES)
def test_every_failure_is_a_helpful_error_and_the_run_can_be_tried_again(case: str, background: bool) -> None:
    act, kind, advice = CASES[case]
    good: list[Act | bytes] = [answer(completion("at last"))]
    with Loopback([act]) as host:
        timeout = SHORTER.get(case, TIMEOUT)
        model = OpenAI("m", base_url=host.url + "/v1", api_key="local-key-000001", timeout=timeout, retries=QUICK)
        agent = Agent(model, journal="memory")
        run = agent.start("q", paused=True)
        result = run.play().wait() if background else run.drive()
        error_text = str(result.error)
        assert type(result.error) is kind, error_text
        assert host.host in error_text and "(m)" in error_text and advice in error_text, error_text
        assert "local-key-000001" not in error_text and "token=abc" not in error_text
        assert run.status == "failed" and len(run.pending) == 1 and result.answer == ""
        assert host.wait_closed(), "a connection was left open"
        host.acts[:] = good
        again = run.play().wait() if background else run.drive()
        assert (again.answer, again.error, run.status) == ("at last", None, "done")


def test_a_host_that_is_down_and_one_that_does_not_exist() -> None:
    with Loopback([b""]) as gone:
        url = gone.url
    for base, error_text in ((url, "cannot be reached"), ("http://no-such-host.invalid/v1", "cannot be reached")):
        result = Agent(OpenAI("m", base_url=base, retries=QUICK, timeout=5), journal=None).run("q")
        assert (
            type(result.error) is ModelUnreachable
            and error_text in str(result.error)
            and "Is it up" in str(result.error)
        )


def test_a_slow_stream_is_not_a_failure() -> None:
    with Loopback([parts(cut(completion("slow and whole"), 20), pause=0.005)]) as host:
        result = Agent(OpenAI("m", base_url=host.url, timeout=20, silence=5), journal=None).run("q")
    assert result.answer == "slow and whole"


def test_a_key_with_a_line_break_is_trimmed_and_one_with_a_space_refused() -> None:
    with Loopback([answer(completion("ok"))]) as host:
        assert Agent(OpenAI("m", base_url=host.url, api_key="abcdefgh1\n"), journal=None).run("q").answer == "ok"
        assert host.got[0].headers["authorization"] == "Bearer abcdefgh1"
    with pytest.raises(UsageError, match="the key in api_key") as refused:
        OpenAI("m", api_key="abc def")
    assert "abc def" not in str(refused.value)


def test_without_a_key_nothing_is_sent_and_the_error_names_the_variable(monkeypatch: Any) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = Agent("openai:gpt-5-mini", journal=None).run("q")
    assert (
        type(result.error) is ModelDenied
        and "OPENAI_API_KEY" in str(result.error)
        and "api.openai.com" in str(result.error)
    )


def test_a_key_in_the_place_of_its_name_is_refused_and_not_shown() -> None:
    with pytest.raises(UsageError, match="key_name is the name of the variable") as refused:
        OpenAI("m", base_url="http://127.0.0.1:9/v1", key_name="sk-proj-abcdefghijkl0123456789")
    assert "abcdefghijkl" not in str(refused.value)


def test_a_refusal_without_a_key_does_not_call_the_key_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GATEWAY_KEY", raising=False)
    with Loopback([fault("401 Unauthorized", "who are you")]) as host:
        for name, says in (
            ("", "Check the key, if one was given. Or pass"),
            ("GATEWAY_KEY", "Is GATEWAY_KEY set, and is its key right?"),
        ):
            failed = Agent(OpenAI("m", base_url=f"{host.url}/v1", key_name=name), journal=None).run("q").error
            assert isinstance(failed, ModelDenied) and says in str(failed)
            assert "authorization" not in host.got[-1].headers
