"""Why a reply ended: an unusual reason is reported on its entry, and in the answer if the reply was empty."""

from __future__ import annotations

import json
from typing import Any

import pytest
from loopback import Loopback, answer, completion, delta, lines, message, sse

from agentkit import Agent, Reply, Result, structured, tool
from agentkit.errors import ModelBusy
from agentkit.models.anthropic import Anthropic
from agentkit.models.ollama import Ollama
from agentkit.models.openai import OpenAI
from agentkit.models.scripted import Scripted
from agentkit.models.structured_output import StructuredOutput
from agentkit.models.transport.retries import Retries


def ended(reason: str, text: str) -> Result:
    openai: Any = (OpenAI, sse(delta(content=text), delta(reason), b"[DONE]"))
    anthropic = (Anthropic, message({"type": "text", "text": text}, stop=reason))
    make, stream = openai if reason in ("stop", "length", "content_filter") else anthropic
    with Loopback([answer(stream)]) as host:
        return Agent(make("m", base_url=host.url), journal=None).run("q")


@pytest.mark.parametrize(
    ("reason", "problem"),
    [
        ("length", "length limit"),
        ("max_tokens", "length limit"),
        ("content_filter", "filter of the host"),
        ("refusal", "the model refused"),
    ],
)
def test_a_reply_that_was_cut_short_has_a_problem_that_says_so(reason: str, problem: str) -> None:
    result = ended(reason, "begun")
    assert result.answer == "begun" and problem in result.run[1].result.problems[0]
    assert problem in ended(reason, "").answer


@pytest.mark.parametrize("reason", ["stop", "end_turn"])
def test_a_reply_that_reached_its_end_has_no_problem(reason: str) -> None:
    result = ended(reason, "all of it")
    assert (result.answer, result.run[1].result.problems) == ("all of it", ())


@pytest.mark.parametrize("whole", [False, True], ids=["events", "whole"])
@pytest.mark.parametrize(("reason", "runs"), [("tool_use", 1), ("max_tokens", 0), ("refusal", 0)])
def test_a_call_that_was_cut_off_before_its_first_argument_does_not_run(reason: str, runs: int, whole: bool) -> None:
    """Such a call begins with an empty input, and a call without arguments ends with one."""
    ran: list[str] = []

    @tool
    def clean(folder: str = "/") -> str:
        """Empty a folder."""
        ran.append(folder)
        return "empty"

    call = {"type": "tool_use", "id": "t1", "name": "clean", "input": {}}
    events = [line for line in message(call, stop=reason).split(b"\n\n") if b"input_json_delta" not in line]
    asked = (
        json.dumps({"type": "message", "content": [call], "stop_reason": reason}).encode()
        if whole
        else b"\n\n".join(events)
    )
    with Loopback([answer(asked), answer(message({"type": "text", "text": "done"}))]) as host:
        assert Agent(Anthropic("m", base_url=host.url), [clean], journal=None).run("go").answer == "done"
    assert ran == ["/"] * runs


def said_by(make: Any, text: str, reason: str) -> bytes:
    """Return a whole reply that ends for a reason, as an API sends it."""
    if make is Ollama:
        return answer(lines({"message": {"content": text}, "done": True, "done_reason": reason, "eval_count": 7}))
    if make is Anthropic:
        return answer(message({"type": "text", "text": text}, stop=reason))
    return answer(
        sse(delta(content=text), delta(reason, usage={"prompt_tokens": 3, "completion_tokens": 4}), b"[DONE]")
    )


@pytest.mark.parametrize("make", [OpenAI, Anthropic, Ollama])
@pytest.mark.parametrize("reason", ["unheard_of", "SAFETY", "model_length", "pause_turn"])
def test_an_unknown_finish_reason_is_not_taken_for_the_usual_end(make: Any, reason: str) -> None:
    with Loopback([said_by(make, "You must never", reason)]) as host:
        result = Agent(make("m", base_url=host.url), journal=None).run("q")
    assert result.answer == "You must never" and len(result.run[1].result.problems) == 1


@pytest.mark.parametrize("make", [OpenAI, Ollama])
@pytest.mark.parametrize("reason", ["abort", "error", "network_error", "insufficient_system_resource"])
def test_a_host_that_gives_up_midway_is_asked_again_and_its_text_is_not_used(make: Any, reason: str) -> None:
    half = said_by(make, "You must never", reason)
    with Loopback([half, said_by(make, "You must never smoke", "stop")]) as host:
        result = Agent(make("m", base_url=host.url, retries=Retries(1, first=0.01)), journal=None).run("q")
        assert (result.answer, result.run.usage.total) == ("You must never smoke", 14)
    with Loopback([half]) as host:
        failed = Agent(make("m", base_url=host.url, retries=0), journal=None).run("q")
        assert isinstance(failed.error, ModelBusy) and reason in str(failed.error) and failed.run.usage.total == 7


@pytest.mark.parametrize("reason", ["length", "content_filter", "refusal", "unheard_of"])
@pytest.mark.parametrize("command_line", ["rm -rf /tmp/old", ""])
def test_a_tool_does_not_run_from_a_text_input_that_may_lack_its_end(reason: str, command_line: str) -> None:
    ran: list[str] = []

    @tool
    def shell(command: str, folder: str = "/") -> str:
        """Run a command."""
        ran.append(command)
        return "done"

    @tool
    def clean(folder: str = "/", depth: int = 9) -> str:
        """Empty a folder."""
        ran.append(folder)
        return "done"

    name = "shell" if command_line else "clean"
    cut = Reply(f"Thought: now\nAction: {name}\nAction Input: {command_line}", finish=reason)
    result = Agent(Scripted([cut, "FINAL_ANSWER: left"]), [shell, clean], journal=None).run("go")
    assert (result.answer, ran) == ("left", [])


@pytest.mark.parametrize("reason", ["content_filter", "unheard_of"])
def test_data_that_may_lack_its_end_is_not_completed(reason: str) -> None:
    asking = structured("plan", {"type": "object", "properties": {"steps": {"type": "array"}}})
    think = next(asking)
    shape = StructuredOutput(think.shape, "text")  # type: ignore[arg-type]
    assert shape.read(Reply('{"steps": ["look", "le', finish="stop"), ()).answer
    read = shape.read(Reply('{"steps": ["look", "le', finish=reason), ())
    assert read.answer is None and ("filter of the host" in read.problems[0] or reason in read.problems[0])


@pytest.mark.parametrize("reason", ["content_filter", "unheard_of"])
def test_a_synthesized_answer_that_may_lack_its_end_does_not_replace_the_brief_one(reason: str) -> None:
    model = Scripted(["FINAL_ANSWER: brief", Reply("A long ans", finish=reason)])
    assert Agent(model, synthesize=True, journal=None).run("q").answer == "brief"


def test_the_names_of_hosts_for_the_usual_end_are_no_problem() -> None:
    for reason in ("stop", "STOP", "eos_token", "end_turn", "complete", ""):
        assert ended_as(reason).run[1].result.problems == ()


def ended_as(reason: str) -> Result:
    with Loopback([answer(completion("ok").replace(b'"stop"', json.dumps(reason or None).encode()))]) as host:
        return Agent(OpenAI("m", base_url=host.url), journal=None).run("q")
