"""Why a reply ended: what is no usual end is said on its entry, and where nothing came, in the answer."""

from __future__ import annotations

from typing import Any

import pytest
from loopback import Loopback, answer, delta, message, sse

from agentkit import Agent, Result
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
