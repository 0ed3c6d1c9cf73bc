"""Graded by a third-party server: llmock breaks calls on purpose and judges how the client reacts."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit import Agent, tool
from agentkit.errors import ContextOverflow, ModelDenied, ModelError, ModelTimeout
from agentkit.models.anthropic import Anthropic
from agentkit.models.openai import OpenAI
from agentkit.models.remote import Remote
from agentkit.models.transport.retries import Retries

pytestmark = pytest.mark.slow

QUICK = Retries(2, first=0.4)  # long enough for the server to notice a closed connection
BOTH = pytest.mark.parametrize("provider", ["openai", "anthropic"])
WAYS = pytest.mark.parametrize("background", [False, True], ids=["here", "behind"])


def model(llmock: Any, provider: str, **more: Any) -> Remote:
    make = OpenAI if provider == "openai" else Anthropic
    return make(
        "test-model", base_url=llmock.base_url(provider), api_key="llmock-test-key", **{"retries": QUICK, **more}
    )


def drive(agent: Agent, task: str, background: bool = False) -> Any:
    return agent.start(task).wait() if background else agent.run(task)


@BOTH
@WAYS
@pytest.mark.parametrize("trouble", ["rate_limit", "outage", "disconnect", "truncate", "corrupt", "slow"])
def test_a_passing_trouble_is_survived_and_the_client_graded_well(
    llmock: Any, provider: str, background: bool, trouble: str
) -> None:
    if trouble == "rate_limit":
        llmock.rate_limit(times=2, retry_after=0.3, provider=provider)
    elif trouble == "outage":
        llmock.fail(503, times=2, provider=provider)
    elif trouble == "slow":
        llmock.slow_first_token(0.2)
    else:
        getattr(llmock, trouble)(after_chunks=1, provider=provider)
    text = "all is well" + " and good" * 20
    llmock.reply(text, times=None)
    if trouble == "corrupt":
        llmock.pace(10)  # the server is still sending when the client leaves, and so notices it
    result = drive(Agent(model(llmock, provider), journal=None), "say it", background)
    assert result.error is None and result.answer == text
    llmock.assert_resilient(strict=True)


@BOTH
@pytest.mark.parametrize("trouble", ["outage", "denied", "overflow", "stall", "truncate"])
def test_a_lasting_trouble_ends_in_a_typed_error(llmock: Any, provider: str, trouble: str) -> None:
    asked: dict[str, Any] = {}
    if trouble == "outage":
        llmock.outage(provider=provider)
    elif trouble == "denied":
        llmock.fail(401, times=None, provider=provider)
    elif trouble == "overflow":
        llmock.context_overflow(times=None, provider=provider)
    elif trouble == "stall":
        llmock.stall(after_chunks=1, seconds=20, times=None, provider=provider)
        asked = {"timeout": 1.0}
    else:
        llmock.truncate(after_chunks=2, times=None, provider=provider)
    result = drive(Agent(model(llmock, provider, **asked), journal=None), "say it")
    kinds = {"denied": ModelDenied, "overflow": ContextOverflow, "stall": ModelTimeout}
    assert isinstance(result.error, kinds.get(trouble, ModelError)) and result.answer == ""
    assert result.run.status == "failed" and len(result.run.pending) == 1
    verdict = llmock.verdict()
    assert not [f for f in verdict.findings if f.code != "truncated_stream_accepted"], verdict.render()
    if trouble == "truncate":  # the client gives up with an error after three attempts, which the server cannot see
        assert verdict.attempts == 3


@BOTH
def test_real_tools_run_with_the_arguments_that_were_sent(llmock: Any, provider: str) -> None:
    ran: list[str] = []

    @tool(effect="pure")
    def weather(city: str) -> str:
        """Return the weather."""
        ran.append(city)
        return "21 C"

    llmock.call_tool("weather", {"city": "Paris"}).reply("It is 21 C.")
    result = drive(Agent(model(llmock, provider), [weather], journal=None), "the weather in Paris?")
    assert (result.answer, ran, result.error) == ("It is 21 C.", ["Paris"], None)
    assert result.usage.input > 0 and result.usage.output > 0
    llmock.assert_resilient(strict=True)


@BOTH
@pytest.mark.parametrize("kind", ["malformed_arguments", "unknown_tool"])
def test_a_broken_call_runs_nothing_and_the_model_learns_of_it(llmock: Any, provider: str, kind: str) -> None:
    ran: list[str] = []

    @tool
    def weather(city: str) -> str:
        """Return the weather."""
        ran.append(city)
        return "21 C"

    llmock.break_tool_call(kind).reply("sorry")
    result = drive(Agent(model(llmock, provider), [weather], journal=None), "the weather in Paris?")
    observed = [entry.result for entry in result.run.entries if entry.kind == "act"]
    assert ran == [] and len(observed) == 1 and not observed[0].ok
    llmock.assert_resilient(strict=True)
