"""Data from any model: the levels, the calls that they take, and the handling of each reply, in real runs."""

from __future__ import annotations

import threading
from typing import Any

import pydantic
import pytest
from splitting import split

from agentkit import Act, Agent, All, Answer, Call, Chat, Reply, Think, Usage
from agentkit.engines.structured import Structured, structured
from agentkit.errors import AgentkitError, EngineError, ModelError, OutputValidationError
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

ALL, JSON, TEXT = Abilities(tools=True, json=True), Abilities(json=True), Abilities()


class Aged(pydantic.BaseModel):
    """An age."""

    age: int


class Plan(pydantic.BaseModel):
    """What to do, in order."""

    steps: list[str]
    effort: int = 1


GOOD = '{"steps": ["look", "leap"]}'
CALL = Reply("", (Call("Plan", {"steps": ["look", "leap"]}, "c"),))


def planner(task: Any, **options: Any) -> Any:
    """Make a plan, and answer with how it was obtained."""
    found = yield from structured(task, Plan, **options)
    return Answer(f"{found.level}: {found.value}", Chat.of(task))


def go(lines: list[Any], abilities: Abilities = TEXT, engine: Any = planner, **more: Any) -> tuple[Any, Scripted]:
    model = Scripted(lines, abilities=abilities)
    return Agent(model, journal="memory", **split(more, engine)).run("plan it"), model


def asked(result: Any) -> list[tuple[str, int]]:
    """Return the level and the number of the attempt of each model call."""
    return [(entry.dialect, entry.step.tags["attempt"]) for entry in result.run.entries if entry.kind == "think"]


# -- the levels --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("abilities", "reply", "level"),
    [
        (ALL, CALL, "native"),
        (ALL, GOOD, "native"),
        (JSON, GOOD, "json"),
        (TEXT, f"Here:\n```json\n{GOOD}\n```", "text"),
    ],
)
def test_one_call_is_enough_if_the_model_complies(abilities: Abilities, reply: Any, level: str) -> None:
    result, model = go([reply], abilities)
    assert (result.answer, model.calls) == (f"{level}: steps=['look', 'leap'] effort=1", 1)


@pytest.mark.parametrize(
    ("abilities", "levels"),
    [
        (ALL, ["native", "json", "json", "text", "text"]),
        (Abilities(tools=True), ["native", "text", "text"]),
        (JSON, ["json", "json", "text", "text"]),
        (TEXT, ["text", "text"]),
    ],
)
@pytest.mark.parametrize("bad", ["no data", '{"steps": 3}', Reply("", (Call("Plan", {"steps": 3}, "c"),))])
def test_a_model_that_never_returns_the_data_is_asked_as_often_as_its_abilities_allow(
    abilities: Any, levels: list[str], bad: Any
) -> None:
    result, model = go([bad] * 9, abilities)
    assert [level for level, _ in asked(result)] == levels and model.calls == len(levels)
    assert [attempt for _, attempt in asked(result)] == list(range(1, len(levels) + 1))
    assert isinstance(result.error, OutputValidationError)


def test_each_level_makes_its_own_kind_of_request() -> None:
    _, model = go(["no"] * 5, ALL)
    native, json, _, text, _ = model.requests
    assert (
        native["tools"][0]["function"]["name"] == "Plan" and native["tool_choice"] == "required" and not native["json"]
    )
    assert native["tools"][0]["function"]["description"] == "What to do, in order." and len(native["messages"]) == 1
    assert json["json"] and not json["tools"] and json["tool_choice"] == "auto"
    assert not text["json"] and not text["tools"]
    for request in (json, text):
        assert '"steps"' in request["messages"][0]["content"] and "JSON" in request["messages"][0]["content"]


def test_the_second_request_of_a_level_contains_the_reply_and_its_problem() -> None:
    result, model = go(['{"effort": 2}', GOOD], JSON)
    reply, question = model.requests[1]["messages"][-2:]
    assert reply == {"role": "assistant", "content": '{"effort": 2}'} and "steps: Field required" in question["content"]
    assert result.run.entries[2].step.tags["problem"] == "steps: Field required"
    assert result.answer.startswith("json:") and model.calls == 2


def test_the_next_level_starts_without_the_failed_reply() -> None:
    _, model = go([Reply("", (Call("Plan", {}, "c"),)), GOOD], ALL)
    assert [message["role"] for message in model.requests[1]["messages"]] == ["system", "user"]


# -- replies -----------------------------------------------------------------------------------------------------------


def test_malformed_arguments_are_repaired_without_guessing_or_left_for_the_next_level() -> None:
    broken = '{"steps": ["look", "leap"'
    loose = Call("Plan", {}, "c", raw="{'steps': ['look', 'leap'],}", problem="no JSON")
    cut = Call("Plan", {}, "c", raw=broken, problem="cut off")
    result, _ = go([Reply("", (loose,))], ALL)
    assert result.answer.startswith("native:") and "loose JSON" in result.run.entries[1].result.problems[-1]
    result, _ = go([Reply("", (cut,)), GOOD], ALL)
    assert result.answer.startswith("json:") and result.run.entries[1].result.raw == broken


