"""Requests for data in a run can be stepped, edited, undone, forked, switched, resumed, exported and loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pydantic
import pytest

from agentkit import Agent, Answer, Chat, Reply, Run, Think
from agentkit.core.messages import Call
from agentkit.engines.structured import structured
from agentkit.errors import ModelError, OutputValidationError
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

ALL, JSON, TEXT = Abilities(tools=True, json=True), Abilities(json=True), Abilities()
LOOK, LEAP = '{"steps": ["look"]}', '{"steps": ["leap"]}'


class Plan(pydantic.BaseModel):
    steps: list[str]


def planner(task: Any) -> Any:
    """Plan, and carry out each step with one thought."""
    chat = Chat.of(task)
    plan = yield from structured(chat, Plan, role="plan")
    for step in plan.value.steps:
        chat += yield Think(chat + step)
    return Answer(f"{plan.level}/{plan.calls}: {chat[-1].text}", chat)


def begin(lines: list[Any], abilities: Abilities = TEXT, journal: Any = "memory") -> tuple[Run, Scripted]:
    model = Scripted(lines, abilities=abilities)
    return Agent(model, engine=planner, journal=journal).start("go", paused=True), model


def levels(run: Run) -> list[str]:
    return [entry.dialect for entry in run.entries if entry.kind == "think" and entry.step.shape]


def test_each_attempt_is_a_separate_step() -> None:
    run, _ = begin(["no", LOOK, "done"], JSON)
    kinds = [(entry.kind, entry.step.role) for entry in run]
    assert kinds == [("think", "plan"), ("think", "plan"), ("think", "thought"), ("conclude", "answer")]
    assert run.answer == "json/2: done"


def test_a_replay_takes_the_levels_from_the_recording_and_calls_nothing() -> None:
    run, model = begin(["no", LOOK, "done"], JSON)
    run.drive()
    again = Agent(Scripted([], abilities=ALL), engine=planner, journal=run.agent.journal).resume(run.id)
    assert (again.answer, levels(again), model.calls) == ("json/2: done", ["json", "json"], 3)
    assert not any(again.trace.has_drifted(entry) for entry in again.entries)


def test_data_can_be_edited_and_later_steps_are_requested_again() -> None:
    run, _ = begin([LOOK, "looked", "leapt"])
    run.drive()
    run.edit(1, answer=LEAP, reason="leap at once")
    assert run.drive().answer == "person/1: leapt" and run.entries[1].original
    run.undo().undo().undo()
    assert run.answer == "text/1: looked"


def test_an_edit_that_does_not_fit_causes_a_new_request_like_a_reply() -> None:
    run, _ = begin([LOOK, "looked", LEAP, "leapt"], JSON)
    run.drive()
    run.edit(1, answer="no data")
    assert run.pending[0].step.tags["attempt"] == 2 and run.drive().answer == "json/2: leapt"


def test_a_person_can_enter_the_data_instead_of_the_model() -> None:
    run, model = begin(["looked"])
    run.edit(answer=LOOK)
    assert run.drive().answer == "person/1: looked" and model.calls == 1


def test_an_error_can_be_corrected_by_an_edit_or_by_undo() -> None:
    run, _ = begin(["no", "no", LOOK, "looked", "leapt"])
    assert isinstance(run.drive().error, OutputValidationError)
    assert run.undo().drive().answer == "text/2: looked"
    run, _ = begin(["no", "no", "leapt"])
    run.drive()
    run.edit(-1, answer=LEAP)
    assert run.drive().answer == "person/2: leapt"


def test_a_fork_with_another_model_continues_at_the_level_that_it_supports() -> None:
    run, _ = begin([Reply("", (Call("Plan", {}, "c"),))], ALL)
    next(run)
    other = Scripted([LOOK, "looked"], abilities=TEXT)
    assert run.fork(model=other).drive().answer == "text/2: looked"
    assert other.requests[0]["json"] is False
    assert run.fork(0, model=Scripted([LOOK, "looked"], abilities=JSON)).drive().answer == "json/1: looked"


def test_the_dialect_of_the_run_limits_the_level_and_can_be_changed_midway() -> None:
    run, _ = begin(["no"] * 9, ALL)
    next(run)
    run.dialect = "text"
    for _ in range(2):
        next(run)
    assert levels(run) == ["native", "text", "text"]
    run, _ = begin([LOOK, "looked"], ALL)
    run.dialect = "json"
    assert run.drive().answer == "json/1: looked"
    run, _ = begin([LOOK, "looked"], TEXT)
    run.dialect = "native"
    assert run.drive().answer == "native/1: looked"


def test_a_message_can_be_injected_between_two_attempts_and_every_later_attempt_hears_it() -> None:
    run, model = begin(["no", LOOK, "looked"], JSON)
    receipt = run.inject("only one step")
    next(run)
    assert receipt.seen
    run.drive()
    contents = [[message["content"] for message in request["messages"]] for request in model.requests]
    assert all(any("only one step" in text for text in texts) for texts in contents[:2])


def test_a_resumed_run_continues_between_two_attempts(tmp_path: Path) -> None:
    run, _ = begin(["no"], JSON, str(tmp_path / "runs.db"))
    next(run)
    run.close()
    model = Scripted([LOOK, "looked"], abilities=JSON)
    again = Agent(model, engine=planner, journal=str(tmp_path / "runs.db")).resume(run.id)
    step: Any = again.entries[1].step
    assert (step.shape.name, step.shape.at_most, step.tags["attempt"]) == ("Plan", "native", 1)
    assert again.drive().answer == "json/2: looked" and model.calls == 2


def test_it_can_be_exported_as_json_and_loaded_with_its_shapes() -> None:
    run, _ = begin(["no", LOOK, "done"], JSON)
    run.drive()
    other = Agent(Scripted([]), engine=planner, journal="memory").load(run.to_json())
    assert other.answer == run.answer and [e.step.shape for e in other.entries[1:3]] == [
        e.step.shape for e in run.entries[1:3]
    ]
    damaged = run.to_json()
    row = next(record["row"] for record in damaged["rows"] if record["row"].get("step", {}).get("shape"))
    row["step"]["shape"]["at_most"] = "telepathy"
    with pytest.raises(Exception, match="changed"):
        other.agent.load(damaged)


@pytest.mark.parametrize("abilities", [ALL, JSON, TEXT])
def test_the_exact_request_can_be_rebuilt(abilities: Abilities) -> None:
    run, model = begin(["no"] * 9, abilities)
    run.drive()
    assert [run.request(n) for n in range(1, len(run))] == model.requests


def test_another_schema_is_drift_that_a_replay_shows() -> None:
    run, _ = begin([LOOK, "done"])
    run.drive()

    def other(task: Any) -> Any:
        chat = Chat.of(task)
        plan = yield from structured(chat, {"type": "object", "properties": {"steps": {"type": "array"}}}, role="plan")
        chat += yield Think(chat + plan.value["steps"][0])
        return Answer(chat[-1].text, chat)

    again = run.fork(engine=other)
    assert again.trace.has_drifted(again.entries[1]) and again.answer == "done"


def test_a_stopped_or_failed_attempt_stays_pending() -> None:
    run, _ = begin(["no", ModelError("down"), LOOK, "looked"], JSON)
    run.drive()
    assert (run.status, len(run)) == ("failed", 2)
    assert run.drive().answer == "json/2: looked"


def test_data_is_shown_wherever_a_run_is_shown() -> None:
    run, _ = begin(["no", '{"steps": ["look"', "looked"])
    run.drive()
    for shown in (repr(run), run.to_markdown(), run.to_html()):
        assert "look" in shown
    assert "its end was missing and was added" in run.to_markdown()
