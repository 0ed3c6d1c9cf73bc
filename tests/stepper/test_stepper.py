"""The stepper, driven by hand: no model, no tool, no journal."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit.around.base import around
from agentkit.core.messages import Call, Chat, Message, Reply, user
from agentkit.core.steps import Act, After, All, Answer, Conclude, Think
from agentkit.engines.react import react
from agentkit.errors import EngineError, Finish
from agentkit.stepper.stepper import Stepper


class Recorded:
    def __init__(self, step: Any, result: Any) -> None:
        self.step, self.result = step, result


def answer(chat: Any = "q") -> Answer:
    return Answer("done", Chat.of(chat))


def observe(step: Act, text: str = "obs") -> Message:
    return Message("tool", f"{text} {step.call.name}", (), step.call.id, step.call.name)


def test_a_step_is_pending_until_it_is_fed_and_nothing_else_changes() -> None:
    stepper = Stepper(react("hello"))
    (first,) = stepper.pending
    assert type(first.step) is Think and stepper.pending == [first]
    stepper.feed(first, Reply("I add", (Call("add", {"a": 1}, "c1"),)))
    assert type(stepper.pending[0].step) is Act


def test_feeding_a_step_twice_is_an_error_and_changes_nothing() -> None:
    stepper = Stepper(react("hello"))
    (first,) = stepper.pending
    stepper.feed(first, Reply("x", answer="x"))
    with pytest.raises(EngineError, match="not pending"):
        stepper.feed(first, Reply("y", answer="y"))
    assert stepper.pending[0].step == Conclude("x")


def test_several_calls_become_lanes_whose_results_are_returned_in_call_order() -> None:
    stepper = Stepper(react("hello"))
    stepper.feed(stepper.pending[0], Reply("", (Call("a", {}, "1"), Call("b", {}, "2"))))
    first, second = stepper.pending
    assert [first.path, second.path] == ["[1.0]", "[1.1]"]
    stepper.feed(second, observe(second.step))
    stepper.feed(first, observe(first.step))
    (thought,) = stepper.pending
    assert [message.text for message in thought.step.chat] == ["hello", "", "obs a", "obs b"]


def sub(name: str) -> Any:
    reply = yield Think(Chat.of(name))
    return Answer(f"{name}:{reply.text}", Chat.of(name))


def outer() -> Any:
    first = yield from sub("one")
    second = yield from sub("two")
    lanes = yield All((sub("l0"), Think(Chat.of("l1")), sub("l2")))
    return Answer(f"{first.text} {second.text} {lanes[0].text} {lanes[1].text} {lanes[2].text}", Chat.of("x"))


def play(stepper: Stepper, backwards: bool = False) -> dict[tuple[str, int], Recorded]:
    recorded: dict[tuple[str, int], Recorded] = {}
    while stepper.pending:
        pending = stepper.pending[-1 if backwards else 0]
        result = None if pending.step.kind == "conclude" else Reply(f"r{pending.path}")
        recorded[pending.path, pending.index] = Recorded(pending.step, result)
        stepper.feed(pending, result)
    return recorded


def test_nested_engines_and_lanes_have_their_own_paths() -> None:
    stepper = Stepper(outer())
    recorded = play(stepper)
    assert list(recorded) == [(".1", 0), (".2", 0), ("[0.0]", 0), ("[0.1]", 0), ("[0.2]", 0), ("", 1)]
    assert stepper.answer is not None and stepper.answer.text == "one:r.1 two:r.2 l0:r[0.0] r[0.1] l2:r[0.2]"


def test_a_replay_gives_the_same_answer_in_any_order_of_completion() -> None:
    recorded = play(Stepper(outer()), backwards=True)
    again = Stepper(outer())
    again.replay(dict(reversed(recorded.items())))
    assert again.answer is not None and again.answer.text == "one:r.1 two:r.2 l0:r[0.0] r[0.1] l2:r[0.2]"


def test_a_replay_stops_at_the_first_different_step_and_says_where() -> None:
    recorded = play(Stepper(outer()))
    recorded[(".2", 0)].step = Think(Chat.of("two"), role="plan")
    again = Stepper(outer())
    done = again.replay(recorded)
    assert len(done) == 1 and again.pending[0].path == ".2"
    assert "plan" in again.diverged and ".2" in again.diverged


def test_where_names_every_frame_of_every_lane_with_its_line_and_locals() -> None:
    stepper = Stepper(outer())
    play_until_lanes(stepper)
    places = stepper.where()
    assert [(place.lane, place.function) for place in places] == [
        ("", "outer"),
        ("[0.0]", "sub"),
        ("[0.2]", "sub"),
    ]
    assert places[1].locals["name"] == "l0" and "yield Think" in places[1].source
    assert places[0].file.endswith("test_stepper.py")


def play_until_lanes(stepper: Stepper) -> None:
    for _ in range(2):
        stepper.feed(stepper.pending[0], Reply("r"))


def twice(step: Any, memory: dict[str, Any]) -> Any:
    memory["seen"] = memory.get("seen", 0) + 1
    first = yield step
    return first + (yield Think(step.chat + first, role=f"again {memory['seen']}"))


def test_an_around_may_yield_further_steps_and_has_a_memory_for_each_frame() -> None:
    def engine() -> Any:
        for _ in range(2):
            yield Think(Chat.of("q"))
        yield from sub("inner")
        return answer()

    stepper, roles = Stepper(engine(), (around(Think)(twice),)), []
    while stepper.pending[0].step.kind != "conclude":
        roles.append(stepper.pending[0].step.role)
        stepper.feed(stepper.pending[0], Reply("r"))
    assert roles == ["thought", "again 1", "thought", "again 2", "thought", "again 1"]


def test_an_extra_step_of_an_outer_around_passes_through_the_inner_ones() -> None:
    seen = []

    def inner(step: Any, memory: dict[str, Any]) -> Any:
        seen.append(step.role)
        return (yield step)

    def engine() -> Any:
        yield Think(Chat.of("q"))
        return answer()

    stepper = Stepper(engine(), (around(Think)(twice), inner))
    while stepper.pending[0].step.kind != "conclude":
        stepper.feed(stepper.pending[0], Reply("r"))
    assert seen == ["thought", "again 1", "answer"]


def test_an_around_can_finish_the_run_early() -> None:
    def stop(step: Any, memory: dict[str, Any]) -> Any:
        yield step
        raise Finish("enough", "why")

    stepper = Stepper(react("q"), (stop,))
    stepper.feed(stepper.pending[0], Reply("r", answer="r"))
    assert stepper.answer is not None and (stepper.answer.text, stepper.answer.interrupted) == ("enough", "why")
    assert stepper.pending == []


def test_results_of_other_lanes_are_ignored_after_the_end() -> None:
    def stop(step: Any, memory: dict[str, Any]) -> Any:
        raise Finish((yield step).text)

    def engine() -> Any:
        yield All((Think(Chat.of("a")), Think(Chat.of("b"))))
        return answer()

    stepper = Stepper(engine(), (around(Think)(stop),))
    for pending, text in zip(stepper.pending, ("first", "second"), strict=True):
        stepper.feed(pending, Reply(text))
    assert stepper.answer is not None and stepper.answer.text == "first"
    assert stepper.pending == []


def bad_step() -> Any:
    yield "not a step"


def bad_end() -> Any:
    yield Think(Chat.of("q"))
    return "no Answer"


def raises() -> Any:
    yield Think(Chat.of("q"))
    raise KeyError("k")


@pytest.mark.parametrize(
    ("engine", "says"), [(bad_step, "yields steps"), (bad_end, "must return Answer"), (raises, "KeyError")]
)
def test_an_engine_that_violates_the_protocol_is_an_error_that_says_how(engine: Any, says: str) -> None:
    stepper = Stepper(engine())
    for pending in stepper.pending:
        stepper.feed(pending, Reply("r"))
    assert says in str(stepper.error) and stepper.pending == []


def test_only_the_answer_of_the_outermost_engine_is_proposed() -> None:
    def wrapped() -> Any:
        return (yield from react("q"))

    stepper = Stepper(wrapped())
    stepper.feed(stepper.pending[0], Reply("yes", answer="yes"))
    (pending,) = stepper.pending
    assert (pending.path, pending.step) == ("", Conclude("yes"))
    stepper.feed(pending, None)
    assert stepper.answer is not None and stepper.answer.text == "yes"


def test_an_engine_is_started_again_with_its_answer_and_the_message_that_came_back() -> None:
    stepper = Stepper(react("q"), begin_again=react)
    stepper.feed(stepper.pending[0], Reply("yes", answer="yes"))
    stepper.feed(stepper.pending[0], user("and now?"))
    (pending,) = stepper.pending
    assert (pending.path, pending.index) == ("", 2)
    assert [message.text for message in pending.step.chat] == ["q", "yes", "and now?"]


def test_an_engine_that_yields_a_conclude_is_told_how_to_end() -> None:
    def engine() -> Any:
        yield Conclude("x")

    assert "return Answer" in str(Stepper(engine()).error)


def test_parts_start_when_their_inputs_are_available_and_never_more_than_the_limit() -> None:
    def engine() -> Any:
        both = After((1, 2), lambda one, two: sub(f"{one.text} and {two.text}"))
        results = yield All((both, sub("one"), sub("two"), After((0,), lambda both: f"after {both.text}")), limit=1)
        return Answer(f"{results[0].text}, {results[3]}", Chat.of("x"))

    stepper, seen = Stepper(engine()), []
    while stepper.pending[0].step.kind == "think":
        (pending,) = stepper.pending
        seen.append((pending.path, pending.step.chat[-1].text))
        stepper.feed(pending, Reply("r"))
    assert seen == [("[0.1]", "one"), ("[0.2]", "two"), ("[0.0<1,2]", "one:r and two:r")]
    assert stepper.pending[0].step.answer == "one:r and two:r:r, after one:r and two:r:r"


def test_values_that_cross_a_yield_are_never_changed() -> None:
    stepper = Stepper(react("hello"))
    reply = Reply("t", (Call("a", {"x": [1]}, "1"),))
    step = stepper.pending[0].step
    before = (step.chat.digest, repr(reply))
    stepper.feed(stepper.pending[0], reply)
    act = stepper.pending[0]
    kept = repr(act.step)
    stepper.feed(act, observe(act.step))
    assert (step.chat.digest, repr(reply), repr(act.step)) == (*before, kept)
    assert len(step.chat) == 1 and len(stepper.pending[0].step.chat) == 3
