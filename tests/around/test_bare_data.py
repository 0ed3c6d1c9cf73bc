"""Bare data without the markers of a dialect, driven by hand."""

from __future__ import annotations

import pytest

from agentkit import Call, Chat, Reply, Think
from agentkit.around.bare_json import bare_data

SCHEMA = {"type": "object", "properties": {"city": {}, "days": {}}, "required": ["city"]}


def through(reply: Reply) -> Reply:
    around = bare_data(SCHEMA)(Think(Chat.of("q")), {})
    next(around)
    with pytest.raises(StopIteration) as end:
        around.send(reply)
    return end.value.value


@pytest.mark.parametrize(
    "raw", ['{"city": "Bern"}', ' {"city": "Bern", "days": 2}\n', '```json\n{"city": "Bern"}\n```']
)
def test_one_object_with_the_fields_of_the_schema_is_the_answer(raw: str) -> None:
    reply = through(Reply(raw, answer="something else", raw=raw, dialect="json", readable=False))
    assert reply.readable and reply.answer == reply.text and '"city": "Bern"' in (reply.answer or "")


@pytest.mark.parametrize(
    "raw", ["", "Bern", '{"days": 2}', '{"city": "Bern", "tool_name": "x"}', '{"city": "Bern"', "{}", "[1]"]
)
def test_anything_else_is_left_as_it_was_read(raw: str) -> None:
    reply = Reply(raw, answer="as read", raw=raw)
    assert through(reply) is reply


def test_a_reply_that_calls_tools_is_not_an_answer() -> None:
    reply = Reply("", (Call("look", {}, "c"),), raw='{"city": "Bern"}')
    assert through(reply) is reply
