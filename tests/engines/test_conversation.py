"""In a conversation, whoever writes the answer has the instructions and what was said before, and whoever judges it is told."""

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
def test_whoever_writes_the_answer_knows_the_instructions_and_the_conversation(engine: str) -> None:
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
def test_whoever_judges_is_told_the_conversation(engine: str, replies: list[str], role: str) -> None:
    model = Scripted(replies)
    options: dict[str, Any] = {"max_depth": 1} if engine == "tree_of_thoughts" else {}
    tools = [look] if engine == "critic" else []
    agent = Agent(model, tools, journal="memory", instructions="Be brief.", **split(options, engine))
    assert agent.run(TALK).answer == "Ada"
    told = next(request.chat[-1].text for request in model.raw_requests if request.role == role)
    assert "Who am I?\n\nThe conversation before that:\nsystem: Be brief.\nuser: I am Ada.\nassistant: Hello." in told


def test_a_long_conversation_is_told_in_short_and_the_question_whole() -> None:
    said = [
        message for n in range(10) for message in (Message("user", f"{n}? " * 500), Message("assistant", "so " * 500))
    ]
    model = Scripted(["Ada", "SATISFACTORY"])
    assert Agent(model, engine="reflexion", journal="memory").run([*said, Message("user", "Who am I?")]).answer == "Ada"
    told = model.raw_requests[-1].chat[-1].text
    assert "The request: Who am I?" in told and len(told) < 9_000 and all(f"user: {n}? " in told for n in range(10))


def test_of_a_very_long_conversation_the_last_messages_are_told_and_the_instructions() -> None:
    said = [
        message for n in range(500) for message in (Message("user", f"{n}? " * 50), Message("assistant", "so " * 50))
    ]
    model = Scripted(["Ada", "SATISFACTORY"])
    agent = Agent(model, engine="reflexion", journal="memory", instructions="Be brief.")
    assert agent.run([*said, Message("user", "Who am I?")]).answer == "Ada"
    told = model.raw_requests[-1].chat[-1].text
    assert "system: Be brief." in told and "user: 499? " in told and "user: 489? " not in told and len(told) < 9_000


@pytest.mark.parametrize("engine", ["critic", "self_refine"])
def test_whoever_mends_the_answer_is_shown_the_window_too(engine: str) -> None:
    replies, role = WRITERS[engine]
    model = Scripted(replies)
    assert Agent(model, [look], engine=engine, journal="memory", window=1).run(TALK).answer == "Ada"
    (revised,) = [request.chat for request in model.raw_requests if request.role == role]
    assert [message.text for message in revised][:1] == ["Who am I?"]