def test_a_missing_end_is_added_and_reported_unless_the_length_limit_caused_it() -> None:
    broken = '{"steps": ["look", "leap"'
    result, _ = go([broken])
    assert result.answer.startswith("text:") and result.run.entries[1].result.problems == (
        "its end was missing and was added",
    )
    result, model = go([Reply(broken, finish="length"), GOOD])
    assert model.calls == 2 and "length limit" in result.run.entries[1].result.problems[0]


def test_thinking_is_not_data() -> None:
    result, _ = go([f'<think>{{"steps": ["maybe"]}}</think>{GOOD}'])
    assert "look" in result.answer and "maybe" in result.run.entries[1].result.reasoning


@pytest.mark.parametrize("lines", [["", ""], [Reply(""), "<think>x</think>"]])
def test_an_empty_reply_counts_as_unusable(lines: list[Any]) -> None:
    result, model = go(lines)
    assert model.calls == 2 and isinstance(result.error, OutputValidationError)


def test_the_call_of_the_data_function_never_reaches_a_tool() -> None:
    def plan(steps: list[str]) -> str:
        raise AssertionError("never run")

    plan.__name__ = "Plan"
    result, _ = go([CALL], ALL, tools=[plan])
    assert result.tool_calls_count == 0 and not any(isinstance(entry.step, Act) for entry in result.run.entries)


# -- schemas -----------------------------------------------------------------------------------------------------------


def through(lines: list[Any], schema: Any, abilities: Abilities = TEXT, **more: Any) -> tuple[Structured | None, Any]:
    """Ask for data of a schema in a run, and return the data that the engine got."""
    found: list[Structured] = []

    def engine(task: Any) -> Any:
        found.append((yield from structured(task, schema, **more)))
        return Answer("done", Chat.of(task))

    result, _ = go(lines, abilities, engine)
    return (found[0] if found else None), result


def test_a_type_adapter_can_return_data_that_is_not_an_object() -> None:
    several = pydantic.TypeAdapter(list[Plan])
    for lines, abilities in (
        ([f'{{"value": [{GOOD}]}}'], JSON),
        ([f"[{GOOD}]"], TEXT),
        ([Reply("", (call(GOOD),))], ALL),
    ):
        found, _ = through(lines, several, abilities, name="plans")
        assert found and found.value == [Plan(steps=["look", "leap"])]


def call(value: str) -> Call:
    import json

    return Call("plans", {"value": [json.loads(value)]}, "c")


def test_one_of_a_few_words_is_also_data() -> None:
    found, _ = through(['"yes"'], pydantic.TypeAdapter(bool))
    assert found and found.value is True
    found, result = through(["TWO is one of them", '"THREE"'], {"enum": ["ONE", "TWO"]})
    assert found is None and isinstance(result.error, OutputValidationError)


