"""The final answer, rewritten from the whole trace, in real runs with the scripted model."""

from __future__ import annotations

from typing import Any

import pydantic
import pytest
from engines.actors import Actor, look
from splitting import split

from agentkit import Agent, Call, Chat, Message, Reply, Result, load, tool
from agentkit.around.synthesis import view
from agentkit.engines.registry import ENGINES, find, loops
from agentkit.errors import ModelError
from agentkit.models.base import Abilities, Chunk
from agentkit.models.scripted import Scripted
from agentkit.trace.events import Event

LOOK = Reply("I look.", (Call("weather", {"city": "Bern"}, "c"),))


@tool(effect="pure")
def weather(city: str) -> str:
    """Return the weather."""
    return "rain " * 1_000


def go(lines: list[Any], **more: Any) -> tuple[Result, Scripted]:
    model = Scripted(lines, abilities=Abilities(tools=True), chunks=more.pop("chunks", 0))
    return Agent(model, [weather], journal="memory", **split({"synthesize": True, **more})).run(
        "Wie wird das Wetter?"
    ), model


def roles(result: Result) -> list[str]:
    return [entry.step.role for entry in result.run.entries[1:]]


def test_the_answer_is_written_from_the_trace_in_a_separate_step() -> None:
    result, model = go([LOOK, "rain", "**Es regnet.**"])
    assert (result.answer, result.interrupted, result.error) == ("**Es regnet.**", False, None)
    assert roles(result) == ["thought", "action", "thought", "answer", "synthesize"]
    asked = model.requests[-1]["messages"][-1]["content"]
    assert "Wie wird das Wetter?" in asked and "weather(city='Bern')" in asked and asked.endswith("rain")
    assert (
        "language of the question" in model.requests[-1]["messages"][0]["content"] and not model.requests[-1]["tools"]
    )


@pytest.mark.parametrize(("option", "length"), [(True, 2_000), (10, 10)])
def test_each_result_is_cut_for_the_writer_but_not_in_the_trace(option: Any, length: int) -> None:
    result, model = go([LOOK, "rain", "Es regnet."], synthesize=option)
    asked = model.requests[-1]["messages"][-1]["content"]
    assert ("rain " * 1_000)[:length] + f"… (+{5_000 - length} characters)" in asked
    assert len(result.run.entries[2].result.text) == 5_000


def half() -> Any:
    yield Chunk("Es reg")
    raise ModelError("the server hung up")


@pytest.mark.parametrize(
    "failing",
    [
        *(ModelError("down"), OSError("no network"), lambda _: half(), ""),
        *(Reply("Es reg", finish=end) for end in ("length", "content_filter", "refusal")),
    ],
)
def test_if_the_writer_fails_the_brief_answer_is_kept_and_the_entry_says_why(failing: Any) -> None:
    result, model = go([LOOK, "rain", failing])
    assert (result.answer, result.error, result.run.status, model.calls) == ("rain", None, "done", 3)
    last = result.run.entries[-1]
    assert last.step.role == "synthesize"
    if not isinstance(failing, str | Reply):
        assert "failed" in last.result.problems[0] and last.author == "host"


def test_the_written_answer_is_streamed() -> None:
    heard: list[Event] = []
    model = Scripted(["rain", "Es regnet in Bern."], chunks=3)
    agent = Agent(model, journal="memory", synthesize=True, on_event=heard.append)
    assert agent.run("q").answer == "Es regnet in Bern."
    pieces = [event.data["text"] for event in heard if event.kind == "model_chunk"]
    assert "".join(pieces).endswith("Es regnet in Bern.") and len(pieces) > 3


def test_a_model_for_that_role_writes_the_answer_and_follows_the_instructions() -> None:
    writer = Scripted(["Ahoy, rain!"], name="writer")
    result, _ = go([LOOK, "rain"], roles={"synthesize": writer}, instructions="Talk like a pirate.")
    assert result.answer == "Ahoy, rain!" and writer.requests[0]["messages"][0]["content"] == "Talk like a pirate."


def test_an_injected_message_is_answered_first_and_is_part_of_the_question() -> None:
    model = Scripted(["rain", "and sun", "Rain, then sun."])
    run = Agent(model, journal="memory", synthesize=True).start("today?", paused=True)
    next(run)
    run.inject("and tomorrow?")
    assert run.drive().answer == "Rain, then sun." and model.calls == 3
    assert "and tomorrow?" in model.requests[-1]["messages"][-1]["content"]


def test_a_message_injected_before_the_answer_is_written_reaches_the_writer_once() -> None:
    model = Scripted(["rain", "Regen."])
    run = Agent(model, journal="memory", synthesize=True).start("today?", paused=True)
    next(run)
    next(run)
    receipt = run.inject("In German, please.")
    assert run.drive().answer == "Regen." and receipt.seen
    assert [m["content"] for m in model.requests[-1]["messages"]][2:] == ["[USER INTERRUPT] In German, please."]


