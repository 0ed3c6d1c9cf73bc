"""One model, and if it fails the next."""

from __future__ import annotations

from typing import Any

import pytest
from loopback import Loopback, answer, calling, completion, delta, fault, parts, sse, stall

from agentkit import Agent, Loop, Reply, tool
from agentkit.errors import ContextOverflow, ModelBusy, ModelDenied, ModelError, UsageError
from agentkit.models.base import Abilities
from agentkit.models.fallback import Fallback
from agentkit.models.openai import OpenAI
from agentkit.models.scripted import Scripted

DENIED = fault("401 Unauthorized", "no key")


@tool
def fire(n: int) -> str:
    """Fire."""
    return f"fired {n}"


@pytest.mark.parametrize("background", [False, True], ids=["foreground", "background"])
def test_if_the_first_model_fails_for_good_the_next_answers_and_the_trace_says_so(background: bool) -> None:
    with Loopback([DENIED]) as first_host, Loopback([answer(completion("from two"))]) as second_host:
        model = Fallback(
            [OpenAI("a", base_url=first_host.url, name="first"), OpenAI("m", base_url=second_host.url, name="second")]
        )
        agent = Agent(model, journal=None)
        result = agent.start("q").wait() if background else agent.run("q")
    thought = result.run.entries[1]
    assert (result.answer, thought.model, len(first_host.got)) == ("from two", "second", 1)
    assert len(thought.result.problems) == 1 and "no key" in thought.result.problems[0]
    assert result.run.request(1) == second_host.got[0].json
    assert model.name == "first, else second"


def test_the_beginning_of_a_reply_from_a_model_that_failed_is_discarded() -> None:
    begun = {"index": 0, "id": "x", "function": {"name": "fire", "arguments": '{"n"'}}
    half = parts([sse(delta(content="half", tool_calls=[begun]))])
    events: list[Any] = []
    with (
        Loopback([half]) as first_host,
        Loopback([answer(calling("fire", '{"n": 7}')), answer(completion("done"))]) as second_host,
    ):
        model = Fallback([OpenAI("a", base_url=first_host.url, retries=0), OpenAI("m", base_url=second_host.url)])
        result = Agent(model, [fire], journal=None, on_event=events.append, engine=Loop("react", max_iterations=1)).run(
            "q"
        )
    calls = result.run.entries[1].result.calls
    assert [(call.name, call.arguments) for call in calls] == [("fire", {"n": 7})]
    assert any(event.data["again"] for event in events if event.kind == "model_chunk")


def test_if_all_models_fail_the_error_names_all_of_them() -> None:
    with Loopback([DENIED]) as first_host, Loopback([fault("503 Unavailable", "down")]) as second_host:
        model = Fallback([OpenAI("a", base_url=first_host.url), OpenAI("m", base_url=second_host.url, retries=0)])
        error = Agent(model, journal=None).run("q").error
    assert (
        type(error) is ModelBusy
        and first_host.host in str(error)
        and second_host.host in str(error)
        and "no model answered" in str(error)
    )


def test_a_chat_that_is_too_long_is_not_passed_on_to_the_next_model() -> None:
    with (
        Loopback([fault("400 Bad Request", "context_length_exceeded")]) as first_host,
        Loopback([answer(completion("no"))]) as second_host,
    ):
        error = (
            Agent(Fallback([OpenAI("a", base_url=first_host.url), OpenAI("m", base_url=second_host.url)]), journal=None)
            .run("q")
            .error
        )
    assert type(error) is ContextOverflow and second_host.got == []


def test_blocking_models_and_mixtures_fall_back_too() -> None:
    permanent = ModelDenied("no")
    assert (
        Agent(Fallback([Scripted([permanent]), Scripted(["FINAL_ANSWER: two"])]), journal=None).run("q").answer == "two"
    )
    opaque = Reply("ok", opaque={"provider": "x"}, finish="stop")
    reply = (
        Agent(Fallback([Scripted([RuntimeError("odd")]), Scripted([opaque])]), journal=None)
        .run("q")
        .run.entries[1]
        .result
    )
    assert (reply.answer, reply.opaque) == ("ok", {"provider": "x"})
    with Loopback([answer(completion("remote"))]) as host:
        mixed = Fallback([Scripted([permanent]), OpenAI("m", base_url=host.url)])
        assert mixed.awaits and Agent(mixed, journal=None).run("q").answer == "remote"
    back = Fallback([OpenAI("m", base_url=host.url, retries=0), Scripted(["FINAL_ANSWER: local"] * 2)])
    assert Agent(back, journal=None).run("q").answer == Agent(back, journal=None).start("q").wait().answer == "local"


def test_a_fallback_has_the_abilities_that_all_its_models_have() -> None:
    model = Scripted([], abilities=Abilities(tools=True, json=True))
    assert Fallback([model, Scripted([], abilities=Abilities(json=True))]).abilities == Abilities(json=True)
    with pytest.raises(UsageError, match="at least one"):
        Fallback([])


def test_stop_closes_the_socket_of_the_model_that_is_being_asked() -> None:
    import time

    with Loopback([DENIED]) as first_host, Loopback([stall([])]) as second_host:
        run = Agent(
            Fallback([OpenAI("a", base_url=first_host.url), OpenAI("m", base_url=second_host.url)]), journal=None
        ).start("q")
        end = time.monotonic() + 3
        while not second_host.got and time.monotonic() < end:
            time.sleep(0.005)
        run.stop()
        assert second_host.wait_closed() and run.wait().error is None and run.status == "stopped"


def test_a_failure_of_the_last_model_can_be_tried_again() -> None:
    with Loopback([fault("503 Unavailable", "down"), answer(completion("ok"))]) as host:
        run = Agent(
            Fallback([Scripted([ModelError("x"), ModelError("y")]), OpenAI("m", base_url=host.url, retries=0)]),
            journal=None,
        )
        first = run.start("q", paused=True)
        assert first.drive().error and first.drive().answer == "ok"
