"""A typed final answer: the model is told the schema, the answer is checked, and both are recorded with the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pydantic
import pytest
from splitting import split

from agentkit import Agent, Call, Reply, Result, load, tool
from agentkit.errors import OutputValidationError, UsageError
from agentkit.export import json as export_json
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted


class Trip(pydantic.BaseModel):
    """A trip."""

    city: str
    days: int


GOOD, BAD = '{"city": "Bern", "days": 2}', '{"city": "Bern", "days": "many"}'
BERN = Trip(city="Bern", days=2)
NATIVE, JSON, TEXT = Abilities(tools=True, json=True), Abilities(json=True), Abilities()


@tool(effect="pure")
def weather(city: str) -> str:
    """Return the weather."""
    return "rain"


def go(lines: list[Any], abilities: Abilities = NATIVE, output: Any = Trip, **more: Any) -> tuple[Result, Scripted]:
    model = Scripted(lines, abilities=abilities)
    return Agent(model, [weather], journal="memory", **split(more)).run("Where to?", output=output), model


def final(answer: str, abilities: Abilities) -> str:
    """Return an answer in the dialect of a model."""
    if abilities.tools:
        return answer
    return (
        json.dumps({"type": "final_answer", "answer": json.loads(answer)})
        if abilities.json
        else f"FINAL_ANSWER: {answer}"
    )


@pytest.mark.parametrize("abilities", [NATIVE, JSON, TEXT])
def test_the_answer_is_text_and_a_validated_object(abilities: Abilities) -> None:
    result, model = go([final(GOOD, abilities)], abilities)
    assert (result.output, json.loads(result.answer), result.error, model.calls) == (BERN, json.loads(GOOD), None, 1)


def test_every_request_tells_the_model_the_schema() -> None:
    look = Reply("", (Call("weather", {"city": "Bern"}, "c"),))
    result, model = go([look, GOOD], instructions="Be brief.")
    assert result.output == BERN
    for request in model.requests:
        first, schema_message, asked = request["messages"][:3]
        assert (
            first["content"] == "Be brief."
            and '"days"' in schema_message["content"]
            and asked["content"] == "Where to?"
        )


@pytest.mark.parametrize("bad", ["Let us go to Bern.", BAD, '{"city": "Bern", "days": 2', "[]"])
@pytest.mark.parametrize("abilities", [NATIVE, TEXT])
def test_an_answer_that_does_not_fit_is_sent_back_once_with_the_problem(abilities: Abilities, bad: str) -> None:
    reply = bad if abilities.tools else f"FINAL_ANSWER: {bad}"
    result, model = go([reply, final(GOOD, abilities)], abilities)
    assert (result.output, result.error, model.calls) == (BERN, None, 2)
    (sent_back,) = [entry for entry in result.run.entries if entry.kind == "conclude" and entry.author == "gate"]
    assert sent_back.result.text == model.requests[1]["messages"][-1]["content"] and "Trip" in sent_back.reason
    assert "Sent back" in repr(result.run)


def test_a_second_answer_that_does_not_fit_is_a_typed_error_with_the_raw_text() -> None:
    result, model = go([BAD, "Bern, for many days."])
    assert isinstance(result.error, OutputValidationError) and isinstance(result.error, ValueError)
    assert (result.error.raw, model.calls, result.output) == ("Bern, for many days.", 2, None)
    assert result.error.problem == "there is no JSON in the reply" and result.run.status == "failed"
    with pytest.raises(OutputValidationError):
        go([BAD, BAD], raise_errors=True)


def test_a_run_with_such_an_error_can_be_driven_again_or_corrected_by_an_edit() -> None:
    result, model = go([BAD, BAD, GOOD])
    assert result.run.drive().output == BERN and model.calls == 3
    result, _ = go([BAD, BAD])
    result.run.edit(-1, answer=GOOD)
    assert result.run.drive().output == BERN


def test_step_by_step_the_problem_is_visible_and_the_error_is_raised() -> None:
    run = Agent(Scripted([BAD, BAD]), journal="memory").start("Where to?", output=Trip, paused=True)
    next(run)
    assert run.pending[0].step.kind == "conclude"
    assert next(run).kind == "think" and run.entries[-2].author == "gate"
    with pytest.raises(OutputValidationError, match="days"):
        next(run)


@pytest.mark.parametrize("reply", [GOOD, f"```json\n{GOOD}\n```"])
@pytest.mark.parametrize("abilities", [NATIVE, JSON, TEXT])
def test_bare_data_without_the_markers_of_the_dialect_is_the_answer_at_once(abilities: Abilities, reply: str) -> None:
    result, model = go([reply], abilities)
    assert (result.output, model.calls) == (BERN, 1)


def test_a_field_with_the_name_of_the_dialects_answer_hides_no_other_field() -> None:
    class Sure(pydantic.BaseModel):
        answer: str
        certainty: float

    result, model = go(['{"answer": "Bern", "certainty": 0.5}'], JSON, Sure)
    assert (result.output, model.calls) == (Sure(answer="Bern", certainty=0.5), 1)


def test_it_works_the_same_in_the_background_and_on_an_event_loop() -> None:
    import asyncio

    run = Agent(Scripted([BAD, GOOD]), journal="memory").start("Where to?", output=Trip)
    assert run.wait(10).output == BERN
    run = Agent(Scripted([BAD, BAD, GOOD]), journal="memory").start("Where to?", output=Trip)
    assert isinstance(run.wait(10).error, OutputValidationError)

    async def again() -> Any:
        return (await run).output

    assert asyncio.run(again()) == BERN


def test_the_object_is_shown_with_the_result() -> None:
    assert "output=Trip(city='Bern', days=2)" in repr(go([GOOD])[0])


def test_data_that_was_repaired_without_guessing_is_accepted() -> None:
    result, model = go(["Here:\n```json\n{'city': 'Bern', 'days': 2,}\n```"])
    assert (result.output, model.calls) == (BERN, 1)


def test_a_forced_answer_that_does_not_fit_is_an_error_next_to_the_text() -> None:
    look = Reply("", (Call("weather", {"city": "Bern"}, "c"),))
    result, _ = go([look, "somewhere"], max_iterations=1)
    assert (result.answer, result.output, result.reason) == ("somewhere", None, "max_turns")
    assert isinstance(result.error, OutputValidationError) and result.error.raw == "somewhere"
    result, _ = go([look, GOOD], max_iterations=1)
    assert (result.output, result.error) == (BERN, None)


def test_an_injected_message_is_heard_before_a_misfit_becomes_an_error() -> None:
    run = Agent(Scripted([BAD, GOOD]), journal="memory").start("Where to?", output=Trip, paused=True)
    next(run)
    receipt = run.inject("two days")
    assert run.drive().output == BERN and receipt.seen


def test_a_schema_gives_plain_data_and_a_type_adapter_its_validated_object() -> None:
    schema = {"title": "Trip", "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    assert go(["{}", GOOD], output=schema)[0].output == {"city": "Bern", "days": 2}
    assert go([f'{{"value": [{GOOD}]}}'], output=pydantic.TypeAdapter(list[Trip]))[0].output == [BERN]
    assert go([f"[{GOOD}]"], output=pydantic.TypeAdapter(list[Trip]))[0].output == [BERN]
    with pytest.raises(UsageError, match="pydantic"):
        go([], output=str)


def test_without_output_there_is_no_object() -> None:
    result, model = go([GOOD], output=None)
    assert result.output is None and len(model.requests[0]["messages"]) == 1


# -- export and load ---------------------------------------------------------------------------------------------------


def test_a_resumed_run_still_checks_the_type_of_its_answer(tmp_path: Path) -> None:
    journal = str(tmp_path / "runs.db")
    run = Agent(Scripted([BAD]), journal=journal).start("Where to?", output=Trip, paused=True)
    next(run)
    run.close()
    model = Scripted([GOOD])
    again = Agent(model, journal=journal).resume(run.id)
    assert again.drive().output == BERN and model.calls == 1
    assert again.entries[0].result["output"]["name"] == "Trip"


def test_an_undo_and_a_fork_keep_the_type() -> None:
    result, _ = go([BAD, GOOD])
    assert result.run.fork(0, model=Scripted([GOOD])).drive().output == BERN
    result.run.undo()
    assert result.run.drive().output == BERN


def test_a_loaded_run_returns_the_object_if_the_type_is_available_and_plain_data_otherwise() -> None:
    data = go([GOOD])[0].run.to_json()
    assert Agent("offline", journal="memory").load(data).result.output == BERN
    gone = json.loads(json.dumps(data).replace("test_answers:Trip", "test_answers:Gone"))
    relink(gone)
    loaded = Agent("offline", journal="memory").load(gone)
    assert loaded.result.output == {"city": "Bern", "days": 2}
    harmful = json.loads(
        json.dumps(data).replace("tests.test_answers:Trip", "os:system").replace("test_answers:Trip", "os:system")
    )
    relink(harmful)
    assert Agent("offline", journal="memory").load(harmful).result.output == {"city": "Bern", "days": 2}


def relink(data: dict[str, Any]) -> None:
    """Compute the hashes of a changed recording again."""
    before = ""
    for record in data["rows"]:
        record["digest"] = before = export_json._chained_digest(before, record)
    data["digest"] = before


def test_a_notebook_of_the_run_also_returns_the_object() -> None:
    run = go([BAD, GOOD])[0].run
    assert load(run.to_notebook()).result.output == BERN


def test_a_secret_in_a_schema_is_neither_recorded_nor_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c")

    class Login(pydantic.BaseModel):
        key: str = "sk-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c"

    result, model = go(["{}", '{"key": "k"}'], output=Login)
    assert isinstance(result.output, Login)
    assert "4f9a8b7c" not in json.dumps(result.run.to_json()) + json.dumps(list(model.requests))


def test_the_offline_model_does_not_invent_data() -> None:
    result = Agent("offline", ["math"], journal="memory").run("What is 2 + 2?", output=Trip)
    assert isinstance(result.error, OutputValidationError) and result.output is None


def test_a_damaged_type_in_a_recording_is_named() -> None:
    data = go([GOOD])[0].run.to_json()
    begin = next(record for record in data["rows"] if record["row"].get("entry") == "begin")
    begin["row"]["result"]["json"]["output"]["schema"] = 3
    relink(data)
    with pytest.raises(UsageError, match="output"):
        Agent("offline", journal="memory").load(data)
