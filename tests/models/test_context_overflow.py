"""A chat that is too long for its model: shortened once, in the request alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from loopback import Loopback, answer, calling, completion, fault

from agentkit import Agent, tool
from agentkit.core.messages import assistant, system, user
from agentkit.errors import ContextOverflow
from agentkit.models.openai import OpenAI
from agentkit.models.scripted import Scripted

OVERFLOW = fault("400 Bad Request", "This model's maximum context length is 100 tokens")
LONG = "x" * 5000
TURNS = [user(f"question {n} {LONG}") if n % 2 == 0 else assistant(f"answer {n} {LONG}") for n in range(13)]
WRITES = [answer(calling("note", json.dumps({"text": f"{n} {LONG}"}), f"c{n}")) for n in range(4)]


@tool(effect="pure")
def page(n: int) -> str:
    """Return a long page."""
    return f"page {n} {LONG}"


@tool(effect="pure")
def note(text: str) -> str:
    """Keep a text."""
    return "kept"


def test_a_chat_that_is_too_long_is_shortened_once_in_the_request_alone() -> None:
    calls = [answer(calling("page", f'{{"n": {n}}}', f"c{n}")) for n in range(4)]
    with Loopback([*calls, OVERFLOW, answer(completion("done"))]) as host:
        result = Agent(OpenAI("m", base_url=host.url), [page], journal="memory").run("read")
        assert (result.answer, len(host.got)) == ("done", 6)
        last = [entry for entry in result.run.entries if entry.kind == "think"][-1]
        assert host.got[5].json == result.run.request(last) and len(host.got[5].body) < len(host.got[4].body) - 9000
    assert "was left out: the chat is too long" in host.got[5].body.decode() and "too long" in last.reason
    assert all(len(entry.result.text) > 5000 for entry in result.run.entries if entry.kind == "act")


def test_a_shortened_chat_that_is_still_too_long_is_a_typed_error() -> None:
    with Loopback([answer(calling("page", '{"n": 1}')), OVERFLOW, OVERFLOW, answer(completion("done"))]) as host:
        run = Agent(OpenAI("m", base_url=host.url), [page], journal=None).start("read")
        assert isinstance(run.wait().error, ContextOverflow) and len(host.got) == 3
        assert run.play().wait().answer == "done"


@pytest.mark.parametrize(
    ("task", "turns", "gone"), [(TURNS, [], 4), ("write", WRITES, 2)], ids=["conversation", "arguments"]
)
def test_texts_of_the_model_are_left_out_too_and_those_of_people_are_not(
    task: Any, turns: list[bytes], gone: int
) -> None:
    with Loopback([*turns, OVERFLOW, answer(completion("done"))]) as host:
        result = Agent(OpenAI("m", base_url=host.url), [note], journal="memory").run(task)
        assert result.answer == "done" and len(host.got) == len(turns) + 2
        refused, sent = (got.body.decode() for got in host.got[-2:])
        last = [entry for entry in result.run.entries if entry.kind == "think"][-1]
        assert host.got[-1].json == result.run.request(last)
    assert (refused.count(LONG) - sent.count(LONG), sent.count("was left out: the chat is too long")) == (gone, gone)
    assert all(message.text in sent for message in TURNS if task is TURNS and message.role == "user")


def test_if_the_last_result_alone_is_too_long_it_is_cut() -> None:
    with Loopback([answer(calling("page", '{"n": 1}')), OVERFLOW, answer(completion("done"))]) as host:
        assert Agent(OpenAI("m", base_url=host.url), [page], journal=None).run("read").answer == "done"
        assert "3,007 more characters were cut: the chat is too long" in host.got[2].body.decode()


def test_the_older_half_of_a_long_conversation_is_left_out_but_never_the_last_turn() -> None:
    messages = [system("s"), *(each(f"{each.__name__} {n}") for n in range(4) for each in (user, assistant))]
    scripted = Scripted([ContextOverflow("too long"), "done", ContextOverflow("too long")])
    run = Agent(scripted, journal="memory").start([*messages, user("now", pinned=True)], paused=True)
    assert run.drive().answer == "done" and "4 earlier messages were left out" in run.entries[1].reason
    sent = [message["content"] for message in scripted.requests[1]["messages"]]
    assert sent == ["s", "user 2", "assistant 2", "user 3", "assistant 3", "now"]
    assert isinstance(Agent(scripted, journal="memory").run("now").error, ContextOverflow)


def test_the_question_stays_when_another_form_of_answer_is_requested() -> None:
    """The request for another form is a turn of its own, which does not repeat the question."""
    scripted = Scripted(["thinking about it", ContextOverflow("too long"), "FINAL_ANSWER: done"])
    result = Agent(scripted, [note], journal=None).run(f"question {LONG}")
    assert isinstance(result.error, ContextOverflow) and scripted.calls == 2


def test_a_task_that_is_too_long_is_not_cut() -> None:
    with Loopback([OVERFLOW, answer(completion("done"))]) as host:
        result = Agent(OpenAI("m", base_url=host.url), journal=None).run(LONG)
        assert (
            isinstance(result.error, ContextOverflow) and "shorten the task" in str(result.error) and len(host.got) == 1
        )


def test_a_chat_is_shortened_again_until_it_fits() -> None:
    seven = [user(f"{n} {LONG}") if n % 2 == 0 else assistant(f"{n} {LONG}") for n in range(7)]
    with Loopback([OVERFLOW, OVERFLOW, answer(completion("done"))]) as host:
        result = Agent(OpenAI("m", base_url=host.url), journal="memory").run(seven)
        assert result.answer == "done", result.error
        last = [entry for entry in result.run.entries if entry.kind == "think"][-1]
        assert host.got[-1].json == result.run.request(last)
    sizes = [len(got.body) for got in host.got]
    assert sizes[0] > sizes[1] > sizes[2] and "too long" in last.reason


def test_a_chat_that_cannot_be_shortened_further_is_an_error_that_says_what_is_left() -> None:
    with Loopback([OVERFLOW]) as host:
        result = Agent(OpenAI("m", base_url=host.url), journal=None).run(TURNS)
        assert isinstance(result.error, ContextOverflow)
        assert "as far as possible" in str(result.error) and "one of the user" in str(result.error)
    sizes = [len(got.body) for got in host.got]
    assert sizes == sorted(set(sizes), reverse=True) and 2 < len(sizes) < 8
