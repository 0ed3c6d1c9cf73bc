"""Engines within engines: what they are offered, and what their steps are marked with."""

from __future__ import annotations

import functools
from typing import Any

from agentkit import Act, All, Answer, Call, Chat, Conclude, Stepper, Think
from agentkit.core.steps import nested, tagged
from agentkit.engines.react import react


def alone(task: Any) -> Any:
    return Answer((yield Think(Chat.of(task))).text, Chat.of(task))


def test_a_nested_engine_is_given_what_it_has_a_parameter_for() -> None:
    assert nested(alone, "q", tools=(), max_iterations=3).gi_frame.f_locals == {"task": "q"}
    assert nested(react, "q", max_iterations=3, beam_width=2).gi_frame.f_locals["max_iterations"] == 3
    preset = functools.partial(react, max_iterations=7)
    assert nested(preset, "q", max_iterations=3).gi_frame.f_locals["max_iterations"] == 7


def inner(task: Any) -> Any:
    chat = Chat.of(task)
    yield Think(chat, tags={"step": 1, "own": True})
    yield All((Act(Call("a")), alone("x")))
    yield Conclude("end")
    return Answer("end", chat)


def outer(task: Any) -> Any:
    return (yield from tagged(inner(task), step=2, episode=1))


def test_the_outer_tag_holds_and_lanes_carry_it_too() -> None:
    stepper = Stepper(outer("q"))
    (think,) = stepper.pending
    assert think.path == ".1.1" and dict(think.step.tags) == {"step": 2, "own": True, "episode": 1}
    assert [place.function for place in stepper.where()] == ["outer", "inner"]
    stepper.feed(think, None)
    (batch,) = stepper.pending
    stepper.open(batch)
    assert [dict(pending.step.tags) for pending in stepper.pending] == [{"step": 2, "episode": 1}] * 2
    for pending in stepper.pending:
        stepper.feed(pending, Answer("", Chat.of("")))
    (joint,) = stepper.pending
    stepper.feed(joint, stepper.join(joint))
    assert stepper.answer is not None and stepper.answer.text == "end"


def test_an_engine_that_yields_nonsense_is_told_so_through_the_tags() -> None:
    def wrong(task: Any) -> Any:
        yield 42
        return Answer("", Chat.of(task))

    stepper = Stepper(tagged(wrong("q"), step=1))
    assert "an engine yields steps" in str(stepper.error)
