"""Asking a model again for one recorded thought: samples of its replies, and what it writes if nothing stops it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from agentkit import Act, Agent, All, Answer, Budget, Call, Chat, Reply, Run, Think, Usage, tool
from agentkit.core import background
from agentkit.errors import ModelError, ReadOnly, UsageError
from agentkit.models.base import Abilities, Request
from agentkit.models.scripted import Scripted

SENT: list[str] = []
NATIVE = Abilities(tools=True)
USED = Usage(100, 10, cost=0.001)


@tool(effect="irreversible")
def send(text: str) -> str:
    """Send a message to the world."""
    SENT.append(text)
    return "sent"


@pytest.fixture(autouse=True)
def nothing_sent() -> None:
    SENT.clear()


def asks(text: str, thought: str = "I send it.") -> Reply:
    return Reply(thought, (Call("send", {"text": text}, "c1"),))


def finished(*more: Any, journal: Any = "memory", **options: Any) -> tuple[Run, Scripted]:
    """Return a run with entries 1 (thought), 2 (call), 3 (thought) and 4 (answer), and its model."""
    model = Scripted([asks("hi"), "Done.", *more], abilities=NATIVE, usage=USED)
    return Agent(model, [send], journal=journal, **options).run("Say hi.").run, model


MORE = (asks("hi", "Sending."), asks("hello"), "No.", asks("hi"))


# -- samples -----------------------------------------------------------------------------------------------------------


def test_nothing_is_asked_before_the_calls_and_their_price_were_shown() -> None:
    run, model = finished(*MORE)
    samples = run.resample(1, times=20)
    assert (model.calls, samples.calls, samples.replies) == (2, 20, [])
    assert samples.expected == Usage(2000, 200, cost=pytest.approx(0.02), calls=20)
    assert repr(samples).splitlines() == [
        "model_call_1, scripted: not asked again yet",
        "go() makes 20 calls of scripted: about 2,000 tokens to read and 200 to write; about $0.02. No tool is called.",
    ]
    assert "about $0.02" in samples._repr_html_() and "about &#36;0.02" in samples._repr_markdown_()
    assert model.calls == 2


def test_the_tokens_to_read_are_estimated_if_the_model_reports_no_usage() -> None:
    run = Agent(Scripted(["Done."]), journal="memory").run("Say hi.").run
    samples = run.resample(1, times=3)
    assert samples.expected.input > 0 and samples.expected.output == 0
    assert "no price is known" in samples.forecast


def test_replies_with_the_same_calls_or_the_same_answer_are_one_outcome() -> None:
    run, _ = finished(*MORE)
    samples = run.resample(1, times=4).go()
    assert samples.counts == {"send(text='hi')": 2, "send(text='hello')": 1, "No.": 1}
    assert [outcome.happened for outcome in samples] == [True, False, False]
    assert [outcome.share for outcome in samples] == [0.5, 0.25, 0.25]
    assert repr(samples).splitlines() == [
        "model_call_1, scripted: asked 4 times",
        "send(text='hi')     ██████████           2 of 4  ← in the run",
        "send(text='hello')  █████                1 of 4",
        "No.                 █████                1 of 4",
    ]


def test_what_happened_is_shown_even_if_no_sample_repeats_it() -> None:
    run, _ = finished("No.")
    assert "In the run: send(text='hi') (not among the samples)" in repr(run.resample(1, times=1).go())


def test_only_the_thought_is_performed_and_the_run_stays_as_it_was() -> None:
    run, model = finished(*MORE)
    before = [entry.id for entry in run.entries]
    run.resample(1, times=4).go()
    assert SENT == ["hi"] and run.status == "done" and [entry.id for entry in run.entries] == before
    first = model.requests[0]
    assert [request == first for request in model.requests] == [True, False, True, True, True, True]


def test_each_outcome_opens_a_run_that_continues_with_it() -> None:
    run, model = finished(*MORE)
    samples = run.resample(1, times=4).go()
    other = samples[1].run
    assert other is samples[1].run and other is not run
    assert [entry.kind for entry in other.entries] == ["begin", "think"] and model.calls == 6
    assert other[1].result.calls[0].arguments == {"text": "hello"}
    assert SENT == ["hi"] and samples[2].run.drive().answer == "No."


def test_a_later_look_costs_nothing_and_only_missing_replies_are_asked() -> None:
    run, model = finished(*MORE)
    run.resample(1, times=3).go()
    again = run.resample(1, times=3)
    assert again.calls == 0 and len(again.replies) == 3
    assert again.forecast == "Nothing is left to ask: 3 of 3 replies are recorded."
    again.go()
    assert model.calls == 5
    assert run.resample(1, times=4).go().counts == {"send(text='hi')": 2, "send(text='hello')": 1, "No.": 1}
    assert model.calls == 6
    assert run.resample(3, times=2).calls == 2  # that one was asked something else


def test_replies_are_still_there_after_the_run_was_resumed(tmp_path: Path) -> None:
    journal = tmp_path / "runs.db"
    run, _ = finished(*MORE, journal=journal)
    run.resample(1, times=4).go()
    spent = run.usage
    run.close()
    assert run.resample(1, times=4).calls == 0  # also of a run that is closed
    with pytest.raises(ReadOnly):
        run.resample(1, times=5).go()

    model = Scripted(["Later."], abilities=NATIVE, usage=USED)
    resumed = Agent(model, [send], journal=journal).resume(run.id)
    samples = resumed.resample(1, times=5)
    assert (samples.calls, len(samples.replies), model.calls) == (1, 4, 0)
    assert resumed.usage == spent
    assert samples.go().counts["Later."] == 1
    assert samples[1].run[1].result.calls[0].arguments == {"text": "hello"}


def test_another_request_is_another_question() -> None:
    run, _ = finished(*MORE)
    run.resample(1, times=2).go()
    run.dialect = "text"
    assert run.resample(1, times=2).calls == 2


def test_the_calls_count_as_those_of_the_run() -> None:
    run, _ = finished(*MORE)
    run.resample(1, times=4).go()
    assert run.usage == Usage(600, 60, cost=pytest.approx(0.006), calls=6)


def test_the_budget_of_the_run_holds_and_what_was_asked_until_then_is_kept() -> None:
    run, model = finished(*MORE, "Not any more.", budget=Budget(max_model_calls=4, ask=False))
    samples = run.resample(1, times=4)
    with pytest.raises(UsageError, match=r"not asked again: the model call budget is used up \(4 of 4\)"):
        samples.go()
    assert (model.calls, samples.calls) == (4, 2)
    with pytest.raises(UsageError, match="used up"):
        samples.go()
    assert model.calls == 4
    run.guard(budget=Budget(max_model_calls=6, ask=False))
    assert samples.go().calls == 0 and model.calls == 6
    run.undo()
    run.undo()
    assert "budget" in run.drive().reason and model.calls == 6


def test_a_budget_that_would_ask_a_person_ends_the_samples_too() -> None:
    run, model = finished(*MORE, budget=Budget(max_model_calls=3, ask=True))
    with pytest.raises(UsageError, match="used up"):
        run.resample(1, times=4).go()
    assert model.calls == 3


def test_after_an_error_of_the_model_the_rest_can_be_asked() -> None:
    run, _ = finished(MORE[0], ModelError("busy"), *MORE[1:])
    samples = run.resample(1, times=4)
    with pytest.raises(ModelError, match="busy"):
        samples.go()
    assert samples.calls == 3
    assert samples.go().calls == 0 and sum(samples.counts.values()) == 4


def waiting(count: int) -> tuple[Run, Scripted, threading.Event, threading.Event]:
    """Return a run whose model waits after `count` samples: it sets the first event, until the second one is set."""
    called, bell = threading.Event(), threading.Event()

    def late(request: Request) -> str:
        called.set()
        bell.wait(30)
        return "Late."

    model = Scripted(["Heads.", *["Tails."] * count, late, "Heads.", "Heads.", "Heads."])
    return Agent(model, journal="memory").run("Toss a coin.").run, model, called, bell


def test_another_thread_can_stop_it_in_the_middle_of_a_call_and_ask_for_the_rest_later() -> None:
    run, model, called, bell = waiting(2)
    samples = run.resample(1, times=5)
    done = background.in_thread(samples.go)
    assert called.wait(10)
    other = run.resample(1, times=5)
    assert samples.is_asking and other.is_asking and other.recorded == 2
    other.stop()
    done.result(timeout=10)
    assert not samples.is_asking and samples.counts == {"Tails.": 2} and samples.calls == 3
    bell.set()
    assert samples.go().counts["Tails."] == 2 and samples.calls == 0
    assert model.calls == 7


def test_the_same_is_not_asked_twice_at_a_time() -> None:
    run, _, called, bell = waiting(1)
    done = background.in_thread(run.resample(1, times=5).go)
    assert called.wait(10)
    with pytest.raises(
        UsageError, match=r"being asked at the moment; wait for the replies, or stop it with samples\.stop"
    ):
        run.resample(1, times=5).go()
    run.resample(1).stop()
    done.result(timeout=10)
    bell.set()
    assert run.asking == {}


def test_stop_does_nothing_if_nothing_is_being_asked() -> None:
    run, model = finished(*MORE)
    assert run.resample(1, times=2).stop().go().calls == 0 and model.calls == 4


def test_an_injected_message_is_in_the_request_again() -> None:
    model = Scripted([asks("hi"), "Done.", "Again."], abilities=NATIVE)
    run = Agent(model, [send], journal="memory").start("Say hi.", paused=True)
    next(run)
    next(run)
    run.inject("Be short.")
    run.drive()
    run.resample(3, times=1).go()
    assert model.requests[2] == model.requests[1] and "Be short." in str(model.requests[1])


def test_a_thought_beside_others_is_asked_alone() -> None:
    def both(task: Any) -> Any:
        one, two = yield All([Think(Chat.of("one")), Think(Chat.of("two"))])
        yield Act(Call("send", {"text": one.text + two.text}))
        return Answer(one.text + two.text, Chat.of(task))

    def reply(request: Request) -> str:
        return f"<{request.chat.last.text}>"

    model = Scripted([reply] * 4)
    run = Agent(model, [send], engine=both, journal="memory").run("q").run
    thought = next(entry for entry in run.entries if entry.kind == "think" and "two" in str(entry.result.text))
    samples = run.resample(thought, times=2).go()
    assert samples.counts == {"<two>": 2} and model.calls == 4 and SENT == ["<one><two>"]


def test_every_thought_of_a_run_can_be_asked_again() -> None:
    run, _ = finished("Bye.", "Bye.")
    assert run.resample(3, times=2).go().counts == {"Bye.": 2}


@pytest.mark.parametrize(("entry", "times", "problem"), [(2, 1, "it is act"), (1, 0, "at least 1"), (9, 1, "no entry")])
def test_what_cannot_be_asked_again_is_refused(entry: int, times: int, problem: str) -> None:
    run, _ = finished()
    with pytest.raises(UsageError, match=problem):
        run.resample(entry, times=times)


def test_an_engine_that_asks_something_else_now_is_not_asked() -> None:
    words = ["one"]

    def fickle(task: Any) -> Any:
        reply = yield Think(Chat.of(words[0]))
        return Answer(reply.text, Chat.of(task))

    model = Scripted(["a", "b"])
    run = Agent(model, engine=fickle, journal="memory").run("q").run
    words[0] = "two"
    with pytest.raises(UsageError, match="does not ask the same"):
        run.resample(1, times=1).go()
    assert model.calls == 1


def test_what_a_model_wrote_is_only_text_in_every_form() -> None:
    hostile = "<script>alert(1)</script>\x1b[31m $x$ | y"
    run, _ = finished(hostile)
    samples = run.resample(1, times=1).go()
    assert "\x1b" not in repr(samples) and "<script>" not in samples._repr_html_()
    assert "<script>" not in samples._repr_markdown_()


# -- without the stop sequence -----------------------------------------------------------------------------------------

ACTION = 'Thought: I send it.\nAction: send\nAction Input: {"text": "hi"}'
INVENTED = "\nObservation: delivered to Mars\nThought: Great.\nFINAL_ANSWER: It is on Mars."


def talks(request: Request) -> str:
    """Reply as a model does that was trained on transcripts."""
    if any("Observation" in str(message["content"]) for message in request.messages[1:]):
        return "Thought: Done.\nFINAL_ANSWER: Sent."
    return ACTION if request.stop else ACTION + INVENTED


def thought_in_text(*lines: Any, **options: Any) -> tuple[Run, Scripted]:
    model = Scripted([*(lines or [talks] * 4)])
    return Agent(model, [send], journal="memory", **options).run("Say hi.").run, model


def test_without_the_stop_sequence_the_invented_observation_is_shown_beside_the_real_one() -> None:
    run, model = thought_in_text()
    shown = run.without_stop(1)
    assert model.requests[2]["stop"] == [] and model.requests[0]["stop"] == ["\nObservation:"]
    assert model.requests[2]["messages"] == model.requests[0]["messages"]
    assert (shown.written, shown.invented) == (ACTION, INVENTED.strip())
    assert [message.text for message in shown.observations] == ["sent"]
    assert repr(shown).splitlines() == [
        "Let it talk on (! is invented):",
        "    Thought: I send it.",
        "    Action: send",
        '    Action Input: {"text": "hi"}',
        "  ! Observation: delivered to Mars",
        "  ! Thought: Great.",
        "  ! FINAL_ANSWER: It is on Mars.",
        "Call the tool (= is real):",
        "    Thought: I send it.",
        "    Action: send",
        '    Action Input: {"text": "hi"}',
        "  = Observation: sent",
        "Nothing called the tool on the left: the model invented what it would return.",
    ]
    assert SENT == ["hi"] and run.status == "done"


def test_it_is_asked_once_and_counted() -> None:
    run, model = thought_in_text()
    assert run.without_stop(1).invented == run.without_stop(1).invented
    assert model.calls == 3 and run.usage.calls == 3
    assert run.resample(1, times=1).calls == 1  # which is another request


def test_a_host_that_stops_anyway_is_named_in_a_sentence() -> None:
    run, _ = thought_in_text(ACTION, "FINAL_ANSWER: Sent.", ACTION)
    shown = run.without_stop(1)
    assert shown.invented == "" and "or its host stops it after an action" in repr(shown)


def test_a_thought_that_calls_no_tool_has_no_observation_to_invent() -> None:
    run, _ = thought_in_text()
    assert "no observation to invent" in run.without_stop(3).sentence


def test_a_model_that_ignored_the_stop_in_the_run_is_not_asked_again() -> None:
    run, model = thought_in_text(ACTION + INVENTED, "FINAL_ANSWER: Sent.")
    shown = run.without_stop(1)
    assert shown.invented == INVENTED.strip() and shown.entry is shown.thought and model.calls == 2
    assert "ignored the stop sequence in the run, too" in shown.sentence


def test_a_request_without_a_stop_sequence_has_none_to_leave_out() -> None:
    run, model = finished()
    with pytest.raises(UsageError, match="the native dialect has none"):
        run.without_stop(1)
    assert model.calls == 2


def test_the_columns_are_marked_and_what_was_written_is_only_text() -> None:
    run, _ = thought_in_text(ACTION, "FINAL_ANSWER: Sent.", f"{ACTION}\nObservation: <script>alert(1)</script>\x1b[31m")
    shown = run.without_stop(1)
    page = shown._repr_html_()
    assert "<small>invented</small>" in page and "<small>real</small>" in page
    assert "<script>" not in page and "<script>" not in shown._repr_markdown_() and "\x1b" not in repr(shown)


# -- with a language model ---------------------------------------------------------------------------------------------


@tool(effect="pure")
def price(item: str) -> float:
    """Look up the price of an item on the menu."""
    return {"tea": 3.2, "cake": 4.5}[item]


@pytest.fixture(scope="module")
def tiny_run() -> Run:
    pytest.importorskip("numpy")
    return Agent("tiny", [price], journal="memory").run("What is the price of cake?").run


@pytest.mark.slow
def test_tiny_always_does_the_same_at_temperature_0(tiny_run: Run) -> None:
    samples = tiny_run.resample(1, times=3).go()
    assert len(samples) == 1 and samples[0].happened and samples[0].count == 3


@pytest.mark.slow
def test_tiny_invents_an_observation_if_nothing_stops_it(tiny_run: Run) -> None:
    shown = tiny_run.without_stop(1)
    assert shown.invented.startswith("Observation:")
    assert shown.written.splitlines() == tiny_run[1].result.raw.strip().splitlines()


@pytest.mark.slow
def test_tiny_that_ignores_the_stop_invents_it_in_the_run() -> None:
    pytest.importorskip("numpy")
    from agentkit.models.tiny import Tiny

    run = Agent(Tiny(stop=False), [price], journal="memory").run("What is the price of cake?").run
    shown = run.without_stop(1)
    assert shown.invented.startswith("Observation:") and shown.entry is run[1]