def test_messages_that_each_attempt_hears_are_one_question_for_the_writer() -> None:
    replies = ["a", "UNSATISFACTORY", "r", "b", "SATISFACTORY", "written"]
    run = Agent(Scripted(replies), engine="reflexion", journal="memory", synthesize=True).start("today?", paused=True)
    run.inject("and tomorrow?")
    next(run)
    run.inject("and on Sunday?")
    assert run.drive().answer == "written"
    asked = run.agent.model.requests[-1]["messages"][-1]["content"]
    assert asked.count("and tomorrow?") == asked.count("and on Sunday?") == 1


def test_a_synthesis_step_can_be_edited_undone_resumed_and_forked() -> None:
    result, _ = go([LOOK, "rain", "Es regnet."])
    run = result.run
    for options in ({}, {"synthesize": True}, {"synthesize": 5}):
        again = Agent(Scripted([]), [weather], journal=run.agent.journal, **split(options)).resume(run.id)
        assert again.answer == "Es regnet." and not again.trace.has_drifted(again.entries[-1])
    assert load(run.to_json()).answer == load(run.to_notebook()).answer == "Es regnet."
    run.edit(-1, answer="Es giesst.")
    assert run.answer == "Es giesst." and run.undo().answer == "Es regnet."
    other = run.fork(2, model=Scripted(["sun", "Sonne."], abilities=Abilities(tools=True)))
    assert other.drive().answer == "Sonne."


def test_a_typed_answer_is_data_and_is_not_rewritten() -> None:
    class Sky(pydantic.BaseModel):
        rain: bool

    model = Scripted(['{"rain": true}'])
    result = Agent(model, journal="memory", synthesize=True).run("q", output=Sky)
    assert result.output == Sky(rain=True) and model.calls == 1


def test_a_forced_answer_is_not_rewritten() -> None:
    result, model = go([LOOK, "rain, I think"], max_iterations=1)
    assert (result.answer, model.calls) == ("rain, I think", 2)


@pytest.mark.parametrize("wrong", [-1, "yes", 1.5])
def test_an_invalid_length_is_refused_at_construction(wrong: Any) -> None:
    with pytest.raises(ValueError, match="synthesize"):
        Agent(Scripted([]), synthesize=wrong)


def test_the_writer_sees_failures_and_traces_without_tools() -> None:
    failed = [*LOOK.messages, Message("tool", "no such city", (), "c", "weather", False)]
    assert "Result of weather (failed):\nno such city" in view(Chat.of("q"), failed, "unknown").last.text
    assert "Nothing but thinking." in view(Chat.of("q"), [], "a").last.text


def test_the_question_is_the_current_one() -> None:
    model = Scripted(["Bern", "In Bern.", "no", "No, it does not."])
    agent = Agent(model, journal="memory", synthesize=True)
    agent.run("Where is it?", session="s")
    agent.run("Does it rain there?", session="s")
    assert model.requests[-1]["messages"][-1]["content"].startswith(
        "# The question\n\nDoes it rain there?\n\n# What was done"
    )
    model = Scripted(["no", "No."])
    before = [{"role": "user", "content": "Where is it?"}, {"role": "assistant", "content": "In Bern."}]
    Agent(model, journal="memory", synthesize=True).run([*before, {"role": "user", "content": "Does it rain there?"}])
    assert model.requests[-1]["messages"][-1]["content"].startswith(
        "# The question\n\nDoes it rain there?\n\n# What was done"
    )


@pytest.mark.parametrize("engine", sorted(ENGINES.keys() - {"chain_of_thought", "tree_of_thoughts"}))
def test_the_writer_sees_all_look_ups_of_an_inner_engine_but_none_of_its_prompts(engine: str) -> None:
    model = Actor()
    actor = {"actor": {"engine": "dag"}} if "actor" in loops(find(engine)[0]) else {}
    run = Agent(model, [look], journal="memory", synthesize=True, **split(actor, engine)).start("q", paused=True)
    run.drive()
    asked = model.requests[-1].chat[-1].text
    assert model.requests[-1].role == "synthesize" and asked.startswith("# The question\n\nq\n\n# What was done\n\n")
    done_part = asked.partition("# What was done")[2].partition("# The brief answer")[0]
    results = [entry.result.text for entry in run.entries if entry.kind == "act"]
    assert (
        results
        and done_part.count("Result of look:") == len(results)
        and all(result in done_part for result in results)
    )
    run.trace.rebuild(strict=True)
    assert not any(run.trace.has_drifted(entry) for entry in run.entries if entry.kind == "think")
