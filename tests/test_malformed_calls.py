"""Calls in the shapes that models and hosts really send: what can be read runs, and a call that was cut off never."""

from __future__ import annotations

import json
import os
import re
from random import Random
from typing import Any

import pytest
from loopback import Loopback, answer, completion, delta, sse
from malformed_calls import RAN, SHAPES, TOOLS, Shape

from agentkit import Agent, Reply, Run
from agentkit.models import OpenAI, Scripted, dialects
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
        assert len(told) <= 1  # it is the answer, or the model is asked whether it is
    elif not shape.ran:
        assert any(text in told[0] for text in TOLD), told


WITH_AN_END = [shape for shape in SHAPES if shape.ran and isinstance(shape.sent, str) and "Oslo" in shape.sent]
"""Shapes that are texts with an object, with quotes or with tags, so that it can be told where they end."""


@pytest.mark.parametrize("shape", WITH_AN_END, ids=lambda shape: f"{shape.way}: {shape.name}")
@pytest.mark.parametrize("dialect", ["native", "json", "text"])
def test_a_call_that_was_cut_off_anywhere_runs_with_its_own_arguments_or_not_at_all(shape: Shape, dialect: str) -> None:
    if "{" not in shape.sent and not re.search("[\"'<]", shape.sent):
        return  # a bare text may end anywhere: see test_arguments.py
    meant = [(name, {key: str(value) for key, value in arguments.items()}) for name, arguments in shape.ran]
    for end in range(1, len(shape.sent)):
        reply = dialects.get(dialect).read(Reply(shape.sent[:end], finish="length"), TOOLS)
        ran = [
            (call.name, {key: str(value) for key, value in call.arguments.items()})
            for call in reply.calls
            if not call.problem
        ]
        assert all(call in meant for call in ran), (end, ran)


SIGNS = [
    "{",
    "}",
    '"',
    "'",
    "\n",
    "```",
    "<tool_call>",
    "</tool_call>",
    "[TOOL_CALLS]",
    "[",
    "]",
    "(",
    ")",
    ":",
    ",",
    "\\",
    "Action: ",
    "Action Input: ",
    "Observation: ",
    "FINAL_ANSWER: ",
    "<parameter=a>",
    "</parameter>",
    "<|x|>",
    ";",
    "Oslo",
    "search",
    "\x00",
    "é",
    "｜",
]


@pytest.mark.parametrize("dialect", ["native", "json", "text"])
def test_no_mutation_of_a_shape_breaks_a_reader(dialect: str) -> None:
    """The number of mutations is AGENTKIT_SIZE; the seed is fixed."""
    random = Random(13)
    texts = [shape.sent for shape in SHAPES if isinstance(shape.sent, str)]
    for _ in range(int(os.environ.get("AGENTKIT_SIZE", "2000"))):
        text = random.choice(texts)
        for _ in range(random.randint(1, 6)):
            at, to = sorted((random.randint(0, len(text)), random.randint(0, len(text))))
            text = random.choice(
                [
                    text[:at] + random.choice(SIGNS) + text[at:],
                    text[:at] + text[min(to, at + 5) :],
                    text[:at] + text[at:to] * 2 + text[to:],
                    text[:at] + random.choice(texts) + text[to:],
                ]
            )[:5000]
        reply = dialects.get(dialect).read(Reply(text, finish=random.choice(["stop", "length", ""])), TOOLS)
        assert all(
            isinstance(call.arguments, dict) and (call.problem or isinstance(call.name, str)) for call in reply.calls
        )


EXAMPLES = [shape for shape in SHAPES if shape.ran and shape.way in ("native", "text") and shape.finish == ""]


@pytest.mark.parametrize("shape", EXAMPLES, ids=lambda shape: f"{shape.way}: {shape.name}")
@pytest.mark.parametrize(
    "frame",
    [
        "This is how it is written:\n\n````\n{}\n````\n\nThat is all.",
        "This is how it is written:\n\n```\n{}\n```\n\nThat is all.",
        "This is how it is written:\n```text\n{}\n```",
        "FINAL_ANSWER: this is how it is written:\n```\n{}\n```\nThat is all.",
        "> {}\n\nThat is quoted.",
        "The page says `{}` somewhere.",
        '"{}" is what it says.',
    ],
)
def test_an_example_runs_no_tool_of_a_model_with_native_calls(shape: Shape, frame: str) -> None:
    written = frame.format(shape.sent.replace("```", "~~~"))
    if frame[0] in '>T"' and "```" not in frame and "\n" in shape.sent:
        written = frame.format(" ".join(shape.sent.split()))
    assert not dialects.get("native").read(Reply(written, finish="stop"), TOOLS).calls
