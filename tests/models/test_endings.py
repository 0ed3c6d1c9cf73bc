"""Why a reply ended: what is no usual end is said on its entry, and where nothing came, in the answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from loopback import Loopback, answer, delta, message, sse

from agentkit import Agent, Result, tool
from agentkit.models.anthropic import Anthropic
from agentkit.models.openai import OpenAI


def ended(reason: str, text: str) -> Result:
    openai: Any = (OpenAI, sse(delta(content=text), delta(reason), b"[DONE]"))
    anthropic = (Anthropic, message({"type": "text", "text": text}, stop=reason))
    make, said = openai if reason in ("stop", "length", "content_filter") else anthropic
    with Loopback([answer(said)]) as host:
        return Agent(make("m", base_url=host.url), journal=None).run("q")


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("length", "length limit"),
        ("max_tokens", "length limit"),
        ("content_filter", "filter of the host"),
        ("refusal", "the model refused"),
    ],
)
def test_a_reply_that_was_cut_short_says_so(reason: str, said: str) -> None:
    result = ended(reason, "begun")
    assert result.answer == "begun" and said in result.run[1].result.problems[0]
    assert said in ended(reason, "").answer


@pytest.mark.parametrize("reason", ["stop", "end_turn"])
def test_a_reply_that_came_to_its_end_has_no_problem(reason: str) -> None:
    result = ended(reason, "all of it")
    assert (result.answer, result.run[1].result.problems) == ("all of it", ())


@pytest.mark.parametrize("whole", [False, True], ids=["events", "whole"])
@pytest.mark.parametrize(("reason", "runs"), [("tool_use", 1), ("max_tokens", 0), ("refusal", 0)])
def test_a_call_that_was_cut_before_its_first_argument_does_not_run(reason: str, runs: int, whole: bool) -> None:
    """An empty input is what such a call begins with, and what one without arguments ends with."""
    ran: list[str] = []

    @tool
    def clean(folder: str = "/") -> str:
        """Empty a folder."""
        ran.append(folder)
        return "empty"

    call = {"type": "tool_use", "id": "t1", "name": "clean", "input": {}}
    events = [line for line in message(call, stop=reason).split(b"\n\n") if b"input_json_delta" not in line]
    asked = json.dumps({"type": "message", "content": [call], "stop_reason": reason}).encode() if whole else b"\n\n".join(events)
    with Loopback([answer(asked), answer(message({"type": "text", "text": "done"}))]) as host:
        assert Agent(Anthropic("m", base_url=host.url), [clean], journal=None).run("go").answer == "done"
    assert ran == ["/"] * runs