def test_data_for_a_json_schema_is_plain_and_checked() -> None:
    schema = {"title": "City", "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    found, result = through(['{"nome": "Bern"}', '{"name": "Bern"}'], schema)
    assert found and (found.value, found.calls) == ({"name": "Bern"}, 2)
    assert "name: Field required" in result.run.entries[1].result.problems[0]


def test_of_several_objects_the_one_that_fits_is_used() -> None:
    found, _ = through(['Not {"draft": 1} but {"steps": []}.'], Plan)
    assert found and found.value.steps == []


def test_an_invalid_schema_is_refused_at_once() -> None:
    with pytest.raises(AgentkitError, match="pydantic model"):
        next(structured("q", 3))


def test_a_schema_instead_of_a_shape_is_an_error_that_says_what_to_write() -> None:
    def engine(task: Any) -> Any:
        yield Think(Chat.of(task), shape=Plan)  # type: ignore[arg-type]

    result, _ = go([], engine=engine)
    assert isinstance(result.error, EngineError) and "structured(chat, schema)" in str(result.error)


def test_parse_converts_the_value_and_if_it_raises_the_attempt_has_failed() -> None:
    def first(plan: Plan) -> str:
        return plan.steps[0]

    found, result = through(['{"steps": []}', GOOD], Plan, parse=first)
    assert found and (found.value, found.calls) == ("look", 2)
    assert "index out of range" in result.run.entries[2].step.tags["problem"]


# -- without data ------------------------------------------------------------------------------------------------------


def test_the_error_is_a_value_error_that_keeps_the_raw_text_and_says_what_was_wrong() -> None:
    result, _ = go(["no data", "still <b>none</b>"])
    error = result.error
    assert isinstance(error, ValueError) and isinstance(error, ModelError) and not isinstance(error, EngineError)
    assert (error.raw, error.problem) == ("still <b>none</b>", "there is no JSON in the reply")
    assert "Plan" in str(error) and result.run.status == "failed"
    with pytest.raises(OutputValidationError):
        go(["no", "no"], raise_errors=True)


def test_a_default_replaces_the_error_even_if_the_model_fails() -> None:
    found, _ = through(["no", "no"], Plan, default=None)
    assert found and (found.value, found.level, found.calls) == (None, "default", 2)
    found, result = through([ModelError("the server is down")], Plan, default=Plan(steps=[]))
    assert found and (found.value, found.level, found.calls) == (Plan(steps=[]), "default", 1)
    assert "the server is down" in result.run.entries[1].result.problems[0] and result.run.entries[1].author == "host"


def test_without_a_default_a_failed_model_call_can_be_tried_again() -> None:
    result, _ = go([ModelError("the server is down"), GOOD])
    assert result.run.status == "failed" and len(result.run.entries) == 1
    assert result.run.drive().answer.startswith("text:")


class Refused(ModelError):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.status = 400


def test_if_a_host_does_not_support_a_level_the_next_one_is_tried() -> None:
    found, result = through(
        [Refused("unknown field tool_choice"), Refused("unknown field response_format"), GOOD], Plan, ALL
    )
    assert found and (found.level, found.calls) == ("text", 3)
    assert "tool_choice" in result.run.entries[1].result.problems[0] and result.step_count == 1
    _, result = through([Refused("no tools"), Refused("no JSON"), Refused("no chat at all")], Plan, ALL)
    assert isinstance(result.error, Refused) and len(result.run.entries) == 3


def test_a_model_that_is_too_slow_for_an_optional_step_is_given_up_in_the_background() -> None:
    over = threading.Event()

    def slow(request: Any) -> str:
        over.wait(30)
        return GOOD

    def engine(task: Any) -> Any:
        found = yield from structured(task, Plan, default=None)
        return Answer(found.level, Chat.of(task))

    run = Agent(slow, engine=engine, journal="memory").start("plan it", paused=True)
    run.performer.model_timeout = 0.05
    assert run.play().wait(10).answer == "default"
    over.set()


def test_a_fallback_can_read_a_text_without_json() -> None:
    def lines(text: str) -> Plan | None:
        steps = [line[2:] for line in text.splitlines() if line.startswith("- ")]
        return Plan(steps=steps) if steps else None

    found, _ = through(["nothing", "First:\n- look\n- leap"], Plan, fallback=lines)
    assert found and (found.value.steps, found.level, found.calls) == (["look", "leap"], "text", 2)


# -- within a run ------------------------------------------------------------------------------------------------------


def test_calls_and_tokens_are_added_up_and_recorded_in_their_entries() -> None:
    found, result = through(
        [Reply("no", usage=Usage(10, 1)), Reply(GOOD, usage=Usage(20, 2))],
        Plan,
    )
    assert found and (found.calls, found.usage.input, found.usage.output) == (2, 30, 3)
    assert [entry.usage.input for entry in result.run.entries[1:3]] == [10, 20] and result.usage.input == 30


def test_the_role_picks_the_model_for_each_attempt() -> None:
    def engine(task: Any) -> Any:
        return (yield from planner(task, role="plan"))

    planning = Scripted(["no", GOOD], name="planning")
    result, _ = go([], engine=engine, roles={"plan": planning})
    assert planning.calls == 2 and {entry.model for entry in result.run.entries if entry.kind == "think"} == {
        "planning"
    }


def test_several_lanes_can_ask_for_data() -> None:
    def both(task: Any) -> Any:
        one, other = yield All((structured("a", Plan), structured("b", Plan)))
        return Answer(f"{one.value.steps} {other.value.steps}", Chat.of(task))

    result, _ = go([lambda request: Plan(steps=[request.chat[-1].text]).model_dump_json()] * 2, engine=both)
    assert result.answer == "['a'] ['b']"


def test_it_can_be_used_by_hand_as_a_generator_of_steps() -> None:
    asking = structured("plan it", Plan)
    step = next(asking)
    assert isinstance(step, Think) and step.shape and (step.shape.name, step.shape.at_most) == ("Plan", "native")
    step = asking.send(Reply(GOOD, answer=None, readable=False, dialect="native", problems=("no call",)))
    assert step.shape and step.shape.at_most == "json"
    with pytest.raises(StopIteration) as end:
        asking.send(Reply(GOOD, answer=GOOD, dialect="json"))
    assert end.value.value.level == "json" and end.value.value.calls == 2


def test_what_a_fallback_finds_is_validated_and_every_call_is_counted() -> None:
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    for kind in (schema, Aged):
        found = []

        def ask(task: Any, kind: Any = kind, found: Any = found) -> Any:
            data = yield from structured(
                Chat.of(task), kind, fallback=lambda text: {"age": text if text == "old" else 7}
            )
            found.append(data)
            return Answer("done", Chat.of(task))

        result = Agent(Scripted(["old", "seven"]), engine=ask, journal="memory").run("q")
        assert result.error is None and found[0].calls == found[0].usage.calls == 2
        assert found[0].value in ({"age": 7}, Aged(age=7))
