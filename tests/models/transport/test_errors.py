"""Errors of hosts: the type tells who can do something about it, and the text tells what."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, answer, completion, delta, fault, sse

from agentkit import Agent, Answer, Chat, structured
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
from agentkit.models import dialects, urls
from agentkit.models.base import Request
from agentkit.models.fallback import Fallback
from agentkit.models.openai import OpenAI
from agentkit.models.stream_collector import acollect
from agentkit.models.transport import errors
from agentkit.models.transport.rate_limit import RateLimit
from agentkit.models.transport.retries import Retries

pytestmark = pytest.mark.slow

QUOTA = {
    "error": {"message": "You exceeded your current quota.", "type": "insufficient_quota", "code": "insufficient_quota"}
}
TOO_LONG = "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"
CASES: dict[str, tuple[bytes, type[ModelError], str]] = {
    "no credit as 429": (answer(json.dumps(QUOTA), "429 Too Many", "application/json"), ModelDenied, "no credit left"),
    "no credit as 400": (
        fault("400 Bad", "Your credit balance is too low to access the API."),
        ModelDenied,
        "no credit left",
    ),
    "a wrong key as 400": (
        fault("400 Bad", "API key not valid. Please pass a valid API key."),
        ModelDenied,
        "Check the key",
    ),
    "a wrong key as 400, in other words": (
        fault("400 Bad", "Incorrect API key provided: s***"),
        ModelDenied,
        "Check the key",
    ),
    "a body that is too big": (fault("413 Too Large", "Request exceeds the maximum size"), ContextOverflow, "too long"),
    "too long with the reply": (fault("400 Bad", TOO_LONG), ContextOverflow, "too long"),
    "too long for a prompt": (
        fault("400 Bad", "This model's maximum prompt length is 131072"),
        ContextOverflow,
        "too long",
    ),
    "too long for vLLM": (
        fault("400 Bad", "The decoder prompt (length 2136) is longer than the maximum model length of 2048."),
        ContextOverflow,
        "too long",
    ),
    "too long for TGI": (
        fault(
            "422 No", "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 1244 and 1000"
        ),
        ContextOverflow,
        "too long",
    ),
    "no API there": (answer("Method Not Allowed", "405 Method Not Allowed", "text/plain"), ModelMissing, "base URL"),
    "not a reply": (answer("Down for repair"), ModelGarbled, "something that is not a reply ('Down for repair')"),
    "a wrong key inside": (
        answer(sse({"error": {"message": "bad x-api-key", "type": "authentication_error"}})),
        ModelDenied,
        "Check the key",
    ),
    "no credit inside": (answer(sse(QUOTA)), ModelDenied, "no credit left"),
    "a status inside": (
        answer(sse({"error": {"message": "Provider returned error", "code": 502}})),
        ModelBusy,
        "try again",
    ),
    "a proxy that wants a password": (fault("407 Proxy", "no"), ModelDenied, "HTTPS_PROXY"),
    "no JSON mode": (
        fault("400 Bad", "'response_format' is not supported here"),
        ModelRejected,
        'abilities={"json": False}',
    ),
    "an odd setting": (
        fault("400 Bad", "Use 'max_completion_tokens' instead of 'max_tokens'."),
        ModelRejected,
        "settings=",
    ),
    "a limit inside": (
        answer(sse({"error": {"message": "slow", "type": "rate_limit_error"}})),
        ModelBusy,
        "per_minute=",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_type_tells_who_can_act_and_the_text_tells_how(case: str) -> None:
    act, kind, advice = CASES[case]
    with Loopback([act]) as host:
        error = Agent(OpenAI("m", base_url=host.url, retries=0), journal=None).run("q").error
        assert type(error) is kind and advice in str(error) and host.host in str(error), str(error)
        assert ".." not in str(error)


def test_an_account_without_credit_is_not_asked_again() -> None:
    with Loopback([CASES["no credit as 429"][0], answer(completion("paid"))]) as host:
        assert isinstance(Agent(OpenAI("m", base_url=host.url), journal=None).run("q").error, ModelDenied)
        assert len(host.got) == 1


def city(task: Any) -> Any:
    """Ask for a city."""
    city_data = yield from structured(task, {"type": "object", "required": ["name"]})
    return Answer(city_data.value["name"], Chat.of(task))


@pytest.mark.parametrize(
    ("refusal", "answered"),
    [
        (fault("404 Not Found", "No endpoints found that support tool use"), "Bern"),
        (fault("400 Bad", "tool_choice is not supported"), "Bern"),
        (fault("500 Internal", "tools param requires --jinja flag"), "Bern"),
        (fault("400 Bad", "API key not valid"), ""),
        (fault("400 Bad", "the model `m` does not exist"), ""),
    ],
)
def test_only_if_a_way_to_ask_for_data_is_refused_is_another_one_tried(refusal: bytes, answered: str) -> None:
    with Loopback([refusal, answer(completion('{"name": "Bern"}'))]) as host:
        result = Agent(OpenAI("m", base_url=host.url), engine=city, journal=None).run("q")
        assert (result.answer, len(host.got)) == (answered, 2 if answered else 1), result.error


def test_a_refusal_inside_a_reply_also_leads_to_another_way_to_ask_for_data() -> None:
    no = {"error": {"message": "tool choice requires --enable-auto-tool-choice", "code": 400}}
    with Loopback([answer(sse(no)), answer(completion('{"name": "Bern"}'))]) as host:
        result = Agent(OpenAI("m", base_url=host.url), engine=city, journal=None).run("q")
        assert (result.answer, len(host.got)) == ("Bern", 2), result.error


def test_a_parameter_that_is_refused_inside_a_reply_is_left_out() -> None:
    no = {"error": {"message": "Unsupported parameter: 'stream_options'", "code": 400}}
    with Loopback([answer(sse(no)), answer(completion("ok"))]) as host:
        assert Agent(OpenAI("m", base_url=host.url), journal=None).run("q").answer == "ok"
        assert ["stream_options" in got.json for got in host.got] == [True, False]


def test_a_refused_request_can_be_looked_at() -> None:
    with Loopback([fault("400 Bad", "no"), answer(completion("ok"))]) as host:
        run = Agent(OpenAI("m", base_url=host.url, settings={"top_k": 3}), journal=None).start("q", paused=True)
        assert "run.request() shows it" in str(run.drive().error) and run.request() == host.got[0].json
        assert run.drive().answer == "ok"
        with pytest.raises(UsageError, match="no model call is pending"):
            run.request()


def test_leaving_a_parameter_out_does_not_count_as_an_attempt() -> None:
    busy, picky = fault("503 Busy", "no"), fault("400 Bad", "Unrecognized argument: stream_options")
    with Loopback([picky, busy, busy, answer(completion("ok"))]) as host:
        model = OpenAI("m", base_url=host.url, retries=Retries(2, first=0.01))
        assert Agent(model, journal=None).run("q").answer == "ok"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (61, "61 s"), (3600.5, "61 minutes"), (86400, "24 hours"), (1e8, "1,158 days")]
)
def test_a_long_wait_is_given_in_a_suitable_unit(seconds: float, text: str) -> None:
    assert errors.duration(seconds) == text
    with Loopback([fault("429 Too Many", "slow down", retry_after=str(seconds))]) as host:
        error = Agent(OpenAI("m", base_url=host.url, retries=0), journal=None).run("q").error
        assert f"try again in {text}" in str(error) and isinstance(error, ModelBusy) and error.retry_after == seconds


@pytest.mark.parametrize("proxy", ["socks5://u:hunter2secret@127.0.0.1:9", "htp://u:hunter2secret@127.0.0.1:9", "::::"])
def test_the_error_for_an_unusable_proxy_names_host_model_and_the_variables(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    through(proxy, monkeypatch)
    error = failed("http://gateway.invalid/v1")
    assert isinstance(error, ModelUnreachable) and "gateway.invalid (m)" in str(error) and "HTTP_PROXY" in str(error)
    assert "hunter2" not in str(error)


def test_the_error_for_an_unreachable_host_mentions_the_proxy_in_front_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    through("http://127.0.0.1:9", monkeypatch)
    assert "asked through a proxy" in str(failed("http://gateway.invalid/v1"))
    assert "proxy" not in str(failed("http://127.0.0.1:9/v1"))


def test_the_error_for_unreadable_certificates_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    assert "cannot be reached" in str(failed("https://gateway.invalid/v1")) and "SSL_CERT_FILE" in str(
        failed("https://gateway.invalid")
    )


def through(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", proxy)


def failed(base: str) -> Exception:
    async def ask() -> None:
        await acollect(OpenAI("m", base_url=base, retries=0)(Request(Chat.of("q"), dialects.get("native"))))

    with pytest.raises(ModelError) as caught:
        asyncio.run(asyncio.wait_for(ask(), 60))  # in a new event loop, whose clients see the present environment
    return caught.value


@pytest.mark.parametrize("wrong", [None, 0, -1, True, "5", float("nan")])
def test_an_unusable_time_limit_is_refused_at_once(wrong: Any) -> None:
    with pytest.raises(UsageError, match=r"timeout (of Remote )?must be a number"):
        OpenAI("m", base_url="http://127.0.0.1:9", timeout=wrong)


@pytest.mark.parametrize("wrong", [-1, "60", None, True, float("nan"), float("inf")])
def test_an_unusable_rate_limit_is_refused(wrong: Any) -> None:
    with pytest.raises(UsageError, match="per_minute"):
        RateLimit(wrong)


def test_a_base_url_is_accepted_as_people_copy_it() -> None:
    for copied in (" http://127.0.0.1:9/v1 ", "http://127.0.0.1:9/v1/", "http://127.0.0.1:9/v1/chat/completions"):
        assert OpenAI("m", base_url=copied).url == "http://127.0.0.1:9/v1/chat/completions"
    with pytest.raises(UsageError, match="name the model apart"):
        OpenAI("m", base_url="http://127.0.0.1:9/v1#m")


def test_only_the_names_of_this_machine_are_local() -> None:
    assert all(map(urls.is_local, ("localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]", "0.0.0.0", "a.localhost")))
    assert not any(
        map(urls.is_local, ("127.example.com", "localhost.example.com", "10.0.0.1", "128.0.0.1", "example.com"))
    )


def test_a_host_that_keeps_sending_after_a_whole_reply_is_disconnected() -> None:
    left: list[bool] = []

    def act(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + sse(delta(content="hi"), delta("stop")))
        with contextlib.suppress(OSError):
            while not over.wait(0.05):
                connection.sendall(b": still here\n\n")
        left.append(not over.is_set())

    with Loopback([act]) as host:
        assert Agent(OpenAI("m", base_url=host.url, timeout=60), journal=None).run("q").answer == "hi"
        assert host.wait_closed() and left == [True]


def test_a_call_may_take_as_long_as_its_model_allows_and_any_other_as_long_as_the_run_allows() -> None:
    def late(connection: socket.socket, over: threading.Event) -> None:
        over.wait(0.5)
        connection.sendall(answer(completion("late, and whole")))

    async def silent(request: Request) -> str:
        await asyncio.Event().wait()
        return ""

    with Loopback([late]) as host:
        slow = OpenAI("m", base_url=host.url, timeout=60)
        answers = []
        for model in (slow, Fallback([slow]), silent):
            run = Agent(model, journal=None).start("q", paused=True)
            run.performer.model_timeout = 0.1
            answers.append(run.drive().answer)
        assert answers == ["late, and whole"] * 2 + [""] and isinstance(run.state.error, ModelTimeout)
