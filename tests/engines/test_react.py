"""ReAct, driven by hand."""

from __future__ import annotations

from agentkit.core.messages import Call, Chat, Message, Reply
from agentkit.core.steps import Act, All, Answer, Think
from agentkit.engines.react import ANSWER_NOW, react

CALL = Call("add", {"a": 1, "b": 2}, "c1")


def done(engine: object, result: object) -> Answer:
    try:
        engine.send(result)  # type: ignore[attr-defined]
    except StopIteration as end:
        return end.value
    raise AssertionError("the engine went on")


def test_think_act_observe_and_answer() -> None:
    engine = react("1 + 2?")
    assert next(engine) == Think(Chat.of("1 + 2?"))
    assert engine.send(Reply("I add", (CALL,))) == Act(CALL)
    thought = engine.send(Message("tool", "3", (), "c1", "add"))
    assert [message.role for message in thought.chat] == ["user", "assistant", "tool"]
    answer = done(engine, Reply("It is 3", answer="3"))
    assert (answer.text, answer.interrupted) == ("3", "")


def test_several_calls_are_made_in_parallel() -> None:
    engine, other = react("q"), Call("add", {"a": 3, "b": 4}, "c2")
    next(engine)
    step = engine.send(Reply("both", (CALL, other)))
    assert step == All((Act(CALL), Act(other)), role="action")


def test_after_the_last_iteration_an_answer_is_forced() -> None:
    engine = react("q", max_iterations=2)
    next(engine)
    for _ in range(2):
        engine.send(Reply("again", (CALL,)))
        step = engine.send((Message("tool", "3", (), "c1", "add"),))
    assert (step.role, step.choice, step.chat[-1].text) == ("answer", "none", ANSWER_NOW)
    answer = done(engine, Reply("best guess", raw="best guess"))
    assert (answer.text, answer.interrupted) == ("best guess", "max_turns")


def test_without_a_forced_answer_there_is_none() -> None:
    engine = react("q", max_iterations=1, force_answer=False)
    next(engine)
    engine.send(Reply("again", (CALL,)))
    answer = done(engine, (Message("tool", "3", (), "c1", "add"),))
    assert (answer.text, answer.interrupted) == ("", "max_turns")


def test_if_even_the_forced_answer_is_empty_the_trace_is_summed_up() -> None:
    engine = react("q", max_iterations=1)
    next(engine)
    engine.send(Reply("again", (CALL,)))
    engine.send((Message("tool", "no", (), "c1", "add", False),))
    assert done(engine, Reply("", raw=" \n")).text == "No answer was reached. This is what was done:\nadd failed: no"


def test_a_reformatted_reply_counts_as_an_iteration() -> None:
    engine = react("q", max_iterations=2)
    next(engine)
    engine.send(Reply("again", (CALL,), attempts=2))
    assert engine.send((Message("tool", "3", (), "c1", "add"),)).role == "answer"


def test_the_callers_messages_are_not_changed() -> None:
    mine = [{"role": "user", "content": "q"}]
    engine = react(mine)
    next(engine)
    done(engine, Reply("x", answer="x"))
    assert mine == [{"role": "user", "content": "q"}]
