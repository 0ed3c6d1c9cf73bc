"""The levels at which data is asked for, and how it is read at each."""

from __future__ import annotations

from typing import Any

import pytest
from loopback import Loopback, answer, completion, lines

from agentkit import Agent, Answer, structured
from agentkit.core.messages import Call, Chat, Message, Reply
from agentkit.core.schema import Level, Shape
from agentkit.core.steps import replace
from agentkit.models import Ollama, OpenAI, dialects
from agentkit.models.base import Abilities
from agentkit.models.structured_output import StructuredOutput, dialect_for

CITY = Shape("City", {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})
ALL, JSON, TOOLS, NONE = Abilities(tools=True, json=True), Abilities(json=True), Abilities(tools=True), Abilities()


@pytest.mark.parametrize(
    ("abilities", "at_most", "forced", "level"),
    [
        (ALL, "native", None, "native"),
        (ALL, "json", None, "json"),
        (ALL, "text", None, "text"),
        (TOOLS, "json", None, "text"),
        (JSON, "native", None, "json"),
        (NONE, "native", None, "text"),
        (ALL, "native", "json", "json"),
        (ALL, "native", "text", "text"),
        (NONE, "native", "native", "native"),
        (NONE, "json", "native", "text"),
        (NONE, "native", "json", "json"),
    ],
)
def test_the_level_is_the_best_remaining_one_that_the_model_supports(
    abilities: Abilities, at_most: Level, forced: str | None, level: str
) -> None:
    dialect = dialects.get(forced) if forced else None
    assert dialect_for(replace(CITY, at_most=at_most), abilities, dialect).name == level


@pytest.mark.parametrize("level", ["native", "json", "text"])
def test_a_chat_with_calls_is_rendered_in_the_dialect_of_the_level(level: str) -> None:
    chat = Chat.of("q") + Reply("", (Call("look", {}, "c"),)) + Message("tool", "rain", (), "c", "look")
    roles = [message["role"] for message in StructuredOutput(CITY, level).render(chat, ())]
    assert roles == (["user", "assistant", "tool"] if level == "native" else ["system", "user", "assistant", "user"])


@pytest.mark.parametrize("level", ["native", "json", "text"])
def test_data_becomes_json_text_and_the_rest_of_the_reply_is_kept(level: str) -> None:
    reply = StructuredOutput(CITY, level).read(Reply('<think>hm</think>Here: {"name": "Bern"}', reasoning="I know"), ())
    assert (reply.answer, reply.text, reply.readable, reply.calls) == ('{"name": "Bern"}', '{"name": "Bern"}', True, ())
    assert reply.raw == 'Here: {"name": "Bern"}' and reply.reasoning == "I know\nhm" and reply.dialect == level


@pytest.mark.parametrize(
    "call",
    [
        Call("City", {"nome": "Bern"}, "c"),
        Call("City", {}, "c", raw='{"name": "Be', problem="cut off"),
        Call("City", {}, "c", raw="Bern", problem="no object"),
    ],
)
def test_no_data_is_invented_from_unusable_arguments(call: Call) -> None:
    reply = StructuredOutput(CITY, "native").read(Reply("", (call,)), ())
    assert reply.answer is None and not reply.readable and reply.problems and reply.calls == ()


def test_a_shape_that_is_not_strict_leaves_the_check_to_its_owner() -> None:
    reply = StructuredOutput(replace(CITY, strict=False), "text").read(Reply('{"nome": "Bern"}'), ())
    assert reply.answer == '{"nome": "Bern"}' and reply.readable


def test_an_unreadable_schema_accepts_every_object() -> None:
    odd = Shape("odd", {"type": "object", "properties": 3})
    assert StructuredOutput(odd, "text").read(Reply('{"a": 1}'), ()).answer == '{"a": 1}'


def test_data_must_have_the_types_of_its_json_schema_and_is_not_converted() -> None:
    count = Shape("Count", {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
    assert StructuredOutput(count, "text").read(Reply('{"n": 5}'), ()).answer == '{"n": 5}'
    reply = StructuredOutput(count, "text").read(Reply('{"n": "5"}'), ())
    assert reply.answer is None and "n: Input should be a valid integer" in reply.problems


def city(task: Any) -> Any:
    """Ask for a city."""
    found = yield from structured(task, CITY.schema)
    return Answer(found.value["name"], Chat.of(task))


@pytest.mark.parametrize("schema", [True, False])
@pytest.mark.parametrize("make", [OpenAI, Ollama])
def test_a_host_whose_json_mode_follows_a_schema_is_sent_it(make: Any, schema: bool) -> None:
    reply = {"message": {"role": "assistant", "content": '{"name": "Bern"}'}, "done": True, "done_reason": "stop"}
    said = completion('{"name": "Bern"}') if make is OpenAI else lines(reply)
    with Loopback([answer(said)]) as host:
        model = make("m", base_url=host.url, abilities={"tools": False, "schema": schema})
        run = Agent(model, engine=city, journal=None).start("q")
        assert run.wait().answer == "Bern"
        body, entry = host.got[0].json, next(entry for entry in run.entries if entry.kind == "think")
        assert run.request(entry) == body
    sent = body["response_format"] if make is OpenAI else body["format"]
    if not schema:
        assert sent == ({"type": "json_object"} if make is OpenAI else "json")
    else:
        wanted = sent["json_schema"]["schema"] if make is OpenAI else sent
        assert (wanted["type"], list(wanted["properties"]), wanted["required"]) == ("object", ["name"], ["name"])
