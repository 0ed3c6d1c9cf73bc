"""Calls in the shapes that models and hosts really send: what can be read runs, and a call that was cut off never."""

from __future__ import annotations

import json
from typing import Any

import pytest
from loopback import Loopback, answer, completion, delta, sse
from malformed_calls import RAN, SHAPES, TOOLS, Shape

from agentkit import Agent, Reply, Run
from agentkit.models import OpenAI, Scripted
from agentkit.models.base import Abilities

TOLD = ("not used", "could not be read", "not found", "do not fit")
ABILITIES = {"native": Abilities(tools=True), "json": Abilities(json=True), "text": Abilities()}


def perform(shape: Shape) -> tuple[list[Any], Run, list[str]]:
    """Run an agent whose model sends a shape and then an answer; return what ran, the run, and what the model was
    told.
    """
    RAN.clear()
    if shape.way in ABILITIES:
        model = Scripted(
            [Reply(shape.sent, finish=shape.finish), *["FINAL_ANSWER: end"] * 2], abilities=ABILITIES[shape.way]
        )
        run = Agent(model, TOOLS, journal="memory").start("q", paused=True)
        run.drive()
        return sorted(RAN, key=str), run, [str(request["messages"]) for request in model.requests[1:]]
    with Loopback([answer(*as_sent(shape)), answer(completion("end"))]) as host:
        run = Agent(OpenAI("m", base_url=host.url, api_key="k"), TOOLS, journal="memory").start("q", paused=True)
        run.drive()
        return sorted(RAN, key=str), run, [str(got.json["messages"]) for got in host.got[1:]]


def as_sent(shape: Shape) -> tuple[bytes, str, str]:
    """Return the body, the status and the media type of a response that contains a shape."""
    finish = shape.finish or "tool_calls"
    if shape.way == "stream":
        events = [
            delta(role="assistant"),
            *(delta(tool_calls=pieces) for pieces in shape.sent),
            delta(finish),
            b"[DONE]",
        ]
        return sse(*events), "200 OK", "text/event-stream"
    field = "function_call" if shape.way == "legacy" else "tool_calls"
    message = {"role": "assistant", "content": None, field: shape.sent}
    whole = {
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    return json.dumps(whole).encode(), "200 OK", "application/json"


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.way}: {shape.name}")
def test_a_malformed_call_runs_only_as_it_was_meant(shape: Shape) -> None:
    ran, run, told = perform(shape)
    assert ran == sorted(shape.ran, key=str)
    assert run.answer
    if shape.quoted:
        assert not told
    elif not shape.ran:
        assert any(text in told[0] for text in TOLD), told
