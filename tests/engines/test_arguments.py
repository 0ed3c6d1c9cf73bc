"""The arguments of a tool are read in the same way by every engine, and a cut argument never runs a tool."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit import Agent, Reply, tool
from agentkit.models.scripted import Scripted

RAN: list[Any] = []


@tool(effect="pure")
def search(query: str) -> str:
    """Search."""
    RAN.append(query)
    return "found"


@tool(effect="pure")
def capital(country: str, year: int = 2020) -> str:
    """Return a capital."""
    RAN.append((country, year))
    return "found"


SCRIPTS: dict[str, Any] = {
    "react": lambda name, text: [f"Thought: t\nAction: {name}\nAction Input: {text}", "FINAL_ANSWER: end"],
    "self_ask": lambda name, text: [f"Tool: {name}\nTool Input: {text}", "So the final answer is: end"],
    "critic": lambda name, text: ["draft", f"CLAIM: c\nTOOL: {name}\nTOOL INPUT: {text}", "end", "VERIFIED: all"],
    "rewoo": lambda name, text: [f"Plan: look\n#E1 = {name}[{text}]", "end"],
}


def run(engine: str, name: str, text: str, finish: str = "") -> list[Any]:
    RAN.clear()
    replies = [Reply(reply, finish=finish if name in reply else "") for reply in SCRIPTS[engine](name, text)]
    result = Agent(Scripted(replies), [search, capital], engine=engine, journal="memory", repair=0).run("q")
    assert result.answer.startswith("end") or engine == "critic", result.answer
    return list(RAN)


@pytest.mark.parametrize("engine", SCRIPTS)
@pytest.mark.parametrize(
    ("name", "text", "ran"),
    [
        ("search", 'who wrote "Ulysses"', 'who wrote "Ulysses"'),
        ("search", '"who?"', "who?"),
        ("search", "{'query': 'x'}", "x"),
        ("search", '```json\n{"query": "x"}\n```', "x"),
        ("search", 'query="x"', "x"),
        ("search", "1 == 1", "1 == 1"),
        ("capital", "Norway", ("Norway", 2020)),
        ("capital", 'country="Norway"', ("Norway", 2020)),
        ("capital", "country='Norway', year=1900", ("Norway", 1900)),
        ("capital", '{"country": "Norway", "year": 1900,}', ("Norway", 1900)),
    ],
)
def test_every_engine_reads_arguments_in_the_same_way(engine: str, name: str, text: str, ran: Any) -> None:
    if engine == "rewoo":
        text = " ".join(text.split())  # a step of its plan is one line
    assert run(engine, name, text) == [ran]


@pytest.mark.parametrize("engine", SCRIPTS)
@pytest.mark.parametrize(
    "text", ['{"query": "cut', "{'query': 'cut'", 'query="cut', '{"query": "a", "quer', "{not json}"]
)
def test_an_argument_that_is_cut_or_cannot_be_read_runs_no_tool(engine: str, text: str) -> None:
    assert run(engine, "search", text) == []


@pytest.mark.parametrize("engine", ["react", "self_ask", "critic"])
def test_the_last_text_of_a_reply_that_was_cut_off_runs_no_tool_and_a_whole_object_does(engine: str) -> None:
    assert run(engine, "search", "who wro", "length") == []
    assert run(engine, "search", '{"query": "whole"}', "length") == ["whole"]


def test_only_the_last_question_of_a_reply_that_was_cut_off_is_not_asked() -> None:
    RAN.clear()
    replies = [Reply("Follow up: who?\nFollow up: whe", finish="length"), "So the final answer is: end"]
    assert Agent(Scripted(replies), [search], engine="self_ask", journal="memory").run("q").answer == "end"
    assert RAN == ["who?"]


@pytest.mark.parametrize(
    "plan",
    [
        "Plan: find it. #E1 = search[a]\nPlan: go on. #E2 = search[b of #E1]",
        "Plan: find it. #E1 = search[a] Plan: go on. #E2 = search[b of #E1]",
        "1. Plan: find it.\n   **#E1** = search[a]\n2. Plan: go on.\n   **#E2** = search[b of {{E1}}]",
        'Plan: find it.\n#E1 = search[{\n  "query": "a"\n}]\nPlan: go on\n#E2 = search[{"query": "b of #E1"}]',
        "E1 = search(a)\nE2 = search(b of #E1)",
    ],
)
def test_the_plan_of_rewoo_is_read_in_the_forms_of_its_paper(plan: str) -> None:
    RAN.clear()
    assert Agent(Scripted([plan, "end"]), [search], engine="rewoo", journal="memory").run("q").answer == "end"
    assert RAN == ["a", "b of found"]
