"""Whatever a host sends in the place of an expected value: the result is a reply or a typed error, never a crash."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from agentkit.errors import ModelError
from agentkit.models.anthropic import Anthropic
from agentkit.models.ollama import Ollama
from agentkit.models.openai import OpenAI
from agentkit.models.stream_collector import StreamCollector
from agentkit.models.transport.stream_reader import StreamReader

ODD: list[Any] = [
    *(None, True, -1, 3, 1.5, float("nan"), float("inf"), 10**400, "", "x", "\ud800"),
    *([], [None], [1], ["a"], [[]], [{}], [{"index": []}], {}, {"a": 1}, {"index": {}}, {"type": 5}),
]
USED = {
    "prompt_tokens": 1,
    "completion_tokens": 1,
    "cost": 0.5,
    "prompt_tokens_details": {"cached_tokens": 1},
    "completion_tokens_details": {"reasoning_tokens": 1},
}
CALL = {"index": 0, "id": "i", "function": {"name": "n", "arguments": "{}"}}
THOUGHT = {"type": "r", "index": 0, "text": "t", "signature": "s"}
SAID = {"content": "x", "reasoning_content": "r", "refusal": "no", "reasoning_details": [THOUGHT], "tool_calls": [CALL]}
PARTS = [{"type": "thinking", "thinking": [{"text": "a"}]}, {"type": "text", "text": "b"}]
BLOCK = {"type": "tool_use", "id": "a", "name": "b", "input": {"a": 1}}
CITED = {"type": "thinking", "thinking": "a", "citations": [{}]}

REPLIES: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "chunks": (
        OpenAI,
        [
            {"choices": [{"index": 0, "delta": SAID}]},
            {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": USED},
        ],
    ),
    "a completion": (
        OpenAI,
        [{"choices": [{"message": {"content": PARTS, "function_call": {}}}], "usage": USED, "error": None}],
    ),
    "events": (
        Anthropic,
        [
            {"type": "message_start", "message": {"usage": {"input_tokens": 1, "cache_read_input_tokens": 1}}},
            {"type": "content_block_start", "index": 0, "content_block": BLOCK},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "content_block_start", "index": 1, "content_block": CITED},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "citations_delta", "citation": {}}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "signature_delta", "signature": "x"}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}},
            {"type": "message_stop"},
        ],
    ),
    "a message": (
        Anthropic,
        [{"type": "message", "content": [BLOCK, CITED], "stop_reason": "x", "usage": {"input_tokens": 1}}],
    ),
    "lines": (
        Ollama,
        [
            {
                "message": {
                    "content": "x",
                    "thinking": "y",
                    "tool_calls": [{"function": {"name": "a", "arguments": {}}}],
                }
            },
            {"message": {"content": ""}, "done": True, "done_reason": "stop", "prompt_eval_count": 1, "eval_count": 2},
        ],
    ),
}


def changed(value: Any) -> Iterator[Any]:
    """Yield a value with something odd in each of its places."""
    yield from ODD
    if isinstance(value, dict):
        yield from ({**value, name: other} for name, inner in value.items() for other in changed(inner))
    elif isinstance(value, list):
        yield from ([*value[:n], other, *value[n + 1 :]] for n, inner in enumerate(value) for other in changed(inner))


def read(model: Any, objects: list[Any]) -> Any:
    reader, collector = StreamReader(model.parser(), model.endpoint), StreamCollector()
    for event in objects:
        for chunk in reader.feed(b"data: " + json.dumps(event).encode() + b"\n\n"):
            collector.add(chunk)
    for chunk in reader.end():
        collector.add(chunk)
    return collector.reply()


@pytest.mark.parametrize("what", REPLIES)
def test_odd_values_are_read_or_refused(what: str) -> None:
    make, objects = REPLIES[what]
    model = make("gpt-5", base_url="http://127.0.0.1:9")
    for odd in changed(objects):
        if isinstance(odd, list):
            try:
                reply = read(model, odd)
            except ModelError:
                continue
            used = reply.usage
            assert used is None or (0 <= used.cost < 1e6 and used.cached <= used.input), odd
