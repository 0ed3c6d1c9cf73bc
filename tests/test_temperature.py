"""The temperature that a run sets in its requests, to models that declare that they take one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentkit import Agent, Run
from agentkit.errors import ReadOnly, UsageError
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted
from agentkit.models.tiny import Tiny

WARM = Abilities(temperature=True)


def started(*, abilities: Abilities = WARM, journal: Any = "memory", **options: Any) -> tuple[Run, Scripted]:
    model = Scripted(["One.", "Two.", "Three.", "Four.", "Five."], abilities=abilities)
    return Agent(model, journal=journal, **options).start("Count.", paused=True), model


def settings(model: Scripted) -> list[dict[str, Any]]:
    return [request["settings"] for request in model.requests]


def test_it_applies_from_the_next_step_on_and_none_leaves_it_to_the_model() -> None:
    run, model = started()
    assert run.temperature is None and "temperature" not in run.request()["settings"]
    run.temperature = 0.5
    assert run.request()["settings"] == {"temperature": 0.5}
    next(run)
    run.undo()
    run.temperature = None
    next(run)
    assert settings(model) == [{"temperature": 0.5}, {}]


def test_it_goes_before_the_settings_of_the_agent_which_are_left_as_they_are() -> None:
    run, model = started(settings={"temperature": 1, "seed": 3})
    run.temperature = 0
    next(run)
    run.undo()
    run.temperature = None
    next(run)
    assert settings(model) == [{"temperature": 0, "seed": 3}, {"temperature": 1, "seed": 3}]


def test_each_entry_and_its_request_keep_the_temperature_that_it_had() -> None:
    run, model = started()
    run.temperature = 0.5
    next(run)
    run.temperature = 1.5
    assert run[1].temperature == 0.5 and run.request(1)["settings"] == {"temperature": 0.5}
    run.edit(1, text="Edited.")
    assert model.calls == 1


def test_a_replay_uses_what_is_recorded_whatever_the_temperature_is(tmp_path: Path) -> None:
    run, model = started(journal=tmp_path / "runs.db")
    run.temperature = 0
    next(run)
    run.close()
    model = Scripted(["Later."], abilities=WARM)
    resumed = Agent(model, journal=tmp_path / "runs.db").resume(run.id)
    assert (resumed.temperature, resumed[1].temperature, model.calls) == (0, 0, 0)
    resumed.temperature = None
    assert resumed.drive().answer == "One." and model.calls == 0
    resumed.close()
    assert Agent(model, journal=tmp_path / "runs.db").resume(run.id).temperature is None


@pytest.mark.parametrize("value", [0, 0.7])
def test_a_fork_has_the_temperature_of_its_run_also_after_it_was_resumed(tmp_path: Path, value: float) -> None:
    run, model = started(journal=tmp_path / "runs.db")
    run.temperature = value
    fork = run.fork()
    assert fork.temperature == value
    fork.temperature = 1
    assert run.temperature == value
    other = run.fork()
    other.close()
    assert Agent(model, journal=tmp_path / "runs.db").resume(other.id).temperature == value


def test_another_temperature_is_another_question_for_samples() -> None:
    run, _ = started()
    run.drive()
    run.temperature = 0
    samples = run.resample(1, times=2).go()
    assert samples.title == "model_call_1, scripted at temperature 0: asked 2 times"
    assert [entry.temperature for entry in samples.replies] == [0, 0]
    run.temperature = 1
    assert run.resample(1, times=2).calls == 2
    run.temperature = 0
    assert run.resample(1, times=2).calls == 0


def test_only_models_that_declare_it_are_sent_a_temperature() -> None:
    other = Scripted(["No."])
    run, model = started(roles={"thought": other})
    run.temperature = 0.3
    next(run)
    assert settings(other) == [{}] and run[1].temperature is None and model.calls == 0


def test_a_model_that_declares_none_cannot_be_given_one() -> None:
    run, _ = started(abilities=Abilities())
    with pytest.raises(UsageError, match=r"scripted does not declare that it takes a temperature.*settings="):
        run.temperature = 0.5
    run.temperature = None


@pytest.mark.parametrize("value", [-0.1, 2.1, "hot", True, float("nan"), [1]])
def test_a_temperature_is_a_number_from_0_to_2(value: Any) -> None:
    run, _ = started()
    with pytest.raises(UsageError, match="a temperature must be a number from 0 to 2, or None"):
        run.temperature = value
    assert run.temperature is None


def test_a_run_that_is_closed_keeps_its_temperature() -> None:
    run, _ = started()
    run.close()
    with pytest.raises(ReadOnly):
        run.temperature = 1


def test_tiny_takes_one() -> None:
    run = Agent(Tiny(temperature=0.4), journal="memory").start("What is the price of tea?", paused=True)
    assert run.request()["temperature"] == 0.4
    run.temperature = 1.2
    assert run.request()["temperature"] == 1.2
