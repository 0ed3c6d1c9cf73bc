"""In a conversation, the steps that write and judge the answer know the instructions and the messages before it."""

from __future__ import annotations

from typing import Any

import pytest
from engines.actors import look
from splitting import split

from agentkit import Agent, Message
from agentkit.models.scripted import Scripted

TALK = [Message("user", "I am Ada."), Message("assistant", "Hello."), Message("user", "Who am I?")]
WRITERS = {
    "critic": (["Eve", "CLAIM: Eve\nTOOL: look\nTOOL INPUT: who", "Ada", "VERIFIED: yes"], "revise"),
    "self_refine": (["Eve", "wrong", "Ada", "DONE: yes"], "revise"),
    "dag": (["1. a", "A", "ACHIEVED: yes\nANSWER: Ada"], "analyze"),
    "plan_and_execute": (["1. a", "A", "Ada"], "synthesize"),
    "rewoo": (["#E1 = LLM[a]", "A", "Ada"], "solve"),
    "tree_of_thoughts": (["a", "5", "ANSWER: Ada"], "answer"),
}


@pytest.mark.parametrize("engine", WRITERS)
def test_the_step_that_writes_the_answer_knows_the_instructions_and_the_conversation(engine: str) -> None:
    replies, role = WRITERS[engine]
    model = Scripted(replies)
    options: dict[str, Any] = {"n_branches": 1, "max_depth": 1} if engine == "tree_of_thoughts" else {}
    tools = [look] if engine == "critic" else []
    agent = Agent(model, tools, journal="memory", instructions="Be brief.", **split(options, engine))
    assert agent.run(TALK).answer == "Ada"
    chat = next(request.chat for request in model.raw_requests if request.role == role)
    assert [message.text for message in chat][:4] == ["Be brief.", "I am Ada.", "Hello.", "Who am I?"]
    assert sum("I am Ada." in message.text for message in chat) == 1


@pytest.mark.parametrize(
    ("engine", "replies", "role"),
    [
        ("reflexion", ["Ada", "SATISFACTORY"], "evaluate"),
        ("critic", ["Ada", "VERIFIED: yes"], "critique"),
        ("self_refine", ["Ada", "DONE: yes"], "feedback"),
        ("tree_of_thoughts", ["a", "b", "c", "5", "5", "5", "ANSWER: Ada"], "evaluate"),
        ("auto", ["STEPWISE", "Ada"], "choose"),
    ],
)
def test_the_judge_knows_the_conversation(engine: str, replies: list[str], role: str) -> None:
    model = Scripted(replies)
    options: dict[str, Any] = {"max_depth": 1} if engine == "tree_of_thoughts" else {}
    tools = [look] if engine == "critic" else []
    agent = Agent(model, tools, journal="memory", instructions="Be brief.", **split(options, engine))
    assert agent.run(TALK).answer == "Ada"
    prompt = next(request.chat[-1].text for request in model.raw_requests if request.role == role)
    assert "Who am I?\n\nThe conversation before that:\nsystem: Be brief.\nuser: I am Ada.\nassistant: Hello." in prompt


def test_a_long_conversation_is_shortened_but_the_question_is_not() -> None:
    history = [
        message for n in range(10) for message in (Message("user", f"{n}? " * 500), Message("assistant", "so " * 500))
    ]
    model = Scripted(["Ada", "SATISFACTORY"])
    assert (
        Agent(model, engine="reflexion", journal="memory").run([*history, Message("user", "Who am I?")]).answer == "Ada"
    )
    prompt = model.raw_requests[-1].chat[-1].text
    assert (
        "The request: Who am I?" in prompt and len(prompt) < 9_000 and all(f"user: {n}? " in prompt for n in range(10))
    )


def test_of_a_very_long_conversation_the_instructions_and_the_last_messages_are_kept() -> None:
    history = [
        message for n in range(500) for message in (Message("user", f"{n}? " * 50), Message("assistant", "so " * 50))
    ]
    model = Scripted(["Ada", "SATISFACTORY"])
    agent = Agent(model, engine="reflexion", journal="memory", instructions="Be brief.")
    assert agent.run([*history, Message("user", "Who am I?")]).answer == "Ada"
    prompt = model.raw_requests[-1].chat[-1].text
    assert (
        "system: Be brief." in prompt
        and "user: 499? " in prompt
        and "user: 489? " not in prompt
        and len(prompt) < 9_000
    )


@pytest.mark.parametrize("engine", ["critic", "self_refine"])
def test_the_step_that_corrects_the_answer_also_sees_the_window(engine: str) -> None:
    replies, role = WRITERS[engine]
    model = Scripted(replies)
    assert Agent(model, [look], engine=engine, journal="memory", window=1).run(TALK).answer == "Ada"
    (revised,) = [request.chat for request in model.raw_requests if request.role == role]
    assert [message.text for message in revised][:1] == ["Who am I?"]
