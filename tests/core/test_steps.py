"""Engines within engines: the options that they are offered, and the effects of scopes on their steps."""

from __future__ import annotations

from typing import Any

from agentkit import Act, All, Answer, Call, Chat, Loop, Stepper, Think
from agentkit.core.steps import End, capped, tagged, timed
from agentkit.engines.react import react


def alone(task: Any) -> Any:
    return Answer((yield Think(Chat.of(task))).text, Chat.of(task))


def test_an_engine_gets_only_those_offered_options_that_it_has_a_parameter_for() -> None:
    assert Loop(alone).begin("q", tools=(), max_iterations=3).gi_frame.f_locals == {"task": "q"}
    assert Loop(react).begin("q", max_iterations=3, beam_width=2).gi_frame.f_locals["max_iterations"] == 3
    assert Loop(react, max_iterations=7).begin("q", max_iterations=3).gi_frame.f_locals["max_iterations"] == 7


def inner(task: Any) -> Any:
    chat = Chat.of(task)
    yield Think(chat, tags={"step": 1, "own": True})
    yield All((Act(Call("a")), alone("x")))
    return Answer("end", chat)


def outer(task: Any) -> Any:
    return (yield from tagged(inner(task), step=2, episode=1))


def test_the_outer_tag_counts_and_steps_in_lanes_have_it_too() -> None:
    stepper = Stepper(outer("q"))
    (think,) = stepper.pending
    assert think.path == ".1" and dict(think.step.tags) == {"step": 2, "own": True, "episode": 1}
    assert [frame.function for frame in stepper.where()] == ["outer", "inner"]
    stepper.feed(think, None)
    assert [dict(pending.step.tags) for pending in stepper.pending] == [{"step": 2, "episode": 1}] * 2
    for pending in stepper.pending:
        stepper.feed(pending, Answer("", Chat.of("")))
    (conclusion,) = stepper.pending
    stepper.feed(conclusion, None)
    assert stepper.answer is not None and stepper.answer.text == "end"


def test_an_invalid_step_is_reported_through_a_scope() -> None:
    def wrong(task: Any) -> Any:
        yield 42
        return Answer("", Chat.of(task))

    stepper = Stepper(tagged(wrong("q"), step=1))  # type: ignore[arg-type]
    assert "an engine yields steps" in str(stepper.error)


def test_each_step_knows_the_scopes_around_it_outermost_first() -> None:
    def engine(task: Any) -> Any:
        return (yield from timed(capped(tagged(alone(task), a=1), max_tokens=5), 3.0))

    (pending,) = Stepper(engine("q")).pending
    assert [path for path, _ in pending.scopes] == [".1"] * 3 and pending.path == ".1"
    assert [scope.seconds for _, scope in pending.scopes] == [3.0, None, None]
    assert [dict(scope.limits) for _, scope in pending.scopes] == [{}, {"max_tokens": 5}, {}]


def test_a_scope_that_is_ended_returns_its_answer_to_the_engine_around_it() -> None:
    def engine(task: Any) -> Any:
        first = yield from capped(inner(task), max_tokens=5)
        second = yield Think(Chat.of(first.text))
        return Answer(f"{first.text} ({first.interrupted}), {second}", Chat.of(task))

    for depth in (0, 1):  # in the engine's own lane, and in a lane inside it
        stepper = Stepper(engine("q"))
        for _ in range(depth):
            stepper.feed(stepper.pending[0], None)
        stepper.feed(stepper.pending[0], End("so far", "budget:max_tokens", ".1"))
        (pending,) = stepper.pending
        assert [message.text for message in pending.step.chat] == ["so far"]
        stepper.feed(pending, "more")
        assert stepper.pending[0].step.answer == "so far (budget:max_tokens), more"


def test_the_whole_run_can_be_ended_from_any_lane() -> None:
    stepper = Stepper(outer("q"))
    stepper.feed(stepper.pending[0], None)
    stepper.feed(stepper.pending[1], End("enough", "budget:max_cost"))
    assert stepper.answer is not None and (stepper.answer.text, stepper.answer.interrupted) == (
        "enough",
        "budget:max_cost",
    )
    assert stepper.pending == []
